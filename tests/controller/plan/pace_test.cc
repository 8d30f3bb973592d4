// When workloads run and how fast they may go: what is refused, and who gets which share.

#include <functional>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "proto/workload.h"
#include "tests/controller/plan/plan_job.h"

namespace lockstep::controller {
namespace {

constexpr int64_t kPlanSecond = 1000000000;

// The problems of a job with one run phase of 10 s.
std::vector<std::string> PaceProblems(const std::function<void(v1::RunPhase*)>& change) {
  v1::JobSpec job = Job();
  change(job.mutable_phases(1)->mutable_run());
  FillJob(&job);
  std::vector<std::string> list;
  for (const v1::Problem& problem : Validate(job)) {
    list.push_back(problem.path() + ": " + problem.message());
  }
  return list;
}

v1::Workload* First(v1::RunPhase* run) { return run->mutable_workloads(0); }

TEST(PaceTest, AWorkloadBeginsAndEndsWithinItsRun) {
  const std::string at = "phases[1].run.workloads[0]";
  EXPECT_EQ(
      PaceProblems([](v1::RunPhase* run) { First(run)->set_start_delay_ns(10 * kPlanSecond); }),
      std::vector<std::string>{at + ".start_delay: the run ends after 10 s, before it begins"});
  EXPECT_EQ(
      PaceProblems([](v1::RunPhase* run) {
        First(run)->set_start_delay_ns(4 * kPlanSecond);
        First(run)->set_runtime_ns(7 * kPlanSecond);
      }),
      std::vector<std::string>{at + ".runtime: would end after 11 s, and the run ends after 10 s; "
                                    "leave it out, or give the run a longer duration"});
  EXPECT_TRUE(PaceProblems([](v1::RunPhase* run) {
                First(run)->set_start_delay_ns(4 * kPlanSecond);
                First(run)->set_runtime_ns(6 * kPlanSecond);
              }).empty());
  // It is an end like a number of I/Os.
  EXPECT_TRUE(PaceProblems([](v1::RunPhase* run) {
                run->set_duration_ns(0);
                First(run)->set_runtime_ns(6 * kPlanSecond);
              }).empty());
}

TEST(PaceTest, ARuntimeIsMeasuredTime) {
  v1::Workload w;
  EXPECT_EQ(v1::OwnEndNs(w, 5), 0);
  w.set_runtime_ns(10);
  EXPECT_EQ(v1::OwnEndNs(w, 5), 15);
  w.set_start_delay_ns(3);
  EXPECT_EQ(v1::OwnEndNs(w, 5), 15);
  w.set_start_delay_ns(8);
  EXPECT_EQ(v1::OwnEndNs(w, 5), 18);
}

}  // namespace
}  // namespace lockstep::controller
