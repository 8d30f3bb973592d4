// Shares of time in which closed loops stood still, and what their latencies hide.

#include <array>
#include <vector>

#include "absl/strings/match.h"
#include "controller/analysis/omission_rule.h"
#include "tests/controller/analysis/stored_phases.h"

namespace lockstep::controller {
namespace {

// Gaps of this class are of 1 ms (2^19 ns), 100 ms (2^26) and 300 ms (2^28).
constexpr int kShort = 19;
constexpr int kLong = 26;
constexpr int kLonger = 28;

// What the host's only workload measured: `fast` I/Os of 1 ms, `slow` ones of 100 ms, and the time
// in gaps of `long_class`, of 10 s in all.
struct LoopFigures {
  int fast = 9900;
  int slow = 0;
  int64_t stalled_ns = 0;
  uint64_t slow_ns = 100000000;
  int long_class = kLong;
};

void SetLoop(const LoopFigures& measured, measure::WorkerPhaseData* worker) {
  std::vector<uint64_t> latencies(measured.fast, 1000000);
  for (int i = 0; i < measured.slow; ++i) latencies.push_back(measured.slow_ns);
  v1::WorkloadResult* result = worker->result.mutable_workloads(0);
  *result->mutable_measured(0) = Counters(v1::OPERATION_KIND_READ, latencies);
  result->clear_gaps_ns();
  for (int i = 0; i <= measured.long_class; ++i) result->add_gaps_ns(0);
  result->set_gaps_ns(kShort, 10000000000 - measured.stalled_ns);
  result->set_gaps_ns(measured.long_class, measured.stalled_ns);
}

// Four hosts with one workload; `still` is host 2's.
Stored OneStands(const LoopFigures& still) {
  Stored data = FourHosts([](uint32_t, uint32_t) { return 200; });
  for (measure::WorkerPhaseData& worker : data.phases[0].workers) {
    SetLoop(worker.worker_index == 2 ? still : LoopFigures(), &worker);
  }
  return data;
}

// The phase's workload, in both places where the data has it.
v1::Workload& WorkloadOf(Stored* data) {
  return *data->phases[0].phase.spec.mutable_run()->mutable_workloads(0);
}

// Its threads waited for their rate for so long, and thought.
void AddWaits(int64_t rate_ns, int64_t think_ns, Stored* data) {
  for (measure::WorkerPhaseData& worker : data->phases[0].workers) {
    v1::ThreadResult* thread = worker.result.add_threads();
    thread->set_operations(worker.result.workloads(0).measured(0).operations());
    thread->set_execution_time_ns(10000000000);
    thread->set_rate_time_ns(rate_ns);
    thread->set_think_time_ns(think_ns);
  }
}

// A loop that does 1 ms I/Os, and stands still for a tenth of the time, which one I/O shows.
TEST(OmissionTest, AStallThatAClosedLoopHidesIsSaid) {
  Stored data = TwoWorkers();
  std::vector<uint64_t> latencies(9000, 1000000);
  for (int i = 0; i < 10; ++i) latencies.push_back(100000000);
  for (measure::WorkerPhaseData& worker : data.phases[0].workers) {
    *worker.result.mutable_workloads(0)->mutable_measured(0) =
        Counters(v1::OPERATION_KIND_READ, latencies);
    // At a depth of one a gap is the I/O: of 1 ms (2^19 ns), and of 100 ms (2^26 ns).
    v1::WorkloadResult* result = worker.result.mutable_workloads(0);
    for (int i = 0; i < 27; ++i) {
      result->add_gaps_ns(i == 19 ? 9000000000 : i == 26 ? 1000000000 : 0);
    }
  }
  const v1::PhaseReport phase = ReportOf(data).phases(0);
  ASSERT_EQ(phase.omissions_size(), 1);
  EXPECT_DOUBLE_EQ(phase.hosts(1).stalled_ratio(), 0.1);
  EXPECT_NEAR(phase.omissions(0).stalled_ratio(), 0.1, 0.01);
  EXPECT_NEAR(phase.omissions(0).p99_ns(), 1e6, 1e4);
  // At an even pace one in a hundred of 10,000 I/Os would have waited for 90 ms or longer.
  EXPECT_NEAR(phase.omissions(0).corrected_p99_ns(), 90e6, 2e6);
  // A host without any gap has no share of it: not 0, as if it had been seen never to stall.
  Stored without = data;
  without.phases[0].workers[1].result.mutable_workloads(0)->clear_gaps_ns();
  const v1::PhaseReport one = ReportOf(without).phases(0);
  EXPECT_TRUE(one.hosts(0).has_stalled_ratio());
  EXPECT_FALSE(one.hosts(1).has_stalled_ratio());
  EXPECT_EQ(ReportOf(TwoWorkers()).phases(0).omissions_size(), 0);
  // If other I/Os of the queue complete during that time, nothing stands still.
  for (measure::WorkerPhaseData& worker : data.phases[0].workers) {
    v1::WorkloadResult* result = worker.result.mutable_workloads(0);
    result->set_gaps_ns(19, 10000000000);
    result->set_gaps_ns(26, 0);
  }
  EXPECT_EQ(ReportOf(data).phases(0).omissions_size(), 0);
}

// 15 % of one host's time are less than 4 % of all.
TEST(OmissionTest, AHostThatStandsStillIsSeenAmongOthers) {
  const v1::PhaseReport phase = ReportOf(OneStands({8500, 15, 1500000000})).phases(0);
  ASSERT_EQ(phase.omissions_size(), 1);
  const v1::Omission& omission = phase.omissions(0);
  ASSERT_EQ(omission.hosts_size(), 1);
  EXPECT_EQ(omission.hosts(0), "node2");
  EXPECT_DOUBLE_EQ(omission.stalled_ratio(), 0.15);
  EXPECT_NEAR(omission.p99_ns(), 1e6, 1e4);
  // Of 10,000 I/Os at an even pace 15 × 99 would have waited, evenly for up to 100 ms.
  EXPECT_NEAR(omission.corrected_p99_ns(), 94e6, 2e6);
  EXPECT_TRUE(absl::StrContains(omission.sentence(), "of w on node2 completed nothing for 15 %"))
      << omission.sentence();
  EXPECT_TRUE(absl::StrContains(omission.sentence(), "their p99 would be")) << omission.sentence();
  EXPECT_NEAR(phase.hosts(2).corrected_p99_ns(), omission.corrected_p99_ns(), 1);
  EXPECT_DOUBLE_EQ(phase.hosts(2).stalled_ratio(), 0.15);
  // Without stalls it is the measured one.
  EXPECT_NEAR(phase.hosts(1).corrected_p99_ns(), 1e6, 1e4);
  EXPECT_DOUBLE_EQ(phase.workloads(0).stalled_ratio(), 0.0375);
  EXPECT_DOUBLE_EQ(phase.stalled_ratio(), 0.0375);
  // 1,485 of 39,700 I/Os: one in a hundred of all waited for more than 74 ms.
  EXPECT_NEAR(phase.workloads(0).corrected_p99_ns(), 74e6, 2e6);
  EXPECT_DOUBLE_EQ(phase.corrected_p99_ns(), phase.workloads(0).corrected_p99_ns());
}

TEST(OmissionTest, TooFewMissingIosMoveNoPercentile) {
  const v1::PhaseReport phase = ReportOf(OneStands({9910, 1, 90000000})).phases(0);
  EXPECT_EQ(phase.omissions_size(), 0);
  EXPECT_DOUBLE_EQ(phase.hosts(2).stalled_ratio(), 0.009);
  EXPECT_NEAR(phase.hosts(2).corrected_p99_ns(), 1e6, 1e4);
}

// At 500/s and a depth of 1 an I/O begins every 2 ms; the device stands still for 300 ms of each
// second.
TEST(OmissionTest, ALoopWithARateLimitHasItsOwnPace) {
  Stored data = OneStands({3490, 10, 3000000000, 300000000, kLonger});
  WorkloadOf(&data).set_max_iops(2000);
  WorkloadOf(&data).set_threads(1);
  AddWaits(3500000000, 0, &data);
  v1::PhaseReport phase = ReportOf(data).phases(0);
  ASSERT_EQ(phase.omissions_size(), 1);
  EXPECT_DOUBLE_EQ(phase.hosts(2).stalled_ratio(), 0.3);
  EXPECT_NEAR(phase.omissions(0).p99_ns(), 1e6, 1e4);
  // Of 4,990 I/Os, 1,490 would have waited, evenly for up to 300 ms.
  EXPECT_NEAR(phase.omissions(0).corrected_p99_ns(), 290e6, 5e6);
  EXPECT_TRUE(absl::StrContains(phase.omissions(0).sentence(),
                                "20 times the usual time of an I/O and its wait"))
      << phase.omissions(0).sentence();
  // At 12/s for each host the pauses of the rate are longer than a third of the stalls.
  WorkloadOf(&data).set_max_iops(48);
  phase = ReportOf(data).phases(0);
  EXPECT_EQ(phase.omissions_size(), 1) << "2 × 83 ms are shorter than 300 ms";
  WorkloadOf(&data).set_max_iops(24);
  phase = ReportOf(data).phases(0);
  EXPECT_EQ(phase.omissions_size(), 0);
  EXPECT_DOUBLE_EQ(phase.hosts(2).stalled_ratio(), 0);
}

TEST(OmissionTest, PausesThatTheJobAsksForAreNoStalls) {
  // After each 100 I/Os a thread thinks for 200 ms: on average 2 ms for each I/O.
  Stored data = OneStands({3300, 0, 6600000000, 0, 27});
  WorkloadOf(&data).set_think_time_ns(200000000);
  WorkloadOf(&data).set_think_every(100);
  AddWaits(0, 6600000000, &data);
  v1::PhaseReport phase = ReportOf(data).phases(0);
  EXPECT_DOUBLE_EQ(phase.hosts(2).stalled_ratio(), 0);
  EXPECT_EQ(phase.omissions_size(), 0);
  // The access pattern pauses for longer than the thread thinks.
  data = OneStands({3300, 0, 6600000000, 0, 27});
  WorkloadOf(&data).set_think_time_ns(1000000);
  v1::AccessLine* line = WorkloadOf(&data).add_access();
  line->set_block_size_bytes(4096);
  line->set_delay_ns(200000000);
  AddWaits(0, 6600000000, &data);
  EXPECT_DOUBLE_EQ(ReportOf(data).phases(0).hosts(2).stalled_ratio(), 0);
  // A limit of reads alone holds the writes between them back, too.
  data = OneStands({6600, 0, 3300000000, 0, 27});
  WorkloadOf(&data).mutable_read_limit()->set_iops(20);
  WorkloadOf(&data).set_threads(1);
  AddWaits(3300000000, 0, &data);
  phase = ReportOf(data).phases(0);
  EXPECT_DOUBLE_EQ(phase.hosts(2).stalled_ratio(), 0);
  // Pauses of the access pattern alone, and waits for other workloads, are no usual time of an I/O.
  data = OneStands({8500, 15, 1500000000});
  AddWaits(0, 1000000, &data);
  EXPECT_FALSE(ReportOf(data).phases(0).hosts(2).has_stalled_ratio());
  data = OneStands({8500, 15, 1500000000});
  WorkloadOf(&data).set_flow(8);
  phase = ReportOf(data).phases(0);
  EXPECT_FALSE(phase.hosts(2).has_stalled_ratio() || phase.has_stalled_ratio());
  EXPECT_FALSE(phase.hosts(2).has_corrected_p99_ns() || phase.has_corrected_p99_ns());
}

// A queue that the rate fills slowly holds all the I/Os of a stall.
TEST(OmissionTest, ADeepQueueUnderALimitOmitsNothing) {
  Stored data = OneStands({3490, 10, 3000000000, 300000000, kLonger});
  WorkloadOf(&data).set_max_iops(2000);
  WorkloadOf(&data).set_threads(1);
  WorkloadOf(&data).set_queue_depth(256);
  AddWaits(3500000000, 0, &data);
  const v1::PhaseReport phase = ReportOf(data).phases(0);
  EXPECT_EQ(phase.omissions_size(), 0);
  EXPECT_DOUBLE_EQ(phase.hosts(2).stalled_ratio(), 0);
}

// Gaps of 2^25 ns and longer are all of more than twenty times 1 ms; of those of 2^24 some are not.
TEST(OmissionTest, AGapThatMayBeTooShortIsNoStall) {
  std::array<int64_t, 64> gaps{};
  gaps[19] = 900;
  gaps[24] = 100;
  StallTime short_ones;
  short_ones.Add(gaps, {1e6});
  EXPECT_EQ(short_ones.ratio(), 0);
  gaps[24] = 0;
  gaps[25] = 100;
  StallTime long_ones;
  long_ones.Add(gaps, {1e6});
  EXPECT_DOUBLE_EQ(long_ones.ratio(), 0.1);
  EXPECT_TRUE(long_ones.is_much());
  StallTime with_pauses;
  with_pauses.Add(gaps, {1e6, 1e7});
  EXPECT_EQ(with_pauses.ratio(), 0);
  // Hits and misses of a cache: the misses take the time, and the p99 is theirs already.
  common::Histogram latencies;
  for (int i = 0; i < 1000; ++i) latencies.Record(i % 10 == 0 ? 50000000 : 1000000);
  EXPECT_FALSE(OmittedBeside(latencies, WithMissing(latencies, 1e6), long_ones).has_value());
}

// An I/O of ten seconds among those of a millisecond stands for 9,999 others, evenly below it.
TEST(OmissionTest, AllIosThatAreMissingAreAdded) {
  common::Histogram latencies;
  latencies.Record(10000000000);
  const double latency = latencies.Percentile(50);
  const common::Histogram all = WithMissing(latencies, latency / 10000);
  EXPECT_NEAR(static_cast<double>(all.count()), 10000, 1);
  for (const double percent : {10.0, 50.0, 90.0, 99.0}) {
    EXPECT_NEAR(all.Percentile(percent), latency * percent / 100, 0.02 * latency) << percent;
  }
  // A few are added one by one: 3, 2 and 1 ms.
  common::Histogram one;
  one.Record(4000000);
  EXPECT_EQ(WithMissing(one, 1000000).count(), one.Percentile(50) >= 4e6 ? 4u : 3u);
}

}  // namespace
}  // namespace lockstep::controller
