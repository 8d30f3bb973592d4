#include "controller/runs/run_actor.h"

#include "gtest/gtest.h"

namespace lockstep::controller {
namespace {

TEST(RunActorTest, FilesAreLaidOutByPrepareAndByLoadsThatCreateThem) {
  v1::JobSpec job;
  job.add_phases()->mutable_prepare();
  job.add_phases()->mutable_run()->add_workloads();
  job.add_phases()->mutable_run()->add_workloads()->set_create(true);
  job.add_phases()->mutable_cleanup();
  EXPECT_TRUE(StillLaysOut(job, 0));
  EXPECT_TRUE(StillLaysOut(job, 1));
  EXPECT_TRUE(StillLaysOut(job, 2));
  EXPECT_FALSE(StillLaysOut(job, 3));
}

}  // namespace
}  // namespace lockstep::controller
