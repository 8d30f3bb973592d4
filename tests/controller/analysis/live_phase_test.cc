#include "controller/analysis/live_phase.h"

#include "gtest/gtest.h"

namespace lockstep::controller {
namespace {

v1::IntervalSample Sample(uint32_t interval, const std::vector<uint64_t>& latencies,
                          v1::IntervalClass interval_class = v1::INTERVAL_CLASS_MEASURED) {
  v1::IntervalSample sample;
  sample.set_interval(interval);
  sample.set_interval_class(interval_class);
  sample.set_begin_ns(interval * 1000000000ll);
  sample.set_end_ns((interval + 1) * 1000000000ll);
  v1::OperationCounters* c = sample.add_workloads()->add_operations();
  c->set_kind(v1::OPERATION_KIND_READ);
  c->set_operations(latencies.size());
  c->set_bytes(latencies.size() * 512);
  common::Histogram h;
  for (uint64_t value : latencies) h.Record(value);
  v1::Histogram* encoded = c->add_histograms();
  encoded->set_metric(v1::METRIC_SERVICE_TIME);
  encoded->set_scheme(common::kHistogramScheme);
  encoded->set_buckets(h.Encode());
  return sample;
}

v1::PhaseResult ResultOf(const v1::IntervalSample& whole) {
  v1::PhaseResult result;
  *result.add_workloads()->add_measured() = whole.workloads(0).operations(0);
  return result;
}

v1::RunPhase OneWorkload() {
  v1::RunPhase load;
  load.add_workloads();
  return load;
}

v1::RunPhase TwoWorkloads() {
  v1::RunPhase load = OneWorkload();
  load.add_workloads();
  return load;
}

LivePhase Phase(v1::AbortIf abort_if = {}) {
  v1::RunPhase load = TwoWorkloads();
  *load.mutable_abort_if() = std::move(abort_if);
  return LivePhase(0, {{0, "a"}, {1, "b"}}, load, 1000000000);
}

TEST(LivePhaseTest, AWorkloadThatHasEndedEndsTheLoad) {
  v1::RunPhase load;
  for (const char* name : {"w", "log"}) load.add_workloads()->set_name(name);
  load.mutable_workloads(1)->set_ends_phase(true);
  LivePhase phase(0, {{0, "a"}, {1, "b"}}, load, 1000000000);
  v1::IntervalSample sample = Sample(0, {100});
  sample.mutable_workloads(0)->set_ended_ns(500000000);
  ASSERT_TRUE(phase.Add(0, sample).ok());
  EXPECT_EQ(phase.end_reason(), "");
  sample.add_workloads()->set_workload(1);
  sample.mutable_workloads(1)->set_ended_ns(400000000);
  ASSERT_TRUE(phase.Add(1, sample).ok());
  EXPECT_EQ(phase.end_reason(), "workload log has ended on b");
}

TEST(LivePhaseTest, AnIntervalIsCompleteWhenAllHaveDeliveredIt) {
  LivePhase phase = Phase();
  ASSERT_TRUE(phase.Add(0, Sample(0, {100, 100, 100})).ok());
  EXPECT_TRUE(phase.TakeComplete().empty());
  ASSERT_TRUE(phase.Add(1, Sample(0, {5000})).ok());
  const auto complete = phase.TakeComplete();
  ASSERT_EQ(complete.size(), 1u);
  EXPECT_DOUBLE_EQ(complete[0].iops(), 4);
  EXPECT_DOUBLE_EQ(complete[0].bytes_per_second(), 2048);
  // No I/O is above the p99 of four.
  EXPECT_EQ(complete[0].p99_ns(), 0);
  EXPECT_EQ(phase.Hosts(), (std::vector<std::string>{"a", "b"}));
  ASSERT_EQ(complete[0].all_iops_size(), 2);
  EXPECT_FLOAT_EQ(complete[0].all_iops(0), 3);
  EXPECT_FLOAT_EQ(complete[0].all_iops(1), 1);
  EXPECT_EQ(complete[0].best(0), 0u);
  EXPECT_EQ(complete[0].worst(0), 1u);
  EXPECT_DOUBLE_EQ(complete[0].worst_iops(0), 1);
  EXPECT_DOUBLE_EQ(complete[0].host_quantiles(4), 3);
  EXPECT_NEAR(complete[0].jain(), 0.8, 1e-9);
  EXPECT_DOUBLE_EQ(complete[0].kind_iops(0), 4);
  EXPECT_EQ(complete[0].hosts(), 2u);
  EXPECT_EQ(complete[0].silent_hosts(), 0u);
  ASSERT_TRUE(phase.Add(0, Sample(1, {100})).ok());
  phase.Leave(1);
  const auto alone = phase.TakeComplete();
  ASSERT_EQ(alone.size(), 1u);
  // One host shares nothing.
  EXPECT_FALSE(alone[0].has_jain());
}

TEST(LivePhaseTest, TheP99IsThatOfTheSumOfTheHosts) {
  LivePhase phase = Phase();
  ASSERT_TRUE(phase.Add(0, Sample(0, std::vector<uint64_t>(196, 100))).ok());
  ASSERT_TRUE(phase.Add(1, Sample(0, {5000, 5000, 5000, 5000})).ok());
  const auto complete = phase.TakeComplete();
  ASSERT_EQ(complete.size(), 1u);
  EXPECT_NEAR(complete[0].p99_ns(), 5000, 50);
}

TEST(LivePhaseTest, WhoKeepsTheOthersWaitingIsNamed) {
  LivePhase phase = Phase();
  for (uint32_t k = 0; k < 2; ++k) ASSERT_TRUE(phase.Add(0, Sample(k, {100})).ok());
  EXPECT_TRUE(phase.Behind().empty()) << "an interval or two is no delay";
  ASSERT_TRUE(phase.Add(0, Sample(2, {100})).ok());
  EXPECT_EQ(phase.Behind(), (std::vector<std::string>{"b"}));
  phase.Leave(1);
  (void)phase.TakeComplete();
  EXPECT_TRUE(phase.Behind().empty());
}

TEST(LivePhaseTest, AnObservePhaseHasTheDevicesAndNoLoad) {
  LivePhase phase(0, {{0, "a"}}, v1::RunPhase(), 1000000000);
  v1::IntervalSample sample;
  sample.set_interval_class(v1::INTERVAL_CLASS_MEASURED);
  sample.set_end_ns(1000000000);
  v1::DeviceSample* device = sample.add_devices();
  device->set_name("sda");
  device->set_reads(10);
  device->set_read_time_ms(50);
  device->set_read_bytes(40960);
  ASSERT_TRUE(phase.Add(0, sample).ok());
  const auto complete = phase.TakeComplete();
  ASSERT_EQ(complete.size(), 1u);
  ASSERT_EQ(complete[0].iostat_size(), 4);
  EXPECT_DOUBLE_EQ(complete[0].iostat(0), 5e6);
  EXPECT_DOUBLE_EQ(complete[0].iostat(2), 4096);
  EXPECT_EQ(complete[0].all_iops_size(), 0);
  EXPECT_EQ(complete[0].host_quantiles_size(), 0);
  EXPECT_TRUE(phase.CheckResult(0, v1::PhaseResult()).ok());
}

TEST(LivePhaseTest, WhoMissesAnIntervalHasNothingInIt) {
  LivePhase phase = Phase();
  phase.Leave(1);
  ASSERT_TRUE(phase.Add(0, Sample(0, {100})).ok());
  const auto complete = phase.TakeComplete();
  ASSERT_EQ(complete.size(), 1u);
  EXPECT_FLOAT_EQ(complete[0].all_iops(1), -1);
  EXPECT_EQ(complete[0].worst_size(), 1);
}

// Before a histogram is decoded: what a phase cannot have must not cost memory.
TEST(LivePhaseTest, WhatThePhaseCannotHaveIsRefused) {
  LivePhase phase = Phase();
  v1::IntervalSample sample = Sample(0, {1});
  sample.mutable_workloads(0)->set_workload(2);
  EXPECT_EQ(phase.Add(0, sample).code(), absl::StatusCode::kInvalidArgument);
  sample = Sample(0, {1});
  sample.mutable_workloads(0)->mutable_operations(0)->set_kind(static_cast<v1::OperationKind>(77));
  EXPECT_EQ(phase.Add(0, sample).code(), absl::StatusCode::kInvalidArgument);
  sample = Sample(0, {1});
  *sample.mutable_workloads(0)->mutable_operations(0)->add_histograms() =
      sample.workloads(0).operations(0).histograms(0);
  EXPECT_EQ(phase.Add(0, sample).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(phase.Add(0, Sample(0, {1})).ok());
}

TEST(LivePhaseTest, AResultMustBeTheSumOfItsIntervalsBucketByBucket) {
  LivePhase phase = Phase();
  ASSERT_TRUE(phase.Add(0, Sample(0, {100, 2000})).ok());
  ASSERT_TRUE(phase.Add(0, Sample(1, {100, 90000})).ok());
  EXPECT_TRUE(phase.CheckResult(0, ResultOf(Sample(0, {100, 100, 2000, 90000}))).ok());
  // the same number, another bucket
  EXPECT_FALSE(phase.CheckResult(0, ResultOf(Sample(0, {100, 100, 2000, 80000}))).ok());
  EXPECT_FALSE(phase.CheckResult(0, ResultOf(Sample(0, {100, 2000, 90000}))).ok());
  EXPECT_FALSE(phase.CheckResult(0, v1::PhaseResult()).ok());
  EXPECT_FALSE(phase.CheckResult(1, ResultOf(Sample(0, {100}))).ok());
}

// An open loop's interval in which all failed has errors, and no response time; syncs are no I/Os.
TEST(LivePhaseTest, ErrorsCountOnceAndSyncsNotAtAll) {
  const auto respond = [](v1::IntervalSample sample) {
    v1::Histogram* response = sample.mutable_workloads(0)->mutable_operations(0)->add_histograms();
    *response = sample.workloads(0).operations(0).histograms(0);
    response->set_metric(v1::METRIC_RESPONSE_TIME);
    return sample;
  };
  LivePhase phase(0, {{0, "a"}}, TwoWorkloads(), 1000000000);
  v1::IntervalSample good = respond(Sample(0, {100, 200}));
  v1::OperationCounters* sync = good.mutable_workloads(0)->add_operations();
  *sync = Sample(0, {7, 7, 7}).workloads(0).operations(0);
  sync->set_kind(v1::OPERATION_KIND_FSYNC);
  v1::IntervalSample failed = Sample(1, {});
  failed.mutable_workloads(0)->mutable_operations(0)->set_errors(5);
  ASSERT_TRUE(phase.Add(0, good).ok());
  ASSERT_TRUE(phase.Add(0, failed).ok());
  const auto complete = phase.TakeComplete();
  ASSERT_EQ(complete.size(), 2u);
  EXPECT_DOUBLE_EQ(complete[0].iops(), 2);
  EXPECT_DOUBLE_EQ(phase.series().Figures().iops(), 1);
  v1::IntervalSample whole = respond(Sample(0, {100, 200}));
  whole.mutable_workloads(0)->mutable_operations(0)->set_errors(5);
  v1::PhaseResult result = ResultOf(whole);
  *result.mutable_workloads(0)->add_measured() = *sync;
  EXPECT_TRUE(phase.CheckResult(0, result).ok()) << phase.CheckResult(0, result);
}

// As in a report: a phase's figures are of the workers that gave a result.
TEST(LivePhaseTest, WhatALostWorkerMeasuredIsInNoFigure) {
  LivePhase phase(0, {{0, "a"}, {1, "b"}}, OneWorkload(), 1000000000);
  ASSERT_TRUE(phase.Add(0, Sample(0, {100, 200})).ok());
  ASSERT_TRUE(phase.Add(1, Sample(0, {100, 200, 300})).ok());
  EXPECT_DOUBLE_EQ(phase.series().Figures().iops(), 5);
  phase.Leave(0);
  phase.Lose(1);
  EXPECT_DOUBLE_EQ(phase.series().Figures().iops(), 2);
}

TEST(LivePhaseTest, ASampleThatIsNoneChangesNothing) {
  LivePhase phase = Phase();
  v1::IntervalSample lies = Sample(0, {100});
  lies.mutable_workloads(0)->mutable_operations(0)->set_operations(2);
  EXPECT_FALSE(phase.Add(0, lies).ok());
  v1::IntervalSample other = Sample(0, {100});
  other.mutable_workloads(0)->mutable_operations(0)->mutable_histograms(0)->set_scheme(9);
  EXPECT_FALSE(phase.Add(0, other).ok());
  v1::IntervalSample garbage = Sample(0, {100});
  garbage.mutable_workloads(0)->mutable_operations(0)->mutable_histograms(0)->set_buckets(
      "\xff\xff");
  EXPECT_FALSE(phase.Add(0, garbage).ok());
  EXPECT_TRUE(phase.CheckResult(0, v1::PhaseResult()).ok());
}

TEST(LivePhaseTest, BrakesLookAtMeasuredIntervalsOfTheWholeFleet) {
  v1::AbortIf abort_if;
  abort_if.set_p99_ns(1000);
  LivePhase phase = Phase(abort_if);
  for (uint32_t worker : {0, 1}) {
    ASSERT_TRUE(phase.Add(worker, Sample(0, {5000}, v1::INTERVAL_CLASS_RAMP)).ok());
  }
  phase.TakeComplete();
  EXPECT_EQ(phase.abort_reason(), "");
  // 98 I/Os have no p99: none took longer than the slowest, which must not end a run.
  std::vector<uint64_t> few(49, 5000);
  for (uint32_t worker : {0, 1}) ASSERT_TRUE(phase.Add(worker, Sample(1, few)).ok());
  phase.TakeComplete();
  EXPECT_EQ(phase.abort_reason(), "");
  few.push_back(5000);
  for (uint32_t worker : {0, 1}) ASSERT_TRUE(phase.Add(worker, Sample(2, few)).ok());
  phase.TakeComplete();
  EXPECT_NE(phase.abort_reason().find("abort_if.p99"), std::string::npos);
}

TEST(LivePhaseTest, RollupsAreOfTenSeconds) {
  LivePhase phase = Phase();
  for (uint32_t k = 0; k < 25; ++k) ASSERT_TRUE(phase.Add(0, Sample(k, {100, 200})).ok());
  const auto rollups = phase.series().Rollups();
  ASSERT_EQ(rollups.size(), 3u);
  EXPECT_EQ(rollups[0].operations, 20u);
  EXPECT_EQ(rollups[2].operations, 10u);
  EXPECT_EQ(rollups[2].begin_ns, 20000000000);
}

}  // namespace
}  // namespace lockstep::controller
