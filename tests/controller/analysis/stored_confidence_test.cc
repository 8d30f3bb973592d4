#include "controller/analysis/stored_confidence.h"

#include <cmath>
#include <limits>
#include <random>

#include "common/limits.h"
#include "tests/controller/analysis/stored_phases.h"

namespace lockstep::controller {
namespace {

using Latencies = std::vector<uint64_t>;

constexpr uint32_t kIntervals = 20;
constexpr int kIos = 200;  // of a host and interval

// Around 1 ms times `level`.
Latencies Drawn(double level, std::mt19937_64* random) {
  std::normal_distribution<double> normal;
  Latencies latencies;
  for (int i = 0; i < kIos; ++i) {
    latencies.push_back(static_cast<uint64_t>(1e6 * level * std::exp(0.5 * normal(*random))));
  }
  return latencies;
}

// The response times, with the service times beside them where there are any.
v1::OperationCounters Measured(const Latencies& response, const Latencies& service) {
  v1::OperationCounters c = Counters(v1::OPERATION_KIND_READ, response);
  if (service.empty()) return c;
  c.mutable_histograms(0)->set_metric(v1::METRIC_RESPONSE_TIME);
  *c.add_histograms() = Counters(v1::OPERATION_KIND_READ, service).histograms(0);
  return c;
}

// So many hosts; of host h and interval k: how slow its I/Os are, and how long they waited before
// (0: a closed loop, which has no response times).
Stored Hosts(uint32_t hosts, const std::function<double(uint32_t h, uint32_t k)>& level,
             const std::function<uint64_t(uint32_t k)>& wait_ns = nullptr) {
  Stored data = TwoWorkers();
  std::mt19937_64 random(1);
  const measure::RunWorker host = data.workers[0];
  const measure::WorkerPhaseData part = data.phases[0].workers[0];
  data.workers.clear();
  data.phases[0].workers.clear();
  data.intervals.clear();
  for (uint32_t h = 0; h < hosts; ++h) {
    data.workers.push_back(host);
    data.workers.back().worker_index = h;
    data.workers.back().host = "node" + std::to_string(h);
    data.phases[0].workers.push_back(part);
    measure::WorkerPhaseData& worker = data.phases[0].workers.back();
    worker.worker_index = h;
    worker.result.set_intervals(kIntervals);
    Latencies response, service;
    for (uint32_t k = 0; k < kIntervals; ++k) {
      Latencies now = Drawn(level(h, k), &random);
      Latencies waited;
      for (const uint64_t ns : now) waited.push_back(ns + (wait_ns ? wait_ns(k) : 0));
      if (!wait_ns) now.clear();
      v1::IntervalSample interval;
      interval.set_interval(k);
      interval.set_interval_class(v1::INTERVAL_CLASS_MEASURED);
      interval.set_begin_ns(k * 1000000000ll);
      interval.set_end_ns((k + 1) * 1000000000ll);
      *interval.add_workloads()->add_operations() = Measured(waited, now);
      data.intervals[h].push_back(interval);
      response.insert(response.end(), waited.begin(), waited.end());
      service.insert(service.end(), now.begin(), now.end());
    }
    *worker.result.mutable_workloads(0)->mutable_measured(0) = Measured(response, service);
  }
  return data;
}

double Even(uint32_t, uint32_t) { return 1; }

const v1::Percentile& Median(const v1::OperationReport& o) {
  for (const v1::Percentile& p : o.percentiles()) {
    if (p.percent() == 50) return p;
  }
  return v1::Percentile::default_instance();
}

// Infinite without an upper bound.
double Width(const v1::Percentile& p) {
  EXPECT_TRUE(p.has_low_ns());
  return p.has_high_ns() ? p.high_ns() - p.low_ns() : std::numeric_limits<double>::infinity();
}

TEST(StoredConfidenceTest, AllPercentilesOfHostsHaveIntervals) {
  const v1::PhaseReport phase = ReportOf(Hosts(3, Even)).phases(0);
  ASSERT_EQ(phase.hosts_size(), 3);
  for (const v1::HostReport& host : phase.hosts()) {
    for (const v1::OperationReport* o : {&host.total(), &host.workloads(0).operations(0)}) {
      int with = 0;
      for (const v1::Percentile& p : o->percentiles()) {
        EXPECT_EQ(p.has_low_ns(), p.has_latency_ns()) << p.percent();
        if (!p.has_low_ns()) continue;
        ++with;
        EXPECT_LE(p.low_ns(), p.latency_ns());
        EXPECT_TRUE(!p.has_high_ns() || p.high_ns() >= p.latency_ns());
      }
      EXPECT_GE(with, 5) << host.host();
    }
  }
}

TEST(StoredConfidenceTest, TheOnlyHostsIntervalIsTheFleets) {
  Stored data = Hosts(1, [](uint32_t, uint32_t k) { return k < 5 ? 2 : 1; });
  // The blocks that the store keeps of the fleet.
  for (const v1::IntervalSample& interval : data.intervals[0]) {
    data.phases[0].blocks.push_back(
        {{{0, v1::OPERATION_KIND_READ},
          interval.workloads(0).operations(0).histograms(0).buckets()}});
  }
  const v1::PhaseReport phase = ReportOf(data).phases(0);
  for (const v1::Percentile& p : phase.hosts(0).total().percentiles()) {
    for (const v1::Percentile& of_fleet : phase.total().percentiles()) {
      if (of_fleet.percent() != p.percent()) continue;
      EXPECT_EQ(p.has_low_ns(), of_fleet.has_low_ns());
      EXPECT_EQ(p.low_ns(), of_fleet.low_ns()) << p.percent();
      EXPECT_EQ(p.high_ns(), of_fleet.high_ns()) << p.percent();
    }
  }
}

TEST(StoredConfidenceTest, AHostThatWandersHasAWideInterval) {
  const v1::PhaseReport phase = ReportOf(Hosts(2, [](uint32_t h, uint32_t k) {
                                  return h == 1 && k < kIntervals / 2 ? 2 : 1;
                                })).phases(0);
  EXPECT_GT(Width(Median(phase.hosts(1).total())), 5 * Width(Median(phase.hosts(0).total())));
}

TEST(StoredConfidenceTest, ServiceTimesHaveIntervalsOfTheirOwn) {
  // Every second interval waits for 100 ms before each I/O, which itself is as fast as ever.
  const v1::PhaseReport phase =
      ReportOf(Hosts(2, Even, [](uint32_t k) { return k % 2 * 100000000; })).phases(0);
  ASSERT_EQ(phase.workloads(0).service_times_size(), 1);
  const v1::Percentile& service = Median(phase.workloads(0).service_times(0));
  ASSERT_TRUE(service.has_low_ns());
  EXPECT_LE(service.low_ns(), service.latency_ns());
  EXPECT_GE(service.high_ns(), service.latency_ns());
  EXPECT_LT(Width(service), 0.3 * service.latency_ns());
  // The host's are response times.
  EXPECT_GT(Width(Median(phase.hosts(0).total())), 10 * Width(service));
}

TEST(StoredConfidenceTest, ALostHostHasNoIntervalAndChangesNoOthers) {
  Stored data = Hosts(2, Even);
  const v1::PhaseReport both = ReportOf(data).phases(0);
  data.phases[0].workers[1].has_result = false;
  data.phases[0].workers[1].result.Clear();
  const v1::PhaseReport one = ReportOf(data).phases(0);
  ASSERT_TRUE(one.hosts(1).lost());
  EXPECT_FALSE(Median(one.hosts(1).total()).has_low_ns());
  EXPECT_TRUE(Median(one.hosts(0).total()).has_low_ns());
  EXPECT_EQ(Median(one.hosts(0).total()).low_ns(), Median(both.hosts(0).total()).low_ns());
}

TEST(StoredConfidenceTest, ThreeIntervalsAreTooFew) {
  const v1::PhaseReport phase = ReportOf(TwoWorkers()).phases(0);
  for (const v1::HostReport& host : phase.hosts()) {
    for (const v1::Percentile& p : host.total().percentiles()) EXPECT_FALSE(p.has_low_ns());
  }
}

TEST(StoredConfidenceTest, APhaseOfTooManyIntervalsIsNotRead) {
  Stored data = Hosts(2, Even);
  data.phases[0].workers[0].result.set_intervals(limits::kReportHostIntervals);
  const v1::PhaseReport phase = ReportOf(data).phases(0);
  EXPECT_FALSE(Median(phase.hosts(0).total()).has_low_ns());
  EXPECT_EQ(phase.p99_spread_worst(), 0);
}

TEST(StoredConfidenceTest, MoreHostsHaveFewerBlocksAndTooManyNone) {
  const Stored data = Hosts(2, Even);
  v1::PhaseReport phase = ReportOf(data).phases(0);
  // The total of a host with one kind of operation takes nothing of its own.
  size_t numbers = 0;
  for (v1::HostReport& host : *phase.mutable_hosts()) {
    v1::OperationReport* o = host.mutable_workloads(0)->mutable_operations(0);
    numbers += TailCounts::NumbersOfBlock(*o);
    for (v1::Percentile& p : *o->mutable_percentiles()) {
      p.clear_low_ns();
      p.clear_high_ns();
    }
  }
  const auto median = [&] { return Median(phase.hosts(0).workloads(0).operations(0)); };
  constexpr size_t kMin = StoredConfidence::kMinSeriesBlocks;
  EXPECT_TRUE(StoredConfidence(data.phases[0], &phase, kMin * numbers - 1).empty());
  StoredConfidence few(data.phases[0], &phase, kMin * numbers);
  ASSERT_FALSE(few.empty());
  for (const auto& [worker, intervals] : data.intervals) {
    for (const v1::IntervalSample& interval : intervals) few.Add(worker, interval);
  }
  EXPECT_FALSE(median().has_low_ns());
  few.Finish();
  EXPECT_TRUE(median().has_low_ns());
  EXPECT_TRUE(Median(phase.hosts(0).total()).has_low_ns());
}

}  // namespace
}  // namespace lockstep::controller
