#include "measure/operation_stats.h"

#include "gtest/gtest.h"

namespace lockstep::measure {
namespace {

v1::OperationCounters Counters(const std::vector<uint64_t>& service,
                               const std::vector<uint64_t>& response = {}) {
  OperationStats stats;
  std::vector<uint32_t> dense[kMetrics];
  std::array<const uint32_t*, kMetrics> pointers = {};
  OperationCounts counts;
  counts.operations = service.size();
  const auto fill = [&](v1::Metric metric, const std::vector<uint64_t>& values) {
    if (values.empty()) return;
    std::vector<uint32_t>& buckets = dense[IndexOf(metric)];
    buckets.resize(common::kBucketCount);
    for (uint64_t value : values) ++buckets[common::BucketOf(value)];
    pointers[IndexOf(metric)] = buckets.data();
  };
  fill(v1::METRIC_SERVICE_TIME, service);
  fill(v1::METRIC_RESPONSE_TIME, response);
  for (uint64_t value : response.empty() ? service : response) {
    counts.latency_sum_ns += value;
    counts.latency_min_ns = std::min(counts.latency_min_ns, value);
    counts.latency_max_ns = std::max(counts.latency_max_ns, value);
  }
  stats.Add(counts, pointers);
  return stats.Encode(v1::OPERATION_KIND_READ);
}

OperationDelta Delta(const v1::OperationCounters& counters) {
  auto delta = OperationDelta::Decode(counters);
  EXPECT_TRUE(delta.ok()) << delta.status();
  return *delta;
}

TEST(OperationStatsTest, WhatIsEncodedComesBackWhateverWayItIsAdded) {
  const v1::OperationCounters first = Counters({100, 2000}), second = Counters({5, 90000});
  OperationStats by_delta;
  by_delta.Add(Delta(first));
  by_delta.Add(Delta(second));
  OperationStats one, two;
  one.Add(Delta(first));
  two.Add(Delta(second));
  two.Add(one);
  EXPECT_EQ(by_delta.Encode(v1::OPERATION_KIND_READ).SerializeAsString(),
            two.Encode(v1::OPERATION_KIND_READ).SerializeAsString());
  EXPECT_EQ(by_delta.counts().operations, 4u);
  EXPECT_EQ(by_delta.counts().latency_min_ns, 5u);
  EXPECT_EQ(by_delta.counts().latency_max_ns, 90000u);
  EXPECT_TRUE(by_delta.Equals(Delta(Counters({5, 100, 2000, 90000}))));
  EXPECT_FALSE(by_delta.Equals(Delta(Counters({5, 100, 2000, 80000}))));
  EXPECT_FALSE(by_delta.Equals(Delta(Counters({5, 100, 2000}))));
}

// In a closed loop an I/O is due when it is submitted.
TEST(OperationStatsTest, AClosedLoopsServiceTimesAreResponseTimesBesideAnOpenLoop) {
  const OperationDelta open = Delta(Counters({100, 100}, {5000, 6000}));
  const OperationDelta closed = Delta(Counters({70}));
  for (const auto& [first, second] : {std::pair(open, closed), std::pair(closed, open)}) {
    OperationStats mixed;
    mixed.Add(first);
    mixed.Add(second);
    EXPECT_EQ(mixed.main_metric(), v1::METRIC_RESPONSE_TIME);
    EXPECT_EQ(mixed.histogram(v1::METRIC_RESPONSE_TIME).count(), 3u);
    EXPECT_EQ(mixed.histogram(v1::METRIC_RESPONSE_TIME).bucket(common::BucketOf(70)), 1u);
    EXPECT_EQ(mixed.histogram(v1::METRIC_SERVICE_TIME).count(), 3u);
    OperationStats parts[2], sum;
    parts[0].Add(first);
    parts[1].Add(second);
    sum.Add(parts[0]);
    sum.Add(parts[1]);
    EXPECT_EQ(sum.Encode(v1::OPERATION_KIND_READ).SerializeAsString(),
              mixed.Encode(v1::OPERATION_KIND_READ).SerializeAsString());
  }
}

TEST(OperationStatsTest, WhereAllFailedTheErrorsAreThereAndNoLatency) {
  OperationStats stats;
  OperationCounts counts;
  counts.errors = 3;
  stats.Add(counts, {});
  const v1::OperationCounters encoded = stats.Encode(v1::OPERATION_KIND_WRITE);
  EXPECT_EQ(encoded.errors(), 3u);
  EXPECT_EQ(encoded.latency_min_ns(), 0u);
  ASSERT_EQ(encoded.histograms_size(), 1);
  EXPECT_FALSE(stats.empty());
  EXPECT_DOUBLE_EQ(stats.Percentile(99), 0);
  EXPECT_TRUE(stats.Equals(Delta(encoded)));
}

TEST(OperationStatsTest, WhatIsNotAnEncodingIsRefused) {
  v1::OperationCounters twice = Counters({1});
  *twice.add_histograms() = twice.histograms(0);
  EXPECT_FALSE(OperationDelta::Decode(twice).ok());
  v1::OperationCounters metric = Counters({1});
  metric.mutable_histograms(0)->set_metric(static_cast<v1::Metric>(9));
  EXPECT_FALSE(OperationDelta::Decode(metric).ok());
  metric.mutable_histograms(0)->set_metric(v1::METRIC_UNSPECIFIED);
  EXPECT_FALSE(OperationDelta::Decode(metric).ok());
  v1::OperationCounters scheme = Counters({1});
  scheme.mutable_histograms(0)->set_scheme(2);
  EXPECT_FALSE(OperationDelta::Decode(scheme).ok());
  v1::OperationCounters kind = Counters({1});
  kind.set_kind(static_cast<v1::OperationKind>(99));
  EXPECT_FALSE(OperationDelta::Decode(kind).ok());
}

}  // namespace
}  // namespace lockstep::measure
