#include "controller/analysis/live_silence.h"

#include <cmath>
#include <random>

#include "gtest/gtest.h"
#include "tests/controller/analysis/stored_phases.h"

namespace lockstep::controller {
namespace {

constexpr int64_t kSecondNs = 1000000000;

// Seconds of a load, one after the other.
class LiveSeconds {
 public:
  explicit LiveSeconds(const v1::RunPhase& load) : load_(load), silence_(load, kSecondNs) {}

  // From then on, this workload has ended on the worker.
  void End(uint32_t worker, uint32_t workload, double seconds) {
    ends_[{worker, workload}] = std::llround(seconds * 1e9);
  }
  // The next second: I/Os by worker and workload. A worker without an entry has no workload.
  LiveSilence::Found Add(const std::vector<std::vector<uint64_t>>& operations,
                         v1::IntervalClass interval_class = v1::INTERVAL_CLASS_MEASURED) {
    measure::MergedInterval merged;
    merged.interval = second_;
    merged.interval_class = interval_class;
    merged.end_seconds = second_ + 1;
    for (uint32_t worker = 0; worker < operations.size(); ++worker) {
      measure::MergedInterval::Part& part = merged.workers[worker];
      part.begin_seconds = second_;
      part.seconds = 1;
      v1::IntervalSample sample;
      sample.set_begin_ns(second_ * kSecondNs);
      sample.set_end_ns((second_ + 1) * kSecondNs);
      for (uint32_t w = 0; w < operations[worker].size(); ++w) {
        v1::WorkloadSample* workload = sample.add_workloads();
        workload->set_workload(w);
        const auto end = ends_.find({worker, w});
        if (end != ends_.end()) workload->set_ended_ns(end->second);
        if (operations[worker][w] == 0) continue;
        part.operations += operations[worker][w];
        part.workloads.emplace_back(w, operations[worker][w]);
        merged.kind_latencies[{w, v1::OPERATION_KIND_READ}] = {
            {common::BucketOf(1000000), operations[worker][w]}};
      }
      silence_.Learn(worker, sample);
    }
    ++second_;
    return silence_.Add(merged);
  }
  // Of a load with one workload.
  LiveSilence::Found AddOne(const std::vector<uint64_t>& operations) {
    std::vector<std::vector<uint64_t>> by_workload;
    for (const uint64_t count : operations) by_workload.push_back({count});
    return Add(by_workload);
  }

