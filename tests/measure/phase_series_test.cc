#include "measure/phase_series.h"

#include <cmath>
#include <map>
#include <vector>

#include "common/limits.h"
#include "common/timing.h"
#include "gtest/gtest.h"

namespace lockstep::measure {
namespace {

using timing::kSecond;

v1::IntervalSample Sample(uint32_t interval, uint64_t operations, bool with_latencies = true) {
  v1::IntervalSample sample;
  sample.set_interval(interval);
  sample.set_interval_class(v1::INTERVAL_CLASS_MEASURED);
  sample.set_begin_ns(interval * kSecond);
  sample.set_end_ns((interval + 1) * kSecond);
  v1::OperationCounters* c = sample.add_workloads()->add_operations();
  c->set_kind(v1::OPERATION_KIND_READ);
  c->set_operations(operations);
  c->set_bytes(operations * 512);
  if (!with_latencies) return sample;
  common::Histogram latencies;
  latencies.AddBucket(common::BucketOf(1000 + interval), operations);
  v1::Histogram* histogram = c->add_histograms();
  histogram->set_metric(v1::METRIC_SERVICE_TIME);
  histogram->set_scheme(common::kHistogramScheme);
  histogram->set_buckets(latencies.Encode());
  return sample;
}

PhaseSeries Stored(std::set<uint32_t> workers, std::set<uint32_t> compared) {
  PhaseSeries::Options options;
  options.workers = std::move(workers);
  options.workloads = 1;
  options.compared = std::move(compared);
  options.needs_histograms = false;
  return PhaseSeries(options);
}

PhaseSeries Live(size_t max_points = 1 << 18) {
  PhaseSeries::Options options;
  options.workers = {0};
  options.workloads = 1;
  options.max_points = max_points;
  return PhaseSeries(options);
}

TEST(PhaseSeriesTest, TheWindowIsOfTheIntervalsThatAllComparedMeasuredFromEndToEnd) {
  PhaseSeries series = Stored({0, 1, 2}, {0, 1});
  for (uint32_t k = 0; k < 4; ++k) {
    for (uint32_t worker : {0, 1, 2}) {
      v1::IntervalSample sample = Sample(k, uint64_t{100} * (worker + 1), /*with_latencies=*/false);
      if (k == 0 && worker == 0) sample.set_interval_class(v1::INTERVAL_CLASS_RAMP);
      if (k == 3 && worker == 1) sample.set_end_ns(3 * kSecond + kSecond / 2);  // it was done
      if (k >= 1 && worker == 2) continue;                                      // it was lost
      ASSERT_TRUE(series.Add(worker, sample).ok());
    }
    (void)series.TakeComplete();
  }
  (void)series.Finish();
  EXPECT_EQ(series.window().begin_ns(), kSecond);
  EXPECT_EQ(series.window().end_ns(), 3 * kSecond);
  EXPECT_EQ(series.window().covered_ns(), 2 * kSecond);
  const WorkloadKind reads{0, v1::OPERATION_KIND_READ};
  EXPECT_EQ(series.window().Of(0).at(reads).operations, 200u);
  EXPECT_EQ(series.window().Of(1).at(reads).operations, 400u);
  EXPECT_TRUE(series.window().Of(2).empty());
  EXPECT_EQ(series.Of(2).MeasuredIos(), 300u);
  EXPECT_EQ(series.Of(1).rates.iops.Points(), (std::vector<double>{200, 200, 200, 400}));
}

TEST(PhaseSeriesTest, AWorkloadThatEndsByItselfHasATimeOfItsOwn) {
  PhaseSeries series({.workers = {0}, .workloads = 2, .needs_histograms = false});
  for (uint32_t k = 0; k < 3; ++k) {
    v1::IntervalSample sample = Sample(k, 100, /*with_latencies=*/false);
    v1::WorkloadSample* other = sample.add_workloads();
    *other->mutable_operations() = sample.workloads(0).operations();
    other->set_workload(1);
    if (k == 2) other->clear_operations();
    if (k >= 1) other->set_ended_ns(kSecond + kSecond / 4);
    ASSERT_TRUE(series.Add(0, sample).ok());
    (void)series.TakeComplete();
  }
  (void)series.Finish();
  EXPECT_EQ(series.window().covered_ns(), kSecond);
  EXPECT_EQ(series.WindowOf(0).covered_ns(), 3 * kSecond);
  EXPECT_EQ(series.WindowOf(1).covered_ns(), kSecond + kSecond / 4);
  EXPECT_EQ(series.WindowOf(1).Of(0).at({1, v1::OPERATION_KIND_READ}).operations, 200u);
}

// A device that is seen first after a gap may have been at work in it.
TEST(PhaseSeriesTest, ADeviceThatIsSeenAfterAGapHasNoKnownPast) {
  for (const bool has_gap : {false, true}) {
    WorkerRates rates;
    v1::IntervalSample sample = Sample(0, 100, /*with_latencies=*/false);
    rates.Append(sample, {}, 0, /*all=*/true, 1);
    if (has_gap) rates.AppendMissing(/*all=*/true, 1);
    v1::DeviceSample* device = sample.add_devices();
    device->set_name("sda");
    device->set_reads(50);
    rates.Append(sample, {}, 0, /*all=*/true, 1);
    const std::vector<double> requests = rates.devices.at("sda").requests.Points();
    ASSERT_EQ(requests.size(), has_gap ? 3u : 2u);
    EXPECT_EQ(std::isnan(requests[0]), has_gap);
    EXPECT_GT(requests.back(), 0);
  }
}

TEST(PhaseSeriesTest, AWorkloadThatBeginsLateHasATimeOfItsOwn) {
  PhaseSeries series({.workers = {0},
                      .workloads = 2,
                      .begins = {{1, kSecond + kSecond / 2}},
                      .needs_histograms = false});
  for (uint32_t k = 0; k < 3; ++k) {
    v1::IntervalSample sample = Sample(k, 100, /*with_latencies=*/false);
    v1::WorkloadSample* other = sample.add_workloads();
    other->set_workload(1);
    if (k >= 1) *other->mutable_operations() = sample.workloads(0).operations();
    ASSERT_TRUE(series.Add(0, sample).ok());
    (void)series.TakeComplete();
  }
  (void)series.Finish();
  EXPECT_EQ(series.window().begin_ns(), 2 * kSecond);
  EXPECT_EQ(series.window().covered_ns(), kSecond);
  EXPECT_EQ(series.WindowOf(0).covered_ns(), 3 * kSecond);
  EXPECT_EQ(series.WindowOf(1).begin_ns(), kSecond + kSecond / 2);
  EXPECT_EQ(series.WindowOf(1).covered_ns(), kSecond + kSecond / 2);
  EXPECT_EQ(series.WindowOf(1).Of(0).at({1, v1::OPERATION_KIND_READ}).operations, 200u);
}

// Two workers with workload 0; workload 1 of worker w ends by itself after `ends[w]`. The first of
// four intervals is the ramp.
PhaseSeries WithRamp(const std::map<uint32_t, int64_t>& ends) {
  PhaseSeries series({.workers = {0, 1}, .workloads = 2, .needs_histograms = false});
  for (uint32_t k = 0; k < 4; ++k) {
    for (const uint32_t worker : {0, 1}) {
      v1::IntervalSample sample = Sample(k, 100, /*with_latencies=*/false);
      if (k == 0) sample.set_interval_class(v1::INTERVAL_CLASS_RAMP);
      v1::WorkloadSample* other = sample.add_workloads();
      other->set_workload(1);
      const int64_t end = ends.at(worker);
      if (sample.begin_ns() < end) {
        *other->mutable_operations() = sample.workloads(0).operations();
      }
      if (end <= sample.end_ns()) other->set_ended_ns(end);
      EXPECT_TRUE(series.Add(worker, sample).ok());
    }
    (void)series.TakeComplete();
  }
  (void)series.Finish();
  return series;
}

TEST(PhaseSeriesTest, APartThatEndedInTheRampIsInNoWindow) {
  const PhaseSeries series = WithRamp({{0, kSecond * 9 / 10}, {1, kSecond * 3 / 2}});
  const WorkloadKind late{1, v1::OPERATION_KIND_READ};
  EXPECT_EQ(series.WindowOf(1).begin_ns(), kSecond);
  EXPECT_EQ(series.WindowOf(1).covered_ns(), kSecond / 2);
  EXPECT_TRUE(series.WindowOf(1).Of(0).empty());
  EXPECT_EQ(series.WindowOf(1).Of(1).at(late).operations, 100u);
  EXPECT_EQ(series.WindowOf(0).covered_ns(), 3 * kSecond);
  // All that had a measured time ran together for half a second.
  EXPECT_EQ(series.window().covered_ns(), kSecond / 2);
  EXPECT_EQ(series.window().Of(0).at({0, v1::OPERATION_KIND_READ}).operations, 50u);

  const PhaseSeries both = WithRamp({{0, kSecond / 2}, {1, kSecond}});
  EXPECT_TRUE(both.WindowOf(1).empty()) << "it has no time, and not that of the others";
  EXPECT_EQ(both.WindowOf(0).covered_ns(), 3 * kSecond);
  EXPECT_EQ(both.window().covered_ns(), 3 * kSecond);
}

// Later points would be added to those of other times.
TEST(PhaseSeriesTest, AnIntervalThatWasNotDeliveredHasAPointThatIsNotKnown) {
  PhaseSeries series = Stored({0}, {0});
  for (uint32_t k : {1, 2, 5})
    ASSERT_TRUE(series.Add(0, Sample(k, k, /*with_latencies=*/false)).ok());
  v1::IntervalSample drain = Sample(7, 7, /*with_latencies=*/false);
  drain.set_interval_class(v1::INTERVAL_CLASS_DRAIN);
  ASSERT_TRUE(series.Add(0, drain).ok());
  const std::vector<double> points = series.Of(0).rates.iops.Points();
  // Before the first one that came nobody knows what was measured, and the drain has no points.
  ASSERT_EQ(points.size(), 5u);
  EXPECT_EQ(points[1], 2);
  EXPECT_TRUE(std::isnan(points[2]) && std::isnan(points[3]));
  EXPECT_EQ(points[4], 5);
  // Of a thinned series as well: what is known keeps its place.
  PhaseSeries thinned = Live(100);
  for (uint32_t k = 0; k < 1000; ++k) {
    if (k == 500) continue;
    ASSERT_TRUE(thinned.Add(0, Sample(k, k)).ok());
    (void)thinned.TakeComplete();
  }
  const uint32_t step = thinned.points_step();
  const std::vector<double> means = thinned.Of(0).rates.iops.Points();
  ASSERT_LE(means.size(), 100u);
  for (size_t i = 0; i + 1 < means.size(); ++i) {
    if (i == 500 / step) {
      EXPECT_TRUE(std::isnan(means[i]));
    } else {
      EXPECT_EQ(means[i], static_cast<double>(i * step) + (step - 1) / 2.0) << i;
    }
  }
}

TEST(PhaseSeriesTest, WhatWasNotDeliveredIsAGap) {
  PhaseSeries series = Stored({0}, {0});
  for (uint32_t k : {1, 2, 5, 9}) ASSERT_TRUE(series.Add(0, Sample(k, 1, false)).ok());
  EXPECT_EQ(series.Of(0).gaps,
            (std::vector<std::pair<uint32_t, uint32_t>>{{0, 0}, {3, 4}, {6, 8}}));
}

// A day of seconds in a thousand numbers: their mean is that of the seconds.
TEST(PhaseSeriesTest, ALongSeriesIsThinnedAndKeepsItsMean) {
  PhaseSeries series = Live(1000);
  double sum = 0;
  for (uint32_t k = 0; k < 86400; ++k) {
    ASSERT_TRUE(series.Add(0, Sample(k, k % 100)).ok());
    (void)series.TakeComplete();
    sum += k % 100;
  }
  const std::vector<double> points = series.Of(0).rates.iops.Points();
  EXPECT_LE(points.size(), 1000u);
  EXPECT_GT(points.size(), 500u);
  EXPECT_EQ(series.points_step(), 128u);
  double of_points = 0;
  for (size_t i = 0; i + 1 < points.size(); ++i) of_points += points[i] * series.points_step();
  const double rest = 86400 - static_cast<double>(points.size() - 1) * series.points_step();
  EXPECT_NEAR(of_points + points.back() * rest, sum, 1e-6 * sum);
}

TEST(PhaseSeriesTest, RollupsThatWereClosedTakeInWhatComesLate) {
  PhaseSeries::Options options;
  options.workers = {0, 1};
  options.workloads = 1;
  PhaseSeries series(options);
  for (uint32_t k = 0; k < 60; ++k) ASSERT_TRUE(series.Add(0, Sample(k, 10)).ok());
  for (uint32_t k = 0; k < 60; ++k) ASSERT_TRUE(series.Add(1, Sample(k, 1)).ok());
  const std::vector<Rollup> rollups = series.Rollups();
  ASSERT_EQ(rollups.size(), 6u);
  for (size_t i = 0; i < rollups.size(); ++i) {
    EXPECT_EQ(rollups[i].begin_ns, static_cast<int64_t>(i) * kRollupNs);
    EXPECT_EQ(rollups[i].operations, 110u);
    common::Histogram latencies;
    ASSERT_TRUE(latencies.AddEncoded(rollups[i].buckets).ok());
    EXPECT_EQ(latencies.count(), 110u);
  }
}

TEST(PhaseSeriesTest, NobodyIsWaitedForBeyondTheLimitAndTheSumsHaveAll) {
  PhaseSeries::Options options;
  options.workers = {0, 1};
  options.workloads = 1;
  PhaseSeries series(options);
  const auto ahead = static_cast<uint32_t>(limits::kIntervalsAhead);
  for (uint32_t k = 0; k < ahead; ++k) ASSERT_TRUE(series.Add(0, Sample(k, 10)).ok());
  EXPECT_TRUE(series.TakeComplete().empty());
  ASSERT_TRUE(series.Add(0, Sample(ahead, 10)).ok());
  const std::vector<MergedInterval> merged = series.TakeComplete();
  ASSERT_EQ(merged.size(), 1u);
  EXPECT_FALSE(merged[0].whole);
  ASSERT_TRUE(series.Add(1, Sample(0, 5)).ok());  // too late for those who watch
  EXPECT_TRUE(series.TakeComplete().empty());
  EXPECT_EQ(series.Of(1).MeasuredIos(), 5u);
}

TEST(PhaseSeriesTest, ANestedDeviceIsInNoSumOverDevices) {
  PhaseSeries series = Live();
  v1::IntervalSample sample = Sample(0, 100);
  for (const char* name : {"dm-0", "sda"}) {
    v1::DeviceSample* device = sample.add_devices();
    device->set_name(name);
    device->set_reads(100);
    device->set_read_time_ms(name == std::string("sda") ? 5000 : 100);
    device->set_nested(name == std::string("sda"));
  }
  ASSERT_TRUE(series.Add(0, sample).ok());
  const std::vector<MergedInterval> merged = series.Finish();
  ASSERT_EQ(merged.size(), 1u);
  EXPECT_EQ(merged[0].devices.requests, 100);
  EXPECT_EQ(merged[0].devices.seconds, 1);
  EXPECT_EQ(merged[0].workers.at(0).slowest_device, "dm-0");
  const auto& devices = series.Of(0).devices;
  ASSERT_EQ(devices.size(), 2u);
  EXPECT_FALSE(devices.at("dm-0").nested);
  EXPECT_TRUE(devices.at("sda").nested);
  EXPECT_EQ(devices.at("sda").measured.reads(), 100u);
}

TEST(PhaseSeriesTest, EachWorkersRateIsOverItsOwnTime) {
  PhaseSeries::Options options;
  options.workers = {0, 1};
  options.workloads = 1;
  PhaseSeries series(options);
  for (uint32_t k = 0; k < 4; ++k) ASSERT_TRUE(series.Add(0, Sample(k, 100)).ok());
  ASSERT_TRUE(series.Add(1, Sample(0, 50)).ok());
  EXPECT_DOUBLE_EQ(series.Figures().iops(), 150);
}

TEST(PhaseSeriesTest, TheMeanLatencyIsThatOfAllIos) {
  PhaseSeries::Options options;
  options.workers = {0, 1};
  options.workloads = 1;
  PhaseSeries series(options);
  EXPECT_EQ(series.Figures().mean_ns(), 0);
  // 30 I/Os of 1 ms and 10 of 5 ms: 80 ms in all.
  const auto add = [&](uint32_t worker, uint64_t ios, uint64_t sum_ns) {
    v1::IntervalSample sample = Sample(0, ios);
    sample.mutable_workloads(0)->mutable_operations(0)->set_latency_sum_ns(sum_ns);
    ASSERT_TRUE(series.Add(worker, sample).ok());
  };
  add(0, 30, 30000000);
  add(1, 10, 50000000);
  EXPECT_DOUBLE_EQ(series.Figures().mean_ns(), 2e6);
}

TEST(PhaseSeriesTest, ASpeedThatIsKnownForAPartOfTheTimeIsNotKnown) {
  PhaseSeries series = Live();
  for (uint32_t k = 0; k < 4; ++k) {
    v1::IntervalSample sample = Sample(k, 10);
    if (k == 0) sample.set_interval_class(v1::INTERVAL_CLASS_RAMP);
    v1::InterfaceSample* interface = sample.add_interfaces();
    interface->set_name("eth0");
    interface->set_sent_bytes(1000);
    interface->set_send_speed_bits_per_second(16000);
    if (k != 2) interface->set_receive_speed_bits_per_second(16000);
    v1::NfsSample* nfs = sample.add_nfs();
    nfs->set_mount("/mnt");
    nfs->set_operation("READ");
    nfs->set_round_trip_ms(5);
    ASSERT_TRUE(series.Add(0, sample).ok());
  }
  const InterfaceSums& sums = series.Of(0).interfaces.at("eth0");
  EXPECT_DOUBLE_EQ(sums.seconds, 3) << "the ramp is not in it";
  EXPECT_DOUBLE_EQ(sums.sent_bytes, 3000);
  EXPECT_DOUBLE_EQ(sums.send_capacity.weight, 3);
  EXPECT_DOUBLE_EQ(sums.send_capacity.sum, 48000);
  EXPECT_DOUBLE_EQ(sums.receive_capacity.weight, 2);
  EXPECT_DOUBLE_EQ(series.Of(0).nfs.at({"/mnt", "READ"}).round_trip_ms, 15);
}

TEST(PhaseSeriesTest, AQuotaCountsInTheIntervalsInWhichItWasUsedUp) {
  PhaseSeries::Options options;
  options.workers = {0};
  options.workloads = 1;
  options.keeps_all_rates = true;
  PhaseSeries series(options);
  for (uint32_t k = 0; k < 5; ++k) {
    v1::IntervalSample sample = Sample(k, 10);
    if (k == 0) sample.set_interval_class(v1::INTERVAL_CLASS_RAMP);
    if (k == 2) {
      ASSERT_TRUE(series.Add(0, sample).ok());
      continue;
    }
    v1::QuotaSample* quota = sample.mutable_quota();
    quota->set_periods(k == 4 ? 4 : 10);
    quota->set_throttled_periods(k == 4 ? 1 : 11);
    // The kernel does not say how long the last ones are.
    if (k < 4) quota->set_period_ns(kSecond / 10);
    quota->set_throttled_time_ns(2 * kSecond);
    ASSERT_TRUE(series.Add(0, sample).ok());
  }
  EXPECT_EQ(series.Of(0).quota.samples, 4);
  EXPECT_DOUBLE_EQ(series.Of(0).quota.throttled_seconds, 1.1 + 1.1 + 0.25)
      << "the ramp is not in it";
  EXPECT_EQ(series.Of(0).rates.throttled_ratio.Points(), (std::vector<double>{1.1, 0, 1.1, 0.25}));
  EXPECT_EQ(series.Of(0).rates.throttled_time.Points(), (std::vector<double>{2, 0, 2, 2}));
}

TEST(PhaseSeriesTest, AnInterfaceHasAPointForEachInterval) {
  PhaseSeries::Options options;
  options.workers = {0};
  options.workloads = 1;
  options.keeps_all_rates = true;
  PhaseSeries series(options);
  for (uint32_t k = 0; k < 4; ++k) {
    v1::IntervalSample sample = Sample(k, 10);
    if (k == 1 || k == 3) {  // it comes late, and is missing once
      v1::InterfaceSample* eth0 = sample.add_interfaces();
      eth0->set_name("eth0");
      eth0->set_sent_bytes(uint64_t{1000} * (k + 1));
      eth0->set_received_bytes(100);
      eth0->set_send_speed_bits_per_second(k == 1 ? 64000 : 32000);
    }
    ASSERT_TRUE(series.Add(0, sample).ok());
  }
  const InterfaceRates& eth0 = series.Of(0).rates.interfaces.at("eth0");
  EXPECT_EQ(eth0.sent.bits.Points(), (std::vector<double>{0, 16000, 0, 32000}));
  EXPECT_EQ(eth0.sent.capacity_bits.Points(), (std::vector<double>{0, 64000, 0, 32000}));
  EXPECT_EQ(eth0.received.bits.Points(), (std::vector<double>{0, 800, 0, 800}));
  EXPECT_EQ(eth0.received.capacity_bits.Points(), (std::vector<double>{0, 0, 0, 0}));
}

TEST(PhaseSeriesTest, NamesThatNoHostHasAreRefused) {
  PhaseSeries series = Live();
  v1::IntervalSample sample = Sample(0, 10);
  sample.add_interfaces()->set_name("eth0\n");
  EXPECT_FALSE(series.Add(0, sample).ok());
  sample.mutable_interfaces(0)->set_name("eth0");
  sample.add_nfs()->set_mount("/mnt");
  EXPECT_FALSE(series.Add(0, sample).ok()) << "no operation";
  sample.mutable_nfs(0)->set_operation("READ");
  EXPECT_TRUE(series.Add(0, sample).ok());
  v1::IntervalSample many = Sample(1, 10);
  for (int i = 0; i <= limits::kSampledInterfaces; ++i) many.add_interfaces()->set_name("eth0");
  EXPECT_FALSE(series.Add(0, many).ok());
}

}  // namespace
}  // namespace lockstep::measure
