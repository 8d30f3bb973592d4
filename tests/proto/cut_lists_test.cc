#include <string>

#include "gtest/gtest.h"
#include "proto/fields.h"
#include "proto/job.pb.h"

namespace lockstep::v1 {
namespace {

TEST(CutLists, ALongListIsCutAndNamedAndTheMessageIsThenValid) {
  JobSpec job;
  RunPhase* run = job.add_phases()->mutable_run();
  Environment* environment = run->mutable_environment();
  for (int i = 0; i < 40; ++i) environment->add_remount()->set_path("/" + std::to_string(i));
  EXPECT_EQ(CutLists(&job),
            "phases[0].run.environment.remount has 40 items: the first 16 are kept");
  EXPECT_EQ(environment->remount_size(), 16);
  EXPECT_EQ(environment->remount(15).path(), "/15");
  EXPECT_EQ(CutLists(&job), "");
}

TEST(CutLists, AMapIsCutToo) {
  JobSpec job;
  for (int i = 0; i < 5000; ++i) (*job.mutable_labels())[std::to_string(i)] = "x";
  EXPECT_NE(CutLists(&job).find("labels has 5000 items"), std::string::npos);
  EXPECT_LE(job.labels_size(), 1000);
  EXPECT_EQ(CutLists(&job), "");
}

}  // namespace
}  // namespace lockstep::v1