 private:
  const v1::RunPhase load_;
  LiveSilence silence_;
  uint32_t second_ = 0;
  std::map<std::pair<uint32_t, uint32_t>, int64_t> ends_;
};

v1::RunPhase LoadOfWorkloads(int count) {
  v1::RunPhase load;
  for (int w = 0; w < count; ++w) load.add_workloads();
  return load;
}

TEST(LiveSilenceTest, HostsThatStopAreCountedWithTheirTime) {
  LiveSeconds live(LoadOfWorkloads(1));
  LiveSilence::Found found = live.AddOne({100, 100, 100});
  EXPECT_EQ(found.hosts, 3u);
  EXPECT_EQ(found.silent, 0u);
  EXPECT_DOUBLE_EQ(found.seconds, 0);
  found = live.AddOne({100, 0, 100});
  EXPECT_EQ(found.silent, 1u);
  EXPECT_DOUBLE_EQ(found.seconds, 1);
  found = live.AddOne({0, 0, 0});
  EXPECT_EQ(found.silent, 3u);
  EXPECT_DOUBLE_EQ(found.seconds, 1) << "for which all of them complete none";
  found = live.AddOne({0, 0, 0});
  EXPECT_DOUBLE_EQ(found.seconds, 2);
  found = live.AddOne({1, 1, 1});
  EXPECT_EQ(found.silent, 0u);
}

TEST(LiveSilenceTest, WithALowRateAnEmptyIntervalIsChance) {
  LiveSeconds live(LoadOfWorkloads(1));
  for (uint32_t k = 0; k < 5; ++k) live.AddOne({2});
  // Ten I/Os were done, and 12.3 must be missing.
  for (uint32_t k = 5; k < 11; ++k) EXPECT_EQ(live.AddOne({0}).silent, 0u) << k;
  const LiveSilence::Found found = live.AddOne({0});
  EXPECT_EQ(found.silent, 1u);
  EXPECT_DOUBLE_EQ(found.seconds, 7);
}

// After ten I/Os a lower level is known. Before it, the first ones are I/Os within an outage.
TEST(LiveSilenceTest, AtALowerLevelEmptyIntervalsAreNoSilence) {
  LiveSeconds live(LoadOfWorkloads(1));
  for (uint32_t k = 0; k < 1500; ++k) live.AddOne({1000});  // more than there are points
  for (uint32_t k = 0; k < 20; ++k) {
    EXPECT_EQ(live.AddOne({0}).silent, k < 10 ? 1u : 0u) << k;
    live.AddOne({k < 10 || k % 2 == 0 ? 1u : 2u});
  }
  // It stops for much longer than this level explains.
  for (uint32_t k = 0; k < 60; ++k) live.AddOne({0});
  LiveSilence::Found found = live.AddOne({0});
  EXPECT_EQ(found.silent, 1u);
  EXPECT_DOUBLE_EQ(found.seconds, 61);
  // Back at its first rate, it has outages at once.
  for (uint32_t k = 0; k < 10; ++k) live.AddOne({1000});
  found = live.AddOne({0});
  EXPECT_EQ(found.silent, 1u);
  EXPECT_DOUBLE_EQ(found.seconds, 1);
}

TEST(LiveSilenceTest, BeforeTheLoadBeginsNobodyIsSilent) {
  v1::RunPhase load = LoadOfWorkloads(1);
  load.mutable_workloads(0)->set_start_delay_ns(2500000000);
  LiveSeconds live(load);
  for (uint32_t k = 0; k < 3; ++k) EXPECT_EQ(live.AddOne({0}).silent, 0u) << k;
  const LiveSilence::Found found = live.AddOne({0});
  EXPECT_EQ(found.silent, 1u);
  EXPECT_DOUBLE_EQ(found.seconds, 1) << "of whole intervals";
}

TEST(LiveSilenceTest, StorageThatIsStuckFromTheStartIsSilent) {
  LiveSeconds live(LoadOfWorkloads(1));
  const LiveSilence::Found found = live.AddOne({0, 0});
  EXPECT_EQ(found.silent, 2u);
  EXPECT_DOUBLE_EQ(found.seconds, 1);
}

// Both hosts together are to do one I/O in ten seconds, or 100 in each.
TEST(LiveSilenceTest, BeforeAnyIoTheJobsOwnRateSaysWhatIsExpected) {
  v1::RunPhase load = LoadOfWorkloads(1);
  load.mutable_workloads(0)->mutable_open_loop()->set_rate_per_second(0.1);
  LiveSeconds slow(load);
  for (uint32_t k = 0; k < 20; ++k) EXPECT_EQ(slow.AddOne({0, 0}).silent, 0u) << k;
  load.mutable_workloads(0)->mutable_open_loop()->set_rate_per_second(100);
  LiveSeconds fast(load);
  EXPECT_EQ(fast.AddOne({0, 0}).silent, 2u);
  load.mutable_workloads(0)->clear_open_loop();
  load.mutable_workloads(0)->set_max_iops(0.1);
  LiveSeconds limited(load);
  EXPECT_EQ(limited.AddOne({0, 0}).silent, 0u);
}

TEST(LiveSilenceTest, AHostWithoutAWorkloadIsNotSilentAndOneThatNeverBeginsIs) {
  LiveSeconds live(LoadOfWorkloads(1));
  for (uint32_t k = 0; k < 3; ++k) {
    const LiveSilence::Found found = live.Add({{100}, {}, {0}});
    EXPECT_EQ(found.hosts, 3u);
    EXPECT_EQ(found.silent, 1u) << "the others did enough to tell";
    EXPECT_DOUBLE_EQ(found.seconds, k + 1);
  }
}

TEST(LiveSilenceTest, OnlySilencesAsLongAsThePausesOfThreadsAreNone) {
  v1::RunPhase load = LoadOfWorkloads(1);
  load.mutable_workloads(0)->set_think_time_ns(kSecondNs);
  LiveSeconds live(load);
  live.AddOne({100});
  EXPECT_EQ(live.AddOne({0}).silent, 0u);
  EXPECT_EQ(live.AddOne({0}).silent, 0u);
  EXPECT_EQ(live.AddOne({0}).silent, 1u);
}

TEST(LiveSilenceTest, DelaysOfTheAccessPatternArePauses) {
  v1::RunPhase load = LoadOfWorkloads(1);
  load.mutable_workloads(0)->add_access()->set_delay_ns(kSecondNs);
  LiveSeconds live(load);
  live.AddOne({100});
  EXPECT_EQ(live.AddOne({0}).silent, 0u);
  EXPECT_EQ(live.AddOne({0}).silent, 0u);
  EXPECT_EQ(live.AddOne({0}).silent, 1u);
}

TEST(LiveSilenceTest, AHostIsJudgedByTheWorkloadsThatHaveNotEnded) {
  v1::RunPhase load = LoadOfWorkloads(2);
  load.mutable_workloads(0)->set_operations(9000);
  LiveSeconds live(load);
  live.End(0, 0, 0.6);
  live.Add({{9000, 100}, {9000}});
  live.End(1, 0, 1.5);
  LiveSilence::Found found = live.Add({{0, 100}, {4000}});
  EXPECT_EQ(found.silent, 0u);
  found = live.Add({{0, 0}, {0}});
  EXPECT_EQ(found.silent, 1u) << "the second host has nothing left to do";
  EXPECT_DOUBLE_EQ(found.seconds, 1);
}

// Samples out of the store do not say whether a workload has ended.
TEST(LiveSilenceTest, AnEndThatIsNotKnownMayHaveBeen) {
  v1::RunPhase load = LoadOfWorkloads(1);
  load.mutable_workloads(0)->set_operations(9000);
  LiveSeconds live(load);
  live.Add({{100}, {100}});
  EXPECT_EQ(live.Add({{}, {100}}).silent, 0u);
}

TEST(LiveSilenceTest, ADrainIsNotJudged) {
  LiveSeconds live(LoadOfWorkloads(1));
  live.AddOne({100});
  EXPECT_EQ(live.Add({{0}}, v1::INTERVAL_CLASS_DRAIN).silent, 0u);
}

// For phases that end now: a host of any rate stops for a while, at the end or earlier, beside one
// that goes on and one that may complete nothing at all.
TEST(LiveSilenceTest, TheLiveLineAndTheReportSayTheSame) {
  static constexpr uint64_t kRates[] = {0, 1, 3, 8, 20, 200};
  std::mt19937_64 random(7);
  const auto among = [&](uint64_t count) { return random() % count; };
  uint32_t all = 0;
  for (int round = 0; round < 300; ++round) {
    std::vector<std::vector<uint64_t>> hosts(4, std::vector<uint64_t>(10, 200));
    hosts[1].assign(10, kRates[among(std::size(kRates))]);
    hosts[2].assign(10, kRates[among(std::size(kRates))]);
    const uint64_t silent = among(7);
    const uint64_t begin = among(2) == 0 ? 10 - silent : among(10 - silent);
    for (uint64_t k = begin; k < begin + silent; ++k) hosts[1][k] = 0;
    const v1::PhaseReport phase =
        ReportOf(FourHosts([&](uint32_t h, uint32_t k) { return hosts[h][k]; })).phases(0);
    uint32_t to_the_end = 0;
    for (const v1::Outage& outage : phase.outages()) {
      if (outage.end_seconds() == 10) to_the_end += outage.hosts_count();
    }
    LiveSeconds live(LoadOfWorkloads(1));
    LiveSilence::Found found;
    for (uint32_t k = 0; k < 10; ++k) {
      found = live.AddOne({hosts[0][k], hosts[1][k], hosts[2][k], hosts[3][k]});
    }
    EXPECT_EQ(found.silent, to_the_end) << round;
    all += to_the_end;
  }
  EXPECT_GT(all, 50u);
}

}  // namespace
}  // namespace lockstep::controller
