// Hosts that do less than the others, or nothing at all, and what differs on them.

#include <cmath>
#include <vector>

#include "tests/controller/analysis/stored_phases.h"

namespace lockstep::controller {
namespace {

TEST(StragglerTest, WhereAllAreEqualNobodyIsNamed) {
  const v1::PhaseReport phase = ReportOf(FourHosts([](uint32_t h, uint32_t k) {
                                  return 200 + (7 * h + 13 * k) % 20;
                                })).phases(0);
  EXPECT_EQ(phase.stragglers_size(), 0);
  EXPECT_EQ(phase.starvations_size(), 0);
  EXPECT_GE(phase.fairness(0).jain(), 0.99);
  ASSERT_EQ(phase.jain_by_interval_size(), 10);
  EXPECT_EQ(phase.devices(0).findings_size(), 0);
  EXPECT_NEAR(phase.p99_spread_median(), 1, 0.02);
}

TEST(StragglerTest, WhoDoesHalfIsNamedWithItsShareAndWithWhatDiffersOnIt) {
  Stored data = FourHosts([](uint32_t h, uint32_t) { return h == 2 ? 100 : 200; });
  const auto straggler = [&] {
    const v1::PhaseReport phase = ReportOf(data).phases(0);
    EXPECT_EQ(phase.stragglers_size(), 1);
    if (phase.stragglers_size() != 1) return v1::Straggler();
    EXPECT_EQ(phase.stragglers(0).host(), "node2");
    return phase.stragglers(0);
  };
  EXPECT_DOUBLE_EQ(straggler().share(), 0.5);
  EXPECT_DOUBLE_EQ(straggler().slow_seconds(), 10);
  EXPECT_EQ(straggler().cause(), "not known");
  data.phases[0].workers[2].result.set_throttled_ratio(0.4);
  EXPECT_EQ(straggler().cause(), "CPU quota");
  data.phases[0].workers[2].result.clear_throttled_ratio();
  data.phases[0].workers[2].result.add_throttles("/slow: io.max sda riops=100");
  for (v1::IntervalSample& sample : data.intervals[2]) {
    sample.mutable_devices(0)->set_read_time_ms(30);  // 0.3 of the 0.5 ms of each I/O
  }
  EXPECT_EQ(straggler().cause(), "I/O throttle");
  // A limit that all have tells nothing of one.
  for (measure::WorkerPhaseData& worker : data.phases[0].workers) {
    if (worker.result.throttles().empty()) {
      worker.result.add_throttles("/slow: io.max sda riops=100");
    }
  }
  EXPECT_EQ(straggler().cause(), "not known");
  for (v1::IntervalSample& sample : data.intervals[2]) sample.mutable_host()->set_steal_ratio(0.3);
  EXPECT_EQ(straggler().cause(), "CPU steal");
  for (v1::IntervalSample& sample : data.intervals[2]) {
    sample.mutable_host()->set_steal_ratio(0);
    sample.mutable_devices(0)->set_read_time_ms(500);
  }
  EXPECT_EQ(straggler().cause(), "device");
}

TEST(StragglerTest, WhoKeepsTheRateIsJudgedByLatency) {
  Stored data = FourHosts([](uint32_t, uint32_t) { return 200; });
  EXPECT_EQ(ReportOf(data).phases(0).stragglers_size(), 0);
  for (v1::IntervalSample& sample : data.intervals[1]) {
    v1::OperationCounters* counters = sample.mutable_workloads(0)->mutable_operations(0);
    *counters = Counters(v1::OPERATION_KIND_READ, std::vector<uint64_t>(200, 2000000));
    sample.mutable_devices(0)->set_read_time_ms(400);
  }
  const v1::PhaseReport phase = ReportOf(data).phases(0);
  ASSERT_EQ(phase.stragglers_size(), 1);
  EXPECT_EQ(phase.stragglers(0).host(), "node1");
  EXPECT_EQ(phase.stragglers(0).latency_ratio(), 4);
  EXPECT_EQ(phase.stragglers(0).share(), 1);
  EXPECT_EQ(phase.stragglers(0).cause(), "device");
}

// Gives the I/Os of a host in one second another latency.
void SetLatency(Stored* data, uint32_t h, uint32_t k, uint64_t latency_ns) {
  v1::OperationCounters* counters =
      data->intervals[h][k].mutable_workloads(0)->mutable_operations(0);
  *counters =
      Counters(v1::OPERATION_KIND_READ, std::vector<uint64_t>(counters->operations(), latency_ns));
}

// The latency of a few I/Os is chance.
TEST(StragglerTest, WhoDidOnlyAFewIOsIsNotJudgedByLatency) {
  const auto stragglers = [](uint64_t iops) {
    Stored data = FourHosts([&](uint32_t, uint32_t) { return iops; });
    for (uint32_t k = 0; k < 10; ++k) SetLatency(&data, 1, k, 5000000);
    return ReportOf(data).phases(0).stragglers_size();
  };
  EXPECT_EQ(stragglers(1), 0);
  EXPECT_EQ(stragglers(2), 1);
}

TEST(StragglerTest, ASecondWithoutAnIOIsNotAsSlowAsTheOneBefore) {
  Stored data = FourHosts([](uint32_t, uint32_t k) { return k < 3 ? 100 : 0; });
  SetLatency(&data, 1, 2, 5000000);
  EXPECT_EQ(ReportOf(data).phases(0).stragglers_size(), 0);
}

TEST(StragglerTest, ATimeOfNothingIsStarvationAndSaysWhen) {
  const v1::PhaseReport phase = ReportOf(FourHosts([](uint32_t h, uint32_t k) {
                                  return h == 1 && k >= 4 && k < 7 ? 2 : 200;
                                })).phases(0);
  ASSERT_EQ(phase.starvations_size(), 1);
  EXPECT_EQ(phase.starvations(0).host(), "node1");
  EXPECT_DOUBLE_EQ(phase.starvations(0).begin_seconds(), 4);
  EXPECT_DOUBLE_EQ(phase.starvations(0).end_seconds(), 7);
  EXPECT_DOUBLE_EQ(phase.starvations(0).others_iops(), 200);
  EXPECT_LT(phase.jain_by_interval(5), 0.8);
  EXPECT_DOUBLE_EQ(phase.jain_by_interval(0), 1);
}

TEST(StragglerTest, AnIntervalWithoutAnIoHasNoFairness) {
  const v1::PhaseReport phase = ReportOf(FourHosts([](uint32_t h, uint32_t k) {
                                  return k == 3 ? 0 : h == 1 && k == 6 ? 100 : 200;
                                })).phases(0);
  ASSERT_EQ(phase.jain_by_interval_size(), 10);
  EXPECT_TRUE(std::isnan(phase.jain_by_interval(3)));
  EXPECT_DOUBLE_EQ(phase.jain_by_interval(2), 1);
  EXPECT_DOUBLE_EQ(phase.jain_min(), 490000.0 / 520000);
  EXPECT_DOUBLE_EQ(phase.jain_max(), 1);
}

TEST(StragglerTest, WhoDoesOtherWorkIsComparedWithNobody) {
  Stored data = FourHosts([](uint32_t h, uint32_t) { return h == 2 ? 20 : 200; });
  for (v1::JobSpec* job : {&data.run.job}) {
    v1::Workload* other = job->mutable_phases(0)->mutable_run()->add_workloads();
    other->set_name("other");
    other->add_targets("t");
  }
  data.phases[0].phase.spec = data.run.job.phases(0);
  measure::WorkerPhaseData& worker = data.phases[0].workers[2];
  worker.result.mutable_workloads(0)->set_workload(1);
  for (v1::IntervalSample& sample : data.intervals[2]) {
    sample.mutable_workloads(0)->set_workload(1);
  }
  EXPECT_EQ(ReportOf(data).phases(0).stragglers_size(), 0);
}

}  // namespace
}  // namespace lockstep::controller
