// Which hosts run a workload, at each point of a sweep.

#include "controller/plan/workload_hosts.h"

#include <tuple>

#include "gtest/gtest.h"
#include "tests/controller/plan/plan_job.h"

namespace lockstep::controller {
namespace {

const std::vector<PlanWorker> kWorkers = {Worker("a", "a"), Worker("b", "b")};

// A job whose load sweeps this field, with an owned target.
v1::JobSpec Swept(const std::string& field, const std::vector<std::string>& values) {
  v1::JobSpec job = Job();
  job.mutable_targets(0)->set_sharing(v1::SHARING_OWNED);
  v1::RunPhase* run = job.mutable_phases(1)->mutable_run();
  run->mutable_workloads(0)->set_read_ratio(field == "read" ? 1 : 0);
  if (field != "read") run->mutable_workloads(0)->mutable_hosts()->set_count(1);
  v1::SweepAxis* axis = run->mutable_sweep()->add_axes();
  axis->set_field(field);
  for (const std::string& value : values) axis->add_values(value);
  return job;
}

TEST(WorkloadHostsTest, AnOwnedTargetHasOneWriterAtEachPoint) {
  for (const auto& [field, one, several] :
       {std::tuple("hosts.count", "1", "2"), {"hosts.names", "a", "a,b"}, {"read", "100%", "0%"}}) {
    v1::JobSpec job = Swept(field, {one});
    EXPECT_TRUE(HostProblems(job, kWorkers).empty()) << field;
    job = Swept(field, {one, several});
    job.mutable_phases(1)->mutable_run()->mutable_workloads(0)->mutable_hosts()->clear_count();
    const std::vector<std::string> problems = HostProblems(job, kWorkers);
    ASSERT_EQ(problems.size(), 1u) << field;
    EXPECT_NE(problems[0].find("is owned, and 2 hosts write it"), std::string::npos) << problems[0];
  }
}

TEST(WorkloadHostsTest, AHostThatIsNotThereIsNamedBeforeTheRun) {
  v1::JobSpec job = Swept("hosts.names", {"a", "c", "c,a"});
  job.mutable_targets(0)->set_sharing(v1::SHARING_PRIVATE);
  std::vector<std::string> problems = HostProblems(job, kWorkers);
  ASSERT_EQ(problems.size(), 2u);
  EXPECT_NE(problems[0].find("no worker is attached on c"), std::string::npos) << problems[0];
  job = Job();
  job.mutable_phases(1)->mutable_run()->mutable_workloads(0)->mutable_hosts()->set_count(3);
  problems = HostProblems(job, kWorkers);
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_NE(problems[0].find("needs 3 hosts, 2 that match"), std::string::npos) << problems[0];
}

// The job leaves open how many hosts it has. The fleet has one.
TEST(WorkloadHostsTest, FairnessOfTheOnlyHostIsRefusedBeforeTheRun) {
  v1::JobSpec job = Job();
  v1::RunPhase* run = job.mutable_phases(1)->mutable_run();
  run->mutable_expect()->set_fairness(0.9);
  EXPECT_TRUE(HostProblems(job, kWorkers).empty());
  const std::vector<std::string> problems = HostProblems(job, {kWorkers[0]});
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_NE(problems[0].find("expect.fairness cannot be met: it is over hosts, and only a runs"),
            std::string::npos)
      << problems[0];
  // Two workloads of one host each have two hosts together.
  *run->add_workloads() = run->workloads(0);
  run->mutable_workloads(0)->mutable_hosts()->add_names("a");
  run->mutable_workloads(1)->mutable_hosts()->add_names("b");
  EXPECT_TRUE(HostProblems(job, kWorkers).empty());
}

}  // namespace
}  // namespace lockstep::controller
