#include "controller/plan/environments.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gtest/gtest.h"
#include "tests/controller/plan/plan_job.h"

namespace lockstep::controller {
namespace {

std::string ProblemTextOf(const v1::JobSpec& job) {
  std::vector<std::string> problems;
  for (const v1::Problem& problem : Validate(job)) {
    problems.push_back(absl::StrCat(problem.path(), " ", problem.message()));
  }
  return absl::StrJoin(problems, "\n");
}

TEST(EnvironmentsTest, ASchedulerOfOldKernelsIsRefusedWithItsSuccessor) {
  for (const char* name : {"none", "mq-deadline", "kyber", "bfq", "of-a-module"}) {
    v1::JobSpec job = Job();
    job.mutable_phases(1)->mutable_run()->mutable_environment()->set_scheduler(name);
    EXPECT_EQ(ProblemTextOf(job), "") << name;
  }
  v1::JobSpec job = Job();
  job.mutable_phases(1)->mutable_run()->mutable_environment()->set_scheduler("cfq");
  EXPECT_EQ(ProblemTextOf(job),
            "phases[1].run.environment.scheduler cfq was removed in Linux 5.0; write bfq, its "
            "nearest today");
}

TEST(EnvironmentsTest, ASweepNamesAllOfThemAtOnce) {
  v1::JobSpec job = Job();
  v1::SweepAxis* axis = job.mutable_phases(1)->mutable_run()->mutable_sweep()->add_axes();
  axis->set_field("environment.scheduler");
  for (const char* name : {"cfq", "deadline", "noop", "kyber"}) axis->add_values(name);
  FillJob(&job);
  EXPECT_EQ(ProblemTextOf(job),
            "phases[1].run.sweep.axes[0].values[0] cfq was removed in Linux 5.0; write bfq, its "
            "nearest today\n"
            "phases[1].run.sweep.axes[0].values[1] deadline was removed in Linux 5.0; write "
            "mq-deadline, its nearest today\n"
            "phases[1].run.sweep.axes[0].values[2] noop was removed in Linux 5.0; write none, its "
            "nearest today");
}

// Without a target that has it no other run would wait for the file system.
TEST(EnvironmentsTest, ARemountBesideNullTargetsGoesWithThem) {
  v1::JobSpec job = Job();
  job.mutable_targets(0)->mutable_null()->set_size_bytes(1 << 20);
  v1::Environment* environment = job.mutable_phases(1)->mutable_run()->mutable_environment();
  environment->set_scheduler("none");
  ASSERT_EQ(EnvironmentsOf(job).size(), 1u);
  EXPECT_TRUE(EnvironmentsOf(job)[0].targets().empty()) << "no device has the setting";
  v1::Remount* remount = environment->add_remount();
  remount->set_path("/data");
  remount->set_options("noatime");
  const std::vector<v1::EnvironmentUse> uses = EnvironmentsOf(job);
  ASSERT_EQ(uses.size(), 1u);
  ASSERT_EQ(uses[0].targets_size(), 1);
  EXPECT_EQ(uses[0].targets(0), 0u);
  EXPECT_EQ(uses[0].environment().scheduler(), "") << "a null target has no device";
  EXPECT_EQ(uses[0].environment().remount(0).path(), "/data");
  // Another target takes all of it.
  v1::Target* file = job.add_targets();
  file->set_name("f");
  file->mutable_file()->set_path("/data/f");
  job.mutable_phases(1)->mutable_run()->mutable_workloads(0)->add_targets("f");
  const std::vector<v1::EnvironmentUse> both = EnvironmentsOf(job);
  ASSERT_EQ(both.size(), 1u);
  ASSERT_EQ(both[0].targets_size(), 1);
  EXPECT_EQ(both[0].targets(0), 1u);
  EXPECT_EQ(both[0].environment().scheduler(), "none");
}

}  // namespace
}  // namespace lockstep::controller
