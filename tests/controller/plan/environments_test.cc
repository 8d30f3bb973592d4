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

}  // namespace
}  // namespace lockstep::controller
