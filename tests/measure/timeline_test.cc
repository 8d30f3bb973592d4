#include "measure/timeline.h"

#include <cmath>

#include "common/timing.h"
#include "gtest/gtest.h"

namespace lockstep::measure {
namespace {

using timing::kSecond;

// An interval of `hosts` workers of whom the n-th does 100 (n + 1) reads and half as many writes.
MergedInterval Interval(uint32_t number, uint32_t hosts, uint64_t latency_ns = 1000) {
  MergedInterval merged;
  merged.interval = number;
  merged.interval_class = v1::INTERVAL_CLASS_MEASURED;
  merged.end_seconds = number + 1;
  common::Histogram latencies;
  for (uint32_t worker = 0; worker < hosts; ++worker) {
    MergedInterval::Part& part = merged.workers[worker];
    part.begin_seconds = number;
    part.seconds = 1;
    part.operations = uint64_t{150} * (worker + 1);
    part.p99_ns = static_cast<double>(latency_ns);
    OperationCounts reads;
    reads.operations = uint64_t{100} * (worker + 1);
    reads.bytes = 512 * reads.operations;
    reads.latency_sum_ns = latency_ns * reads.operations;
    reads.latency_max_ns = latency_ns;
    OperationCounts writes = reads;
    writes.operations /= 2;
    merged.kinds[v1::OPERATION_KIND_READ].Add(reads);
    merged.kinds[v1::OPERATION_KIND_WRITE].Add(writes);
    latencies.AddBucket(common::BucketOf(latency_ns), part.operations);
  }
  merged.latencies = latencies.Occupied();
  merged.devices = {100, 819200, 50, 200, 500, 1};
  return merged;
}

TEST(TimelineTest, APointIsTheSumOfTheIntervalsWorkers) {
  Timeline timeline;
  timeline.Add(Interval(0, 4));
  ASSERT_EQ(timeline.points().size(), 1u);
  const FleetPoint& point = timeline.points()[0];
  EXPECT_EQ(point.begin_ns, 0);
  EXPECT_EQ(point.end_ns, kSecond);
  EXPECT_EQ(point.kinds.at(v1::OPERATION_KIND_READ).operations, 1000u);
  EXPECT_EQ(point.kinds.at(v1::OPERATION_KIND_WRITE).operations, 500u);
  EXPECT_EQ(point.Ios().operations, 1500u);
  EXPECT_EQ(point.hosts, 4u);
  EXPECT_DOUBLE_EQ(point.host_iops[0], 150);
  EXPECT_DOUBLE_EQ(point.host_iops[4], 600);
  // (1 + 2 + 3 + 4)^2 / (4 (1 + 4 + 9 + 16))
  EXPECT_NEAR(point.jain.value_or(0), 100.0 / 120, 1e-9);
  EXPECT_NEAR(point.Percentile(99), 1000, 10);
  // iostat's figures of what the devices did.
  EXPECT_DOUBLE_EQ(point.devices.await_ns(), 500000);
  EXPECT_DOUBLE_EQ(point.devices.queue_size(), 0.2);
  EXPECT_DOUBLE_EQ(point.devices.request_bytes(), 8192);
  EXPECT_DOUBLE_EQ(point.devices.busy_ratio(), 0.5);
}

TEST(TimelineTest, HostsThatSharedNothingHaveNoFairness) {
  EXPECT_FALSE(JainOf({}).has_value());
  EXPECT_FALSE(JainOf({5}).has_value());
  EXPECT_FALSE(JainOf({0, 0}).has_value());
  EXPECT_DOUBLE_EQ(JainOf({5, 0}).value_or(0), 0.5);
  Timeline timeline;
  for (uint32_t k = 0; k < 4; ++k) {
    MergedInterval merged = Interval(k, 4);
    // The first and the last one are idle.
    for (auto& [worker, part] : merged.workers) part.operations *= k == 1 || k == 2;
    timeline.Add(merged);
  }
  timeline.Add(Interval(4, 1));
  ASSERT_EQ(timeline.points().size(), 5u);
  for (const size_t idle : {0, 3, 4}) EXPECT_FALSE(timeline.points()[idle].jain.has_value());
  // A span has the mean of those that have one: the idle ones would make it fairer than it was.
  for (const size_t first : {0, 2}) {
    FleetPoint both = timeline.points()[first];
    both.Append(timeline.points()[first + 1]);
    EXPECT_NEAR(both.jain.value_or(0), 100.0 / 120, 1e-9) << first;
  }
  // Also when a span gets longer.
  FleetPoint longer = timeline.points()[0];
  longer.Append(timeline.points()[1]);
  FleetPoint fair = timeline.points()[2];
  fair.jain = 1;
  longer.Append(fair);
  EXPECT_NEAR(longer.jain.value_or(0), (100.0 / 120 + 1) / 2, 1e-9);
  FleetPoint none = timeline.points()[3];
  none.Append(timeline.points()[4]);
  EXPECT_FALSE(none.jain.has_value());
}

TEST(TimelineTest, WhenPointsBecomeTooManyLatenciesAreStillExact) {
  Timeline timeline({4, 1 << 18});
  common::Histogram all;
  for (uint32_t k = 0; k < 9; ++k) {
    const uint64_t latency = 1000 * (uint64_t{k} + 1);
    timeline.Add(Interval(k, 1, latency));
    all.AddBucket(common::BucketOf(latency), 150);
  }
  EXPECT_LE(timeline.points().size(), 4u);
  common::Histogram sum;
  uint32_t intervals = 0;
  uint64_t operations = 0;
  for (const FleetPoint& point : timeline.points()) {
    EXPECT_EQ(point.interval, intervals) << "a gap";
    EXPECT_EQ(point.begin_ns, int64_t{intervals} * kSecond);
    intervals += point.intervals;
    operations += point.Ios().operations;
    sum.Add(point.latencies);
  }
  EXPECT_EQ(intervals, 9u);
  EXPECT_EQ(operations, 9u * 150);
  EXPECT_TRUE(sum == all);
}

TEST(TimelineTest, NeighboursOfOtherClassesAndGapsStayApart) {
  std::vector<FleetPoint> points;
  Timeline timeline;
  for (const uint32_t k : {0U, 1U, 2U, 3U, 7U, 8U}) {
    MergedInterval merged = Interval(k, 1);
    if (k < 2) merged.interval_class = v1::INTERVAL_CLASS_RAMP;
    timeline.Add(merged);
  }
  const std::vector<FleetPoint> thin = Thinned(timeline.points(), 10 * kSecond, 1000);
  ASSERT_EQ(thin.size(), 3u);
  EXPECT_EQ(thin[0].interval_class, v1::INTERVAL_CLASS_RAMP);
  EXPECT_EQ(thin[0].end_ns, 2 * kSecond);
  EXPECT_EQ(thin[1].begin_ns, 2 * kSecond);
  EXPECT_EQ(thin[1].end_ns, 4 * kSecond);
  EXPECT_EQ(thin[2].begin_ns, 7 * kSecond);
}

TEST(TimelineTest, AStepMakesAsManyPointsAsAreDue) {
  Timeline timeline;
  for (uint32_t k = 0; k < 3600; ++k) timeline.Add(Interval(k, 1));
  EXPECT_EQ(Thinned(timeline.points(), 0, 10000).size(), 3600u);
  EXPECT_EQ(Thinned(timeline.points(), 4 * kSecond, 10000).size(), 900u);
  EXPECT_LE(Thinned(timeline.points(), 0, 1000).size(), 1000u);
  EXPECT_EQ(Thinned(timeline.points(), 0, 1).size(), 1u);
  EXPECT_EQ(Thinned(timeline.points(), 0, 1)[0].Ios().operations, 3600u * 150);
}

TEST(TimelineTest, ThereAreNoMorePointsThanAskedForAndNoneIsShorterThanItsStep) {
  Timeline timeline;
  for (uint32_t k = 0; k < 1500; ++k) {
    MergedInterval merged = Interval(k, 1);
    if (k < 7) merged.interval_class = v1::INTERVAL_CLASS_RAMP;
    timeline.Add(merged);
  }
  for (const size_t most : {1499U, 1000U, 999U, 37U, 2U}) {
    EXPECT_LE(Thinned(timeline.points(), 0, most).size(), most);
  }
  const std::vector<FleetPoint> thin = Thinned(timeline.points(), 3 * kSecond / 2, 10000);
  for (size_t i = 4; i + 1 < thin.size(); ++i) {
    EXPECT_GE(thin[i].end_ns - thin[i].begin_ns, 3 * kSecond / 2) << i;
  }
  HostTable hosts = timeline.hosts();
  hosts.Thin(10000, 3 * kSecond / 2);
  const auto& middle = hosts.spans[hosts.spans.size() / 2];
  EXPECT_EQ(middle.end_ns - middle.begin_ns, 2 * kSecond);
}

// A worker's intervals do not make it grow, whatever they contain.
TEST(TimelineTest, ClassesThatAlternateAndGapsHaveALimitToo) {
  Timeline timeline({64, 64});
  for (uint32_t k = 0; k < 5000; ++k) {
    MergedInterval merged = Interval(3 * k, 1);
    if (k % 2 == 0) merged.interval_class = v1::INTERVAL_CLASS_RAMP;
    timeline.Add(merged);
    ASSERT_LE(timeline.points().size(), 64u) << k;
    ASSERT_LE(timeline.hosts().spans.size(), 64u) << k;
  }
  uint64_t operations = 0;
  for (const FleetPoint& point : timeline.points()) operations += point.Ios().operations;
  EXPECT_EQ(operations, 5000u * 150);
}

TEST(TimelineTest, APartWithoutTimeIsNone) {
  Timeline timeline;
  MergedInterval merged = Interval(500, 2);
  merged.workers[1] = {};
  timeline.Add(merged);
  ASSERT_EQ(timeline.points().size(), 1u);
  EXPECT_EQ(timeline.points()[0].begin_ns, 500 * kSecond);
  merged.interval = 501;
  merged.workers[0] = {};
  timeline.Add(merged);
  EXPECT_EQ(timeline.points().size(), 1u);
}

TEST(TimelineTest, APercentileIsNotBeyondTheLongest) {
  Timeline timeline;
  for (uint64_t latency = 100000; latency < 101000; latency += 37) {
    timeline.Add(Interval(static_cast<uint32_t>(latency), 1, latency));
    const FleetPoint& point = timeline.points().back();
    EXPECT_LE(point.Percentile(99.9), static_cast<double>(point.latency_max_ns));
  }
}

TEST(TimelineTest, HostsAreInColumnsAndOneThatIsAwayHasNone) {
  Timeline timeline;
  timeline.Add(Interval(0, 2));
  MergedInterval without = Interval(1, 2);
  without.workers.erase(1);
  timeline.Add(without);
  timeline.Add(Interval(2, 3));
  const HostTable& hosts = timeline.hosts();
  ASSERT_EQ(hosts.spans.size(), 3u);
  ASSERT_EQ(hosts.lines.size(), 3u);
  EXPECT_FLOAT_EQ(hosts.lines.at(0).iops[1], 150);
  EXPECT_TRUE(std::isnan(hosts.lines.at(1).iops[1]));
  EXPECT_TRUE(std::isnan(hosts.lines.at(2).iops[0]));
  EXPECT_FLOAT_EQ(hosts.lines.at(2).iops[2], 450);
}

TEST(TimelineTest, HostsAreThinnedToTheirMeanAndTheirWorstP99) {
  Timeline timeline({1 << 15, 16});
  for (uint32_t k = 0; k < 64; ++k) timeline.Add(Interval(k, 2, k == 40 ? 9000000 : 1000));
  HostTable hosts = timeline.hosts();
  EXPECT_LE(hosts.spans.size() * hosts.lines.size(), 16u);
  EXPECT_EQ(hosts.spans.front().begin_ns, 0);
  EXPECT_EQ(hosts.spans.back().end_ns, 64 * kSecond);
  hosts.Thin(1);
  ASSERT_EQ(hosts.spans.size(), 1u);
  EXPECT_NEAR(hosts.lines.at(1).iops[0], 300, 1e-3);
  EXPECT_FLOAT_EQ(hosts.lines.at(1).p99_ns[0], 9000000);
}

}  // namespace
}  // namespace lockstep::measure
