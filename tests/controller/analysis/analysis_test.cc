#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "controller/analysis/cross_check.h"
#include "controller/analysis/expectations.h"
#include "controller/analysis/fairness.h"
#include "controller/report/kind_sums.h"
#include "tests/controller/analysis/stored_phases.h"

namespace lockstep::controller {
namespace {

constexpr double kGiB = 1073741824;

TEST(FairnessTest, JainByHand) {
  EXPECT_DOUBLE_EQ(FairnessOf("x", {5, 5, 5, 5}).jain(), 1);
  EXPECT_DOUBLE_EQ(FairnessOf("x", {1, 0, 0, 0}).jain(), 0.25);
  EXPECT_DOUBLE_EQ(FairnessOf("x", {1, 2, 3}).jain(), 36.0 / 42);
  EXPECT_DOUBLE_EQ(FairnessOf("x", {1, 2, 3}).max_over_min(), 3);
  // Without I/O there is nothing to share, and nothing is a multiple of 0.
  EXPECT_FALSE(FairnessOf("x", {}).has_jain());
  EXPECT_FALSE(FairnessOf("x", {}).has_mean());
  EXPECT_FALSE(FairnessOf("x", {0, 0}).has_jain());
  EXPECT_FALSE(FairnessOf("x", {1, 0}).has_max_over_min());
  // One alone shares nothing.
  const v1::Fairness alone = FairnessOf("x", {5});
  EXPECT_FALSE(alone.has_jain() || alone.has_max_over_min() || alone.has_variation());
  EXPECT_EQ(alone.count(), 1u);
  EXPECT_DOUBLE_EQ(alone.mean(), 5);
  EXPECT_DOUBLE_EQ(MeanDeviationOf({2, 4, 4, 4, 5, 5, 7, 9}).deviation, 2);
}

CrossCheckInput Input(double engine_read, double device_read, double engine_write = 0,
                      double device_write = 0) {
  CrossCheckInput in;
  in.engine_read_bytes = engine_read;
  in.device_read_bytes = device_read;
  in.engine_write_bytes = engine_write;
  in.device_write_bytes = device_write;
  in.block_bytes = 4096;
  in.device_reads = device_read / 4096;
  in.device_writes = device_write / 4096;
  return in;
}

TEST(CrossCheckTest, Verdicts) {
  EXPECT_EQ(CrossCheckOf(Input(kGiB, kGiB * 1.001)).verdict(), v1::CrossCheck::VERDICT_AGREE);
  CrossCheckInput cached = Input(kGiB, kGiB / 10);
  cached.buffered = true;
  EXPECT_EQ(CrossCheckOf(cached).verdict(), v1::CrossCheck::VERDICT_PAGE_CACHE);
  EXPECT_NE(CrossCheckOf(cached).reason().find("the page cache served the rest"),
            std::string::npos);
  cached.buffered = false;
  EXPECT_EQ(CrossCheckOf(cached).verdict(), v1::CrossCheck::VERDICT_NOT_ATTRIBUTABLE);
  EXPECT_EQ(CrossCheckOf(Input(0, 0, kGiB, 3 * kGiB)).verdict(), v1::CrossCheck::VERDICT_AMPLIFIED);
  EXPECT_DOUBLE_EQ(CrossCheckOf(Input(0, 0, kGiB, 3 * kGiB)).factor(), 3);
  CrossCheckInput merged = Input(0, 0, kGiB, kGiB);
  merged.device_writes = kGiB / (504 * 1024);
  EXPECT_EQ(CrossCheckOf(merged).verdict(), v1::CrossCheck::VERDICT_COALESCED);
  EXPECT_TRUE(absl::StrContains(CrossCheckOf(merged).reason(),
                                "in requests of 504 KiB instead of 4 KiB (merged ×126.0)"))
      << CrossCheckOf(merged).reason();
  // 300 requests of 4 KiB, and 216 of another program, of 16 KiB: large ones beside them are no
  // merged ones.
  CrossCheckInput others = Input(0, 0, 300 * 4096, 300 * 4096 + 216 * 16384);
  others.device_writes = 516;
  EXPECT_EQ(CrossCheckOf(others).verdict(), v1::CrossCheck::VERDICT_AGREE);
  // Both directions are looked at, and other runs on the device are named before causes are guessed
  // at.
  const std::string reads =
      CrossCheckOf(Input(0.56 * kGiB, 1.88 * kGiB, 0.1 * kGiB, 0.1 * kGiB)).reason();
  EXPECT_NE(reads.find("read"), std::string::npos) << reads;
  CrossCheckInput two = Input(0, 0, kGiB, 2.02 * kGiB);
  two.concurrent = "run 1234abcd";
  EXPECT_NE(CrossCheckOf(two).reason().find("1234abcd"), std::string::npos)
      << CrossCheckOf(two).reason();
  EXPECT_EQ(CrossCheckOf(two).reason().find("other programs"), std::string::npos)
      << CrossCheckOf(two).reason();
  // Reads that the load did not have the kernel make are no read-ahead of its own.
  CrossCheckInput beside = Input(0.1 * kGiB, kGiB);
  EXPECT_NE(CrossCheckOf(beside).reason().find("read-ahead"), std::string::npos);
  beside.own_read_bytes = 0.1 * kGiB;
  beside.own_is_here = true;
  EXPECT_NE(CrossCheckOf(beside).reason().find("other programs read them, because the kernel "
                                               "counts 102 MiB for the load itself"),
            std::string::npos)
      << CrossCheckOf(beside).reason();
  EXPECT_EQ(CrossCheckOf(beside).verdict(), v1::CrossCheck::VERDICT_NOT_ATTRIBUTABLE);
  beside.own_read_bytes = kGiB;
  EXPECT_NE(CrossCheckOf(beside).reason().find("read-ahead"), std::string::npos);
  EXPECT_EQ(CrossCheckOf(beside).verdict(), v1::CrossCheck::VERDICT_AMPLIFIED);
  CrossCheckInput spread = Input(kGiB, kGiB);
  spread.attributable = false;
  EXPECT_EQ(CrossCheckOf(spread).verdict(), v1::CrossCheck::VERDICT_NOT_ATTRIBUTABLE);
}

TEST(CrossCheckTest, CountersOfAShorterTimeShowNoPageCache) {
  CrossCheckInput in = Input(0, 0, kGiB, 0.3 * kGiB);
  in.buffered = true;
  EXPECT_EQ(CrossCheckOf(in).verdict(), v1::CrossCheck::VERDICT_PAGE_CACHE);
  in.within = "the counters are of 650 ms, the measured time of 1 s";
  EXPECT_EQ(CrossCheckOf(in).verdict(), v1::CrossCheck::VERDICT_NOT_ATTRIBUTABLE);
  EXPECT_EQ(CrossCheckOf(in).reason(),
            "the device wrote 307 MiB of the engines' 1 GiB by its counters, but the counters are "
            "of 650 ms, the measured time of 1 s: they may have missed the rest");
  // The kernel's count of the load itself is of its whole time.
  in.engine_read_bytes = kGiB;
  in.own_read_bytes = 0;
  in.own_is_here = true;
  EXPECT_EQ(CrossCheckOf(in).verdict(), v1::CrossCheck::VERDICT_PAGE_CACHE);
  EXPECT_TRUE(absl::StrContains(CrossCheckOf(in).reason(), "they may have missed the rest"));
  // The share is the kernel's, not that of a device whose count is of a part of the time.
  in.device_read_bytes = 0.5 * kGiB;
  in.own_read_bytes = 0.75 * kGiB;
  EXPECT_TRUE(absl::StartsWith(CrossCheckOf(in).reason(),
                               "the kernel counted 768 MiB of the engines' 1 GiB for the load "
                               "itself (/proc/self/io): the page cache served the rest"))
      << CrossCheckOf(in).reason();
}

TEST(CrossCheckTest, OthersBytesAreNoAmplification) {
  CrossCheckInput in = Input(0, 0, kGiB, 1.5 * kGiB);
  EXPECT_EQ(CrossCheckOf(in).verdict(), v1::CrossCheck::VERDICT_AMPLIFIED);
  in.others = "dd[7] wrote 500 MiB";
  in.others_write_bytes = 0.49 * kGiB;
  EXPECT_EQ(CrossCheckOf(in).verdict(), v1::CrossCheck::VERDICT_NOT_ATTRIBUTABLE);
  EXPECT_TRUE(absl::StrContains(CrossCheckOf(in).reason(),
                                "moved bytes at the same time (dd[7] wrote 500 MiB), and these may "
                                "be theirs"))
      << CrossCheckOf(in).reason();
  // They explain a part: the rest is the load's.
  in.device_write_bytes = 3 * kGiB;
  in.others_write_bytes = 0.5 * kGiB;
  EXPECT_EQ(CrossCheckOf(in).verdict(), v1::CrossCheck::VERDICT_AMPLIFIED);
  EXPECT_DOUBLE_EQ(CrossCheckOf(in).factor(), 2.5);
  EXPECT_TRUE(absl::StrContains(CrossCheckOf(in).reason(), "up to 512 MiB of them"))
      << CrossCheckOf(in).reason();
  // A load that only reads amplifies no write.
  EXPECT_EQ(CrossCheckOf(Input(kGiB, kGiB, 0, kGiB)).verdict(),
            v1::CrossCheck::VERDICT_NOT_ATTRIBUTABLE);
  // Reads that the kernel counts for the load are the load's, whatever others read beside it.
  CrossCheckInput ahead = Input(kGiB, 3 * kGiB);
  ahead.own_read_bytes = 2 * kGiB;
  ahead.own_is_here = true;
  EXPECT_EQ(CrossCheckOf(ahead).verdict(), v1::CrossCheck::VERDICT_AMPLIFIED);
  EXPECT_DOUBLE_EQ(CrossCheckOf(ahead).factor(), 2);
}

TEST(ReportTest, FiguresByHand) {
  const v1::Report report = ReportOf(TwoWorkers());
  const v1::PhaseReport& phase = report.phases(0);
  EXPECT_DOUBLE_EQ(phase.total().iops(), 400);
  EXPECT_DOUBLE_EQ(phase.total().bytes_per_second(), 400 * 4096);
  EXPECT_DOUBLE_EQ(phase.hosts(0).iops(), 100);
  EXPECT_DOUBLE_EQ(phase.hosts(1).iops(), 300);
  EXPECT_DOUBLE_EQ(phase.fairness(0).jain(), 160000.0 / 200000);
  EXPECT_DOUBLE_EQ(phase.fairness(0).max_over_min(), 3);
  EXPECT_DOUBLE_EQ(phase.thread_fairness().events_avg(), 600);
  EXPECT_DOUBLE_EQ(phase.thread_fairness().events_stddev(), 300);
  // Clocks that differ by milliseconds, starts by 2 µs.
  EXPECT_DOUBLE_EQ(phase.start_skew_ns(), 2000);
  EXPECT_DOUBLE_EQ(phase.start_skew_bound_ns(), 20000);
  // One kernel's device against the sum of both engines.
  ASSERT_EQ(phase.devices_size(), 1);
  EXPECT_EQ(phase.devices(0).cross_check().verdict(), v1::CrossCheck::VERDICT_AGREE);
  EXPECT_EQ(phase.devices(0).hosts_size(), 2);
  EXPECT_DOUBLE_EQ(phase.kernels(0).context_switches_per_io(), 2);
  EXPECT_TRUE(report.expectations_met());
  EXPECT_EQ(report.run().expectations(), "2 of 2 met");
}

TEST(ReportTest, RatesOfAnEarlyFinisherAreComparedOnlyWhileAllRan) {
  Stored data = TwoWorkers();
  // The second host is done after 1.5 s.
  measure::WorkerPhaseData& early = data.phases[0].workers[1];
  data.intervals[1].resize(2);
  data.intervals[1][1].set_end_ns(1500000000);
  early.result.set_last_io_ns(early.result.go_ns() + 1500000000);
  const v1::PhaseReport phase = ReportOf(data).phases(0);
  EXPECT_DOUBLE_EQ(phase.window_end_seconds(), 1);
  EXPECT_DOUBLE_EQ(phase.hosts(0).iops(), 100);
  EXPECT_DOUBLE_EQ(phase.hosts(1).iops(), 300);
  EXPECT_DOUBLE_EQ(phase.first_done_seconds(), 1.5);
  EXPECT_DOUBLE_EQ(phase.last_done_seconds(), 3);
}

TEST(ReportTest, RatesOfKindsAreOverTheWindowOfThePhase) {
  EXPECT_EQ(ReportOf(TwoWorkers()).phases(0).kind_rates_size(), 0) << "one window: sums say it";
  Stored data = TwoWorkers();
  // A second workload of the first host writes from 2 s on, 50 a second. The first reads less then.
  for (v1::PhaseSpec* spec : {data.run.job.mutable_phases(0), &data.phases[0].phase.spec}) {
    v1::Workload* late = spec->mutable_run()->add_workloads();
    *late = spec->run().workloads(0);
    late->set_name("late");
    late->set_read_ratio(0);
    late->set_start_delay_ns(2000000000);
  }
  v1::IntervalSample& last = data.intervals[0][2];
  *last.mutable_workloads(0)->mutable_operations(0) =
      Counters(v1::OPERATION_KIND_READ, std::vector<uint64_t>(10, 500000));
  v1::WorkloadSample* late = last.add_workloads();
  late->set_workload(1);
  *late->add_operations() = Counters(v1::OPERATION_KIND_WRITE, std::vector<uint64_t>(50, 500000));
  v1::PhaseResult& result = data.phases[0].workers[0].result;
  v1::WorkloadResult* written = result.add_workloads();
  written->set_workload(1);
  *written->add_measured() = Counters(v1::OPERATION_KIND_WRITE, std::vector<uint64_t>(50, 500000));
  const v1::PhaseReport phase = ReportOf(data).phases(0);
  EXPECT_DOUBLE_EQ(phase.window_begin_seconds(), 2);
  EXPECT_DOUBLE_EQ(phase.total().iops(), 360);
  EXPECT_DOUBLE_EQ(phase.workloads(0).total().iops(), 370) << "over its own three seconds";
  EXPECT_DOUBLE_EQ(SumOfKind(phase, measure::Operations::kRead).iops, 310);
  EXPECT_DOUBLE_EQ(SumOfKind(phase, measure::Operations::kRead).bytes_per_second, 310 * 4096);
  EXPECT_DOUBLE_EQ(SumOfKind(phase, measure::Operations::kWrite).iops, 50);
  EXPECT_DOUBLE_EQ(SumOfKind(phase, measure::Operations::kTrim).iops, 0);
  // The hosts' parts of these, over the same window: the first one read 100/s before it.
  EXPECT_DOUBLE_EQ(SumOfKind(phase, phase.hosts(0), measure::Operations::kRead).iops, 10);
  EXPECT_DOUBLE_EQ(SumOfKind(phase, phase.hosts(0), measure::Operations::kWrite).iops, 50);
  EXPECT_DOUBLE_EQ(SumOfKind(phase, phase.hosts(1), measure::Operations::kRead).iops, 300);
}

TEST(ReportTest, ALostHostDegradesAndHoldsNoExpectation) {
  Stored data = TwoWorkers();
  data.phases[0].workers[1].has_result = false;
  const v1::Report report = ReportOf(data);
  EXPECT_EQ(report.phases(0).workers_lost(), 1u);
  EXPECT_TRUE(report.phases(0).hosts(1).lost());
  EXPECT_FALSE(report.expectations_met());
}

// One that was lost in an earlier phase, or attempt, is missing all the same.
TEST(ReportTest, AHostThatAPhaseWasBegunWithoutIsMissingFromIt) {
  Stored data = TwoWorkers();
  data.phases[0].workers.resize(1);
  data.phases[0].phase.attempt = 2;
  const v1::Report report = ReportOf(data);
  const v1::PhaseReport& phase = report.phases(0);
  EXPECT_EQ(phase.workers(), 2u);
  EXPECT_EQ(phase.workers_lost(), 1u);
  ASSERT_EQ(phase.hosts_size(), 2);
  EXPECT_TRUE(phase.hosts(1).lost());
  EXPECT_EQ(phase.hosts(1).host(), "node1");
  EXPECT_FALSE(report.expectations_met());
  const std::string remarks = absl::StrJoin(phase.remarks(), "\n");
  EXPECT_TRUE(absl::StrContains(remarks,
                                "DEGRADED: results of 1 of 2 hosts; figures are of those alone; at "
                                "no time are there samples of all"))
      << remarks;
  EXPECT_TRUE(absl::StrContains(remarks, "attempt 2")) << remarks;
}

// The rates of a lost host are over the time in which it is known; its I/O in the device's figures
// has no counterpart.
TEST(ReportTest, ALostHostsRatesAreOverItsOwnTime) {
  Stored data = TwoWorkers();
  data.phases[0].workers[1].has_result = false;
  data.intervals[1].resize(1);
  data.phases[0].workers[1].result.Clear();
  const v1::PhaseReport phase = ReportOf(data).phases(0);
  EXPECT_DOUBLE_EQ(phase.hosts(1).iops(), 300);
  EXPECT_DOUBLE_EQ(phase.total().iops(), 100);
  EXPECT_EQ(phase.start_skew_hosts(), 1u);
  EXPECT_EQ(phase.devices(0).cross_check().verdict(), v1::CrossCheck::VERDICT_NOT_ATTRIBUTABLE);
}

// 0 would be a figure that nobody measured.
TEST(ReportTest, UnknownFiguresAreAbsent) {
  Stored data = TwoWorkers();
  v1::PhaseResult& one = data.phases[0].workers[1].result;
  *one.mutable_workloads(0)->mutable_measured(0) = Counters(v1::OPERATION_KIND_READ, {500000});
  v1::PhaseReport phase = ReportOf(data).phases(0);
  EXPECT_TRUE(phase.hosts(0).has_p99_ns());
  EXPECT_FALSE(phase.hosts(1).has_p50_ns());
  EXPECT_FALSE(phase.hosts(1).has_p99_ns());
  // Of these it is known that there were none.
  EXPECT_TRUE(phase.hosts(1).has_silent_ratio());
  EXPECT_TRUE(phase.hosts(1).has_throttled_ratio());
  EXPECT_TRUE(phase.hosts(0).has_start_offset_ns());
  EXPECT_FALSE(phase.hosts(1).has_tcp_retransmit_ratio());
  EXPECT_TRUE(phase.devices(0).has_discards_per_second());
  data.phases[0].workers[1].has_result = false;
  data.intervals[1].clear();
  one.Clear();
  phase = ReportOf(data).phases(0);
  const v1::HostReport& lost = phase.hosts(1);
  EXPECT_FALSE(lost.has_iops() || lost.has_errors() || lost.has_last_done_seconds());
  EXPECT_FALSE(lost.has_start_offset_ns() || lost.has_throttled_ratio());
  EXPECT_FALSE(lost.has_silent_ratio() || lost.has_stalled_ratio());
}

// A phase that ended in its ramp: nothing was measured, and nobody shared anything.
TEST(ReportTest, WithoutMeasuredTimeNoFigureIsZero) {
  Stored data = TwoWorkers();
  for (auto& [worker, intervals] : data.intervals) {
    for (v1::IntervalSample& interval : intervals) {
      interval.set_interval_class(v1::INTERVAL_CLASS_RAMP);
    }
  }
  for (measure::WorkerPhaseData& worker : data.phases[0].workers) {
    worker.result.mutable_workloads(0)->clear_measured();
  }
  const v1::PhaseReport phase = ReportOf(data).phases(0);
  EXPECT_FALSE(phase.total().has_latency_max_ns());
  EXPECT_FALSE(phase.fairness(0).has_jain());
  EXPECT_FALSE(phase.fairness(0).has_max_over_min());
  EXPECT_FALSE(phase.has_jain_min() || phase.has_jain_max());
  ASSERT_EQ(phase.devices_size(), 1);
  EXPECT_FALSE(phase.devices(0).has_reads_per_second());
  EXPECT_FALSE(phase.devices(0).has_busy_ratio());
  EXPECT_EQ(phase.devices(0).not_rated(), "the phase has no measured time");
}

TEST(ReportTest, FilesOfALostHostAreNamedAsLeftBehind) {
  Stored data = TwoWorkers();
  data.run.job.add_phases()->mutable_cleanup();
  measure::PhaseData cleanup;
  cleanup.phase.phase = 1;
  cleanup.phase.spec.mutable_cleanup();
  cleanup.phase.kind = "cleanup";
  cleanup.phase.state = measure::PhaseState::kDone;
  cleanup.workers.emplace_back();
  cleanup.workers[0].has_result = true;
  data.phases.push_back(cleanup);
  const v1::PhaseReport phase = ReportOf(data).phases(1);
  ASSERT_EQ(phase.remarks_size(), 1);
  EXPECT_EQ(phase.remarks(0),
            "not done, or not known, on node1, lost, stopped or failed: files that prepare made "
            "may still be there");
}

std::string RemarksOf(const Stored& data) {
  return absl::StrJoin(ReportOf(data).phases(0).remarks(), "\n");
}

// The report of an end by command says when the workers stopped, not when they were told to.
TEST(ReportTest, WhoHeardOfAnEarlyEndTooLateIsNamed) {
  Stored data = TwoWorkers();
  data.phases[0].phase.end_of_load = 1;
  EXPECT_TRUE(absl::StrContains(RemarksOf(data), "which came too late: it ran to its own end"));
  for (measure::WorkerPhaseData& worker : data.phases[0].workers) {
    worker.result.set_stopped_early(true);
  }
  data.intervals[0].resize(2);
  EXPECT_TRUE(absl::StrContains(RemarksOf(data),
                                "after interval 1 (2.0 s); hosts that heard of it later ended "
                                "later: "
                                "node1 after 3.0 s"));
  data.phases[0].phase.end_of_load = 2;
  EXPECT_TRUE(absl::StrContains(RemarksOf(data), "by command after interval 2, on all hosts"));
  // While it runs nobody knows.
  data.phases[0].phase.state = measure::PhaseState::kRunning;
  EXPECT_FALSE(absl::StrContains(RemarksOf(data), "by command"));
}

// The I/Os that were due count over the time that the load ran, not over the planned time.
TEST(ReportTest, WhatWasDueOfALoadThatWasEndedIsOverItsOwnTime) {
  Stored data = TwoWorkers();
  data.phases[0].phase.spec.mutable_run()->set_duration_ns(30000000000);
  *data.run.job.mutable_phases(0) = data.phases[0].phase.spec;
  for (measure::WorkerPhaseData& worker : data.phases[0].workers) {
    worker.result.mutable_workloads(0)->set_due(300);
  }
  EXPECT_DOUBLE_EQ(ReportOf(data).phases(0).workloads(0).due_per_second(), 20);
  for (measure::WorkerPhaseData& worker : data.phases[0].workers) {
    worker.result.set_stopped_early(true);
  }
  EXPECT_DOUBLE_EQ(ReportOf(data).phases(0).workloads(0).due_per_second(), 200);
}

// I/Os of the ramp and of the drain were due, too, and are no measured operations.
TEST(ReportTest, ABacklogIsAShareOfAllThatWasDue) {
  Stored data = TwoWorkers();
  for (measure::WorkerPhaseData& worker : data.phases[0].workers) {
    v1::WorkloadResult* result = worker.result.mutable_workloads(0);
    result->set_due(100000);
    result->set_unstarted(25000);
    result->set_longest_backlog_ns(2000000000);
  }
  EXPECT_TRUE(absl::StrContains(RemarksOf(data), "50,000 I/Os that were due (25.0 %)"))
      << RemarksOf(data);
}

// Such a workload has no row that could be missed.
TEST(ReportTest, AWorkloadThatDidNothingIsNamed) {
  Stored data = TwoWorkers();
  const auto add = [&](const std::string& name, int64_t delay_ns) {
    for (v1::PhaseSpec* spec : {data.run.job.mutable_phases(0), &data.phases[0].phase.spec}) {
      v1::Workload* more = spec->mutable_run()->add_workloads();
      *more = spec->run().workloads(0);
      more->set_name(name);
      more->set_start_delay_ns(delay_ns);
    }
  };
  EXPECT_FALSE(absl::StrContains(RemarksOf(data), "no I/O was completed")) << RemarksOf(data);
  add("late", 4500000000);
  add("idle", 0);
  const std::string remarks = RemarksOf(data);
  EXPECT_TRUE(absl::StrContains(
      remarks, "late never began: the load ended after 3.00 s, and its start_delay is 4.5 s"))
      << remarks;
  EXPECT_TRUE(absl::StrContains(remarks, "idle: no I/O was completed in the measured time"))
      << remarks;
  // Nobody knows the rate of what never ran.
  const v1::PhaseReport phase = ReportOf(data).phases(0);
  EXPECT_FALSE(phase.workloads(1).total().has_iops());
}

TEST(ReportTest, AVerifyPhaseThatDidNotReadAllProvesNothing) {
  Stored data = TwoWorkers();
  data.run.job.mutable_phases(0)->mutable_verify();
  data.phases[0].phase.spec = data.run.job.phases(0);
  data.phases[0].phase.kind = "verify";
  for (measure::WorkerPhaseData& worker : data.phases[0].workers) {
    worker.result.mutable_workloads(0)->mutable_verification()->set_checked(100);
  }
  EXPECT_TRUE(ReportOf(data).phases(0).expectations(0).met());
  data.phases[0].workers[1].result.set_stopped_early(true);
  const v1::Expectation cut = ReportOf(data).phases(0).expectations(0);
  EXPECT_FALSE(cut.met());
  EXPECT_TRUE(absl::StrContains(cut.found(), "the phase ended before it had read all"))
      << cut.found();
}

TEST(ReportTest, ALoadOfSeveralSizesHasNoSingleOne) {
  Stored data = TwoWorkers();
  EXPECT_TRUE(ReportOf(data).phases(0).workloads(0).settings().has_block_size_bytes());
  v1::Workload* workload = data.phases[0].phase.spec.mutable_run()->mutable_workloads(0);
  workload->add_block_sizes()->set_block_size_bytes(4096);
  workload->add_block_sizes()->set_block_size_bytes(65536);
  *data.run.job.mutable_phases(0) = data.phases[0].phase.spec;
  EXPECT_FALSE(ReportOf(data).phases(0).workloads(0).settings().has_block_size_bytes());
}

TEST(ReportTest, WhereNothingWasMeasuredNoExpectationHolds) {
  Stored data = TwoWorkers();
  v1::Expect* expect = data.phases[0].phase.spec.mutable_run()->mutable_expect();
  expect->set_fairness(0.5);
  *data.run.job.mutable_phases(0) = data.phases[0].phase.spec;
  data.phases[0].phase.ramp_ns = 5000000000;
  for (measure::WorkerPhaseData& worker : data.phases[0].workers) {
    worker.result.set_stopped_early(true);
    worker.result.mutable_workloads(0)->clear_measured();
  }
  for (auto& [worker, samples] : data.intervals) {
    for (v1::IntervalSample& sample : samples) {
      sample.set_interval_class(v1::INTERVAL_CLASS_RAMP);
    }
  }
  const v1::PhaseReport phase = ReportOf(data).phases(0);
  EXPECT_GE(phase.window_end_seconds(), phase.window_begin_seconds());
  EXPECT_FALSE(phase.total().has_iops() || phase.total().has_bytes_per_second());
  EXPECT_FALSE(phase.workloads(0).total().has_iops());
  EXPECT_TRUE(absl::StrContains(RemarksOf(data), "NOTHING MEASURED: the load ended in its ramp"));
  Stored without_ramp = data;
  without_ramp.phases[0].phase.ramp_ns = 0;
  EXPECT_TRUE(
      absl::StrContains(RemarksOf(without_ramp), "NOTHING MEASURED: the load ended at its begin"));
  ASSERT_GT(phase.expectations_size(), 0);
  for (const v1::Expectation& e : phase.expectations()) {
    EXPECT_FALSE(e.met()) << e.text();
    EXPECT_EQ(e.found(), "nothing measured");
  }
}

TEST(ReportTest, ARowWhosePhaseTheJobDoesNotHaveIsShownAsItIs) {
  Stored data = TwoWorkers();
  data.phases[0].phase.phase = 7;
  data.phases[0].phase.spec.Clear();
  EXPECT_EQ(ReportOf(data).phases(0).workers(), 2u);
}

TEST(ReportTest, MachinesOfOneNameHaveFactsOfTheirOwn) {
  Stored data = FourHosts([](uint32_t, uint32_t) { return 200; });
  for (measure::RunWorker& worker : data.workers) worker.host = "node";
  data.workers[2].boot_id = data.workers[1].boot_id;
  data.environment[0]["device.sda.max_sectors_kb"] = "256";
  data.environment[1]["device.sda.max_sectors_kb"] = "512";
  data.environment[3]["device.sda.max_sectors_kb"] = "1280";
  const v1::Report report = ReportOf(data);
  std::map<uint32_t, double> most;
  for (const v1::DeviceReport& device : report.phases(0).devices()) {
    most[device.workers(0)] = device.max_request_bytes();
  }
  EXPECT_EQ(most[0], 256 * 1024);
  EXPECT_EQ(most[1], 512 * 1024);
  EXPECT_EQ(most[3], 1280 * 1024);
  const auto& facts = report.environment();
  EXPECT_EQ(facts.at("node#0 device.sda.max_sectors_kb"), "256");
  EXPECT_EQ(facts.at("node#3 device.sda.max_sectors_kb"), "1280");
  EXPECT_EQ(facts.size(), 3u);
}

TEST(ReportTest, BufferedFilesThatMemoryHoldsAreNamed) {
  Stored data = TwoWorkers();
  const auto said = [&] { return absl::StrContains(RemarksOf(data), "buffered I/O on files of"); };
  data.environment[0]["memory.GiB"] = "4";
  EXPECT_FALSE(said());
  data.run.job.mutable_phases(0)->mutable_run()->mutable_workloads(0)->set_direct(false);
  data.phases[0].phase.spec = data.run.job.phases(0);
  EXPECT_TRUE(said());
  data.run.job.mutable_targets(0)->mutable_file()->set_size_bytes(int64_t{16} << 30);
  EXPECT_FALSE(said());
  // Memory that is not known says nothing.
  data.run.job.mutable_targets(0)->mutable_file()->set_size_bytes(1 << 20);
  data.environment.clear();
  EXPECT_FALSE(said());
}

TEST(ReportTest, FiguresThatAreMadeUpSaySo) {
  Stored data = TwoWorkers();
  EXPECT_FALSE(
      absl::StrContains(absl::StrJoin(ReportOf(data).phases(0).remarks(), "\n"), "SYNTHETIC"));
  data.workers[1].inspection.set_synthetic(true);
  EXPECT_TRUE(
      absl::StrContains(absl::StrJoin(ReportOf(data).phases(0).remarks(), "\n"), "SYNTHETIC"));
}

TEST(ReportTest, APhaseThatNeverCameHoldsNoExpectation) {
  Stored data = TwoWorkers();
  data.phases.clear();
  const v1::Report report = ReportOf(data);
  EXPECT_FALSE(report.expectations_met());
  EXPECT_EQ(report.run().expectations(), "0 of 2 met");
}

}  // namespace
}  // namespace lockstep::controller
