#include <algorithm>
#include <functional>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "common/histogram.h"
#include "controller/analysis/cross_check.h"
#include "controller/analysis/expectations.h"
#include "controller/analysis/fairness.h"
#include "controller/analysis/report.h"
#include "gtest/gtest.h"

namespace lockstep::controller {
namespace {

constexpr double kGiB = 1073741824;

TEST(FairnessTest, JainByHand) {
  EXPECT_DOUBLE_EQ(FairnessOf("x", {5, 5, 5, 5}).jain(), 1);
  EXPECT_DOUBLE_EQ(FairnessOf("x", {1, 0, 0, 0}).jain(), 0.25);
  EXPECT_DOUBLE_EQ(FairnessOf("x", {1, 2, 3}).jain(), 36.0 / 42);
  EXPECT_DOUBLE_EQ(FairnessOf("x", {1, 2, 3}).max_over_min(), 3);
  EXPECT_DOUBLE_EQ(FairnessOf("x", {}).jain(), 1);
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
  EXPECT_EQ(CrossCheckOf(Input(kGiB, kGiB * 1.001)).verdict(), v1::CrossCheck::AGREE);
  CrossCheckInput cached = Input(kGiB, kGiB / 10);
  cached.buffered = true;
  EXPECT_EQ(CrossCheckOf(cached).verdict(), v1::CrossCheck::PAGE_CACHE);
  EXPECT_NE(CrossCheckOf(cached).reason().find("the page cache served the rest"),
            std::string::npos);
  cached.buffered = false;
  EXPECT_EQ(CrossCheckOf(cached).verdict(), v1::CrossCheck::NOT_ATTRIBUTABLE);
  EXPECT_EQ(CrossCheckOf(Input(0, 0, kGiB, 3 * kGiB)).verdict(), v1::CrossCheck::AMPLIFIED);
  EXPECT_DOUBLE_EQ(CrossCheckOf(Input(0, 0, kGiB, 3 * kGiB)).factor(), 3);
  CrossCheckInput merged = Input(0, 0, kGiB, kGiB);
  merged.device_writes = kGiB / (504 * 1024);
  EXPECT_EQ(CrossCheckOf(merged).verdict(), v1::CrossCheck::COALESCED);
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
  CrossCheckInput spread = Input(kGiB, kGiB);
  spread.attributable = false;
  EXPECT_EQ(CrossCheckOf(spread).verdict(), v1::CrossCheck::NOT_ATTRIBUTABLE);
}

v1::OperationCounters Counters(v1::OperationKind kind, const std::vector<uint64_t>& latencies,
                               uint64_t block = 4096) {
  v1::OperationCounters c;
  c.set_kind(kind);
  common::Histogram h;
  uint64_t sum = 0;
  for (uint64_t value : latencies) {
    h.Record(value);
    sum += value;
  }
  c.set_operations(latencies.size());
  c.set_bytes(latencies.size() * block);
  c.set_latency_sum_ns(sum);
  if (!latencies.empty()) {
    c.set_latency_min_ns(*std::min_element(latencies.begin(), latencies.end()));
    c.set_latency_max_ns(*std::max_element(latencies.begin(), latencies.end()));
  }
  v1::Histogram* encoded = c.add_histograms();
  encoded->set_metric(v1::METRIC_SERVICE_TIME);
  encoded->set_scheme(common::kHistogramScheme);
  encoded->set_buckets(h.Encode());
  return c;
}

// What a store holds: the intervals are of the first phase, by worker.
struct Stored : measure::RunData {
  std::map<uint32_t, std::vector<v1::IntervalSample>> intervals;
};

v1::Report ReportOf(const Stored& stored) {
  auto report = BuildReport(
      stored, [&](const measure::PhaseRecord&, WithIntervals, const TakeInterval& take) {
        std::map<std::pair<uint32_t, uint32_t>, const v1::IntervalSample*> ordered;
        for (const measure::WorkerPhaseData& worker : stored.phases[0].workers) {
          const auto found = stored.intervals.find(worker.worker_index);
          if (found == stored.intervals.end()) continue;
          for (const v1::IntervalSample& sample : found->second) {
            ordered[{sample.interval(), worker.worker_index}] = &sample;
          }
        }
        for (const auto& [place, sample] : ordered) {
          if (absl::Status status = take(place.second, *sample); !status.ok()) return status;
        }
        return absl::OkStatus();
      });
  EXPECT_TRUE(report.ok()) << report.status();
  return *report;
}

void SetSkewLimit(Stored* data, int64_t limit_ns) {
  data->run.job.mutable_phases(0)->mutable_run()->set_start_skew_limit_ns(limit_ns);
  data->phases[0].phase.spec.mutable_run()->set_start_skew_limit_ns(limit_ns);
}

// Two workers on one kernel: three measured seconds, 100 and 300 reads a second.
Stored TwoWorkers() {
  Stored data;
  data.run.state = "done";
  v1::JobSpec& job = data.run.job;
  v1::Target* target = job.add_targets();
  target->set_name("t");
  target->mutable_file()->set_size_bytes(1 << 20);
  v1::RunPhase* run = job.add_phases()->mutable_run();
  v1::Workload* w = run->add_workloads();
  w->set_name("w");
  w->add_targets("t");
  w->set_block_size_bytes(4096);
  w->set_read_ratio(1);
  w->set_direct(true);
  run->mutable_expect()->set_iops(390);
  run->mutable_expect()->set_p99_ns(1000000);
  measure::PhaseData phase;
  phase.phase.spec = job.phases(0);
  phase.phase.kind = "run";
  phase.phase.state = "done";
  phase.phase.interval_ns = 1000000000;
  for (uint32_t i = 0; i < 2; ++i) {
    measure::RunWorker worker;
    worker.worker_index = i;
    worker.host = "node" + std::to_string(i);
    worker.boot_id = "boot";
    worker.inspection.add_targets()->set_device_name("sda");
    data.workers.push_back(worker);
    measure::WorkerPhaseData part;
    part.worker_index = i;
    part.has_result = true;
    part.clock = {i, i == 0 ? 1000000 : 5000000, 10000};
    part.result.set_go_ns(100000000 + part.clock.offset_ns);
    part.result.set_first_io_ns(part.result.go_ns() + 2000 * (int64_t{i} + 1));
    part.result.set_last_io_ns(part.result.go_ns() + 3000000000);
    const uint64_t rate = i == 0 ? 100 : 300;
    std::vector<uint64_t> latencies;
    for (uint32_t k = 0; k < 3; ++k) {
      v1::IntervalSample interval;
      interval.set_interval(k);
      interval.set_interval_class(v1::INTERVAL_CLASS_MEASURED);
      interval.set_begin_ns(k * 1000000000ll);
      interval.set_end_ns((k + 1) * 1000000000ll);
      *interval.add_workloads()->add_operations() =
          Counters(v1::OPERATION_KIND_READ, std::vector<uint64_t>(rate, 500000));
      if (i == 0) {
        v1::DeviceSample* d = interval.add_devices();
        d->set_name("sda");
        d->set_reads(400);
        d->set_read_bytes(uint64_t{400} * 4096);
        interval.mutable_host()->set_context_switches(800);
      }
      latencies.insert(latencies.end(), rate, 500000);
      data.intervals[i].push_back(interval);
    }
    *part.result.add_workloads()->add_measured() = Counters(v1::OPERATION_KIND_READ, latencies);
    v1::ThreadResult* thread = part.result.add_threads();
    thread->set_operations(rate * 3);
    thread->set_execution_time_ns(3000000000);
    phase.workers.push_back(part);
  }
  data.phases.push_back(phase);
  return data;
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
  EXPECT_EQ(phase.devices(0).cross_check().verdict(), v1::CrossCheck::AGREE);
  EXPECT_EQ(phase.devices(0).hosts_size(), 2);
  EXPECT_DOUBLE_EQ(phase.kernels(0).context_switches_per_io(), 2);
  EXPECT_TRUE(report.expectations_held());
  EXPECT_EQ(report.run().expectations(), "2 of 2 held");
}

// Four hosts with kernels and devices of their own, ten measured seconds each; `iops` says what
// host h does in second k, every I/O 4 KiB and direct.
Stored FourHosts(const std::function<uint64_t(uint32_t h, uint32_t k)>& iops,
                 uint64_t latency_ns = 500000) {
  Stored data = TwoWorkers();
  data.workers.clear();
  data.intervals.clear();
  measure::PhaseData& phase = data.phases[0];
  phase.workers.clear();
  for (uint32_t h = 0; h < 4; ++h) {
    measure::RunWorker worker;
    worker.worker_index = h;
    worker.host = "node" + std::to_string(h);
    worker.boot_id = "boot" + std::to_string(h);
    worker.inspection.add_targets()->set_device_name("sda");
    data.workers.push_back(worker);
    measure::WorkerPhaseData part;
    part.worker_index = h;
    part.has_result = true;
    part.result.set_last_io_ns(10000000000);
    part.result.set_end_ns(10000000000);
    std::vector<uint64_t> all;
    for (uint32_t k = 0; k < 10; ++k) {
      v1::IntervalSample interval;
      interval.set_interval(k);
      interval.set_interval_class(v1::INTERVAL_CLASS_MEASURED);
      interval.set_begin_ns(k * 1000000000ll);
      interval.set_end_ns((k + 1) * 1000000000ll);
      const uint64_t count = iops(h, k);
      *interval.add_workloads()->add_operations() =
          Counters(v1::OPERATION_KIND_READ, std::vector<uint64_t>(count, latency_ns));
      v1::DeviceSample* d = interval.add_devices();
      d->set_name("sda");
      d->set_reads(count);
      d->set_read_bytes(count * 4096);
      d->set_read_time_ms(count * latency_ns / 1000000);
      d->set_queue_time_ms(count * latency_ns / 1000000);
      interval.mutable_host()->set_run_queue(1);
      all.insert(all.end(), count, latency_ns);
      data.intervals[h].push_back(interval);
    }
    *part.result.add_workloads()->add_measured() = Counters(v1::OPERATION_KIND_READ, all);
    phase.workers.push_back(part);
  }
  return data;
}

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
    sample.mutable_devices(0)->set_read_time_ms(10 * sample.devices(0).read_time_ms());
  }
  EXPECT_EQ(straggler().cause(), "device");
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

std::string FindingsOf(const v1::PhaseReport& phase) {
  std::string all;
  for (const v1::Finding& finding : phase.devices(0).findings()) {
    all += finding.kind() + ": " + finding.sentence() + "\n";
  }
  return all;
}

TEST(FindingsTest, OthersOnTheDeviceAreNamedWithTheirTimeAndTheirProgram) {
  Stored data = FourHosts([](uint32_t, uint32_t) { return 2000; });
  for (uint32_t k = 3; k < 6; ++k) {
    data.intervals[0][k].mutable_devices(0)->set_write_bytes(50 << 20);
  }
  v1::ProcessIo* process = data.phases[0].workers[0].result.add_others();
  process->set_command("mysqld");
  process->set_pid(77);
  process->set_write_bytes(150 << 20);
  const v1::PhaseReport phase = ReportOf(data).phases(0);
  ASSERT_EQ(phase.devices(0).findings_size(), 1) << FindingsOf(phase);
  EXPECT_EQ(phase.devices(0).findings(0).kind(), "interference");
  EXPECT_DOUBLE_EQ(phase.devices(0).findings(0).begin_seconds(), 3);
  EXPECT_DOUBLE_EQ(phase.devices(0).findings(0).end_seconds(), 6);
  EXPECT_NE(FindingsOf(phase).find("150 MiB"), std::string::npos) << FindingsOf(phase);
  EXPECT_NE(FindingsOf(phase).find("mysqld[77]"), std::string::npos) << FindingsOf(phase);
  EXPECT_EQ(phase.devices(1).findings_size(), 0);
}

TEST(FindingsTest, IOsThatTheQueueSplitsAreSaidToBe) {
  Stored data = FourHosts([](uint32_t, uint32_t) { return 200; });
  for (v1::PhaseSpec* spec : {data.run.job.mutable_phases(0), &data.phases[0].phase.spec}) {
    spec->mutable_run()->mutable_workloads(0)->set_block_size_bytes(1 << 20);
  }
  data.environment["node0 device.sda.max_sectors_kb"] = "256";
  for (v1::IntervalSample& sample : data.intervals[0]) {
    sample.mutable_workloads(0)->mutable_operations(0)->set_bytes(uint64_t{200} << 20);
    sample.mutable_devices(0)->set_read_bytes(uint64_t{200} << 20);
    sample.mutable_devices(0)->set_reads(800);
  }
  const std::string found = FindingsOf(ReportOf(data).phases(0));
  EXPECT_NE(found.find("split: I/Os of 1 MiB reached the device in requests of 256 KiB (×4.0): its "
                       "queue takes at most 256 KiB"),
            std::string::npos)
      << found;
}

TEST(FindingsTest, WhatWaitsAboveTheDeviceIsTold) {
  // 200 I/Os a second of 50 ms are 10 in flight; the device has each for 1 ms.
  Stored data = FourHosts([](uint32_t, uint32_t) { return 200; }, 50000000);
  for (v1::IntervalSample& sample : data.intervals[0]) {
    sample.mutable_devices(0)->set_read_time_ms(200);
    sample.mutable_devices(0)->set_queue_time_ms(200);
  }
  const std::string found = FindingsOf(ReportOf(data).phases(0));
  EXPECT_NE(found.find("queue: the engines had 10.0 I/Os in flight, the device's queue held 0.2"),
            std::string::npos)
      << found;
}

TEST(FindingsTest, WriteBackThatFillsTheQueueIsTold) {
  // dd of story 3: a buffered writer, 156 requests of 504 KiB in the device's queue.
  Stored data = FourHosts([](uint32_t, uint32_t) { return 200; });
  for (v1::PhaseSpec* spec : {data.run.job.mutable_phases(0), &data.phases[0].phase.spec}) {
    spec->mutable_run()->mutable_workloads(0)->set_direct(false);
    spec->mutable_run()->mutable_workloads(0)->set_queue_depth(1);
    spec->mutable_run()->mutable_workloads(0)->set_threads(1);
  }
  for (v1::IntervalSample& sample : data.intervals[0]) {
    sample.mutable_devices(0)->set_queue_time_ms(156000);
  }
  const std::string found = FindingsOf(ReportOf(data).phases(0));
  EXPECT_NE(found.find("the device's queue held 156 requests where the engines have at most 1"),
            std::string::npos)
      << found;
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

TEST(ReportTest, ALostHostDegradesAndHoldsNoExpectation) {
  Stored data = TwoWorkers();
  data.phases[0].workers[1].has_result = false;
  const v1::Report report = ReportOf(data);
  EXPECT_EQ(report.phases(0).workers_lost(), 1u);
  EXPECT_TRUE(report.phases(0).hosts(1).lost());
  EXPECT_FALSE(report.expectations_held());
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
  EXPECT_FALSE(report.expectations_held());
  const std::string remarks = absl::StrJoin(phase.remarks(), "\n");
  EXPECT_TRUE(absl::StrContains(remarks,
                                "DEGRADED: results of 1 of 2 hosts; figures are of those alone; at "
                                "no time are there samples of all"))
      << remarks;
  EXPECT_TRUE(absl::StrContains(remarks, "attempt 2")) << remarks;
}

// What is known of a lost host is over the time in which it is known; its I/O in the device's
// figures has no counterpart.
TEST(ReportTest, ALostHostsRatesAreOverItsOwnTime) {
  Stored data = TwoWorkers();
  data.phases[0].workers[1].has_result = false;
  data.intervals[1].resize(1);
  data.phases[0].workers[1].result.Clear();
  const v1::PhaseReport phase = ReportOf(data).phases(0);
  EXPECT_DOUBLE_EQ(phase.hosts(1).iops(), 300);
  EXPECT_DOUBLE_EQ(phase.total().iops(), 100);
  EXPECT_EQ(phase.start_skew_hosts(), 1u);
  EXPECT_EQ(phase.devices(0).cross_check().verdict(), v1::CrossCheck::NOT_ATTRIBUTABLE);
}

TEST(ReportTest, FilesOfALostHostAreNamedAsLeftBehind) {
  Stored data = TwoWorkers();
  data.run.job.add_phases()->mutable_cleanup();
  measure::PhaseData cleanup;
  cleanup.phase.phase = 1;
  cleanup.phase.spec.mutable_cleanup();
  cleanup.phase.kind = "cleanup";
  cleanup.phase.state = "done";
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

// What is said of an end by command is what the workers did, not what was ordered.
TEST(ReportTest, WhoHeardOfAnEarlyEndTooLateIsNamed) {
  Stored data = TwoWorkers();
  data.phases[0].phase.end_of_load = 1;
  EXPECT_TRUE(absl::StrContains(RemarksOf(data), "which came too late: it ran to its own end"));
  for (measure::WorkerPhaseData& worker : data.phases[0].workers) {
    worker.result.set_stopped_early(true);
  }
  data.intervals[0].resize(2);
  EXPECT_TRUE(absl::StrContains(RemarksOf(data),
                                "after interval 1 (2.0 s); who heard of it later ended later: "
                                "node1 after 3.0 s"));
  data.phases[0].phase.end_of_load = 2;
  EXPECT_TRUE(absl::StrContains(RemarksOf(data), "by command after interval 2, on all hosts"));
  // While it runs nobody knows.
  data.phases[0].phase.state = "running";
  EXPECT_FALSE(absl::StrContains(RemarksOf(data), "by command"));
}

// What was due is over the time that the load ran, not over what was planned.
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

TEST(ReportTest, AVerifyPhaseThatDidNotReadAllProvesNothing) {
  Stored data = TwoWorkers();
  data.run.job.mutable_phases(0)->mutable_verify();
  data.phases[0].phase.spec = data.run.job.phases(0);
  data.phases[0].phase.kind = "verify";
  for (measure::WorkerPhaseData& worker : data.phases[0].workers) {
    worker.result.mutable_workloads(0)->mutable_verification()->set_checked(100);
  }
  EXPECT_TRUE(ReportOf(data).phases(0).expectations(0).held());
  data.phases[0].workers[1].result.set_stopped_early(true);
  const v1::Expectation cut = ReportOf(data).phases(0).expectations(0);
  EXPECT_FALSE(cut.held());
  EXPECT_TRUE(absl::StrContains(cut.found(), "the phase ended before it had read all"))
      << cut.found();
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
  EXPECT_TRUE(absl::StrContains(RemarksOf(data), "NOTHING MEASURED: the load ended in its ramp"));
  ASSERT_GT(phase.expectations_size(), 0);
  for (const v1::Expectation& e : phase.expectations()) {
    EXPECT_FALSE(e.held()) << e.text();
    EXPECT_EQ(e.found(), "nothing measured");
  }
}

TEST(ReportTest, ARowWhosePhaseTheJobDoesNotHaveIsShownAsItIs) {
  Stored data = TwoWorkers();
  data.phases[0].phase.phase = 7;
  data.phases[0].phase.spec.Clear();
  EXPECT_EQ(ReportOf(data).phases(0).workers(), 2u);
}

TEST(ReportTest, FiguresThatAreMadeUpSaySo) {
  Stored data = TwoWorkers();
  EXPECT_FALSE(
      absl::StrContains(absl::StrJoin(ReportOf(data).phases(0).remarks(), "\n"), "SYNTHETIC"));
  data.workers[1].inspection.set_synthetic(true);
  EXPECT_TRUE(
      absl::StrContains(absl::StrJoin(ReportOf(data).phases(0).remarks(), "\n"), "SYNTHETIC"));
}

TEST(ReportTest, StartSkewBeyondTheLimitInvalidates) {
  Stored data = TwoWorkers();
  SetSkewLimit(&data, 1000);
  const v1::Report report = ReportOf(data);
  EXPECT_TRUE(report.phases(0).invalid());
  EXPECT_FALSE(report.expectations_held());
  EXPECT_EQ(report.run().expectations(), "2 of 3 held");
  // 2 µs ± 20 µs: within 5 µs, or not.
  SetSkewLimit(&data, 5000);
  const v1::Report unsure = ReportOf(data);
  EXPECT_FALSE(unsure.phases(0).invalid());
  EXPECT_TRUE(unsure.expectations_held());
  EXPECT_TRUE(absl::StrContains(absl::StrJoin(unsure.phases(0).remarks(), "\n"), "may be beyond"));
  SetSkewLimit(&data, 50000);
  EXPECT_FALSE(
      absl::StrContains(absl::StrJoin(ReportOf(data).phases(0).remarks(), "\n"), "may be beyond"));
}

// One host's doubtful clock widens the bound by its own doubt, once.
TEST(ReportTest, TheSkewsBoundIsOfTwoDifferentHosts) {
  Stored data = TwoWorkers();
  data.phases[0].workers[0].clock.bound_ns = 10000000;
  data.phases[0].workers[1].clock.bound_ns = 10;
  EXPECT_DOUBLE_EQ(ReportOf(data).phases(0).start_skew_ns(), 2000);
  EXPECT_DOUBLE_EQ(ReportOf(data).phases(0).start_skew_bound_ns(), 10000010);
  data.phases[0].workers.resize(1);
  EXPECT_DOUBLE_EQ(ReportOf(data).phases(0).start_skew_bound_ns(), 0);
}

TEST(ReportTest, APhaseThatNeverCameHoldsNoExpectation) {
  Stored data = TwoWorkers();
  data.phases.clear();
  const v1::Report report = ReportOf(data);
  EXPECT_FALSE(report.expectations_held());
  EXPECT_EQ(report.run().expectations(), "0 of 2 held");
}

}  // namespace
}  // namespace lockstep::controller
