// Stored phases made by hand, and their reports.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "common/histogram.h"
#include "controller/analysis/report.h"
#include "gtest/gtest.h"

namespace lockstep::controller {

inline v1::OperationCounters Counters(v1::OperationKind kind,
                                      const std::vector<uint64_t>& latencies,
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

// The contents of a store: the intervals are of the first phase, by worker.
struct Stored : measure::RunData {
  std::map<uint32_t, std::vector<v1::IntervalSample>> intervals;
};

inline v1::Report ReportOf(const Stored& stored) {
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

inline void SetSkewLimit(Stored* data, int64_t limit_ns) {
  data->run.job.mutable_phases(0)->mutable_run()->set_start_skew_limit_ns(limit_ns);
  data->phases[0].phase.spec.mutable_run()->set_start_skew_limit_ns(limit_ns);
}

// The job's first workload begins this long after T.
inline void DelayWorkload(Stored* data, int64_t delay_ns) {
  for (v1::PhaseSpec* spec : {data->run.job.mutable_phases(0), &data->phases[0].phase.spec}) {
    spec->mutable_run()->mutable_workloads(0)->set_start_delay_ns(delay_ns);
  }
}

// Two workers on one kernel: three measured seconds, 100 and 300 reads a second.
inline Stored TwoWorkers() {
  Stored data;
  data.run.state = measure::RunState::kDone;
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
  phase.phase.state = measure::PhaseState::kDone;
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

// Four hosts with kernels and devices of their own, of ten measured seconds each or of so many;
// `iops` says what host h does in second k, every I/O 4 KiB and direct.
inline Stored FourHosts(const std::function<uint64_t(uint32_t h, uint32_t k)>& iops,
                        uint64_t latency_ns = 500000, uint32_t seconds = 10) {
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
    part.result.set_last_io_ns(seconds * 1000000000ll);
    part.result.set_end_ns(seconds * 1000000000ll);
    std::vector<uint64_t> all;
    for (uint32_t k = 0; k < seconds; ++k) {
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

// Of each I/O of 500 µs the device has 300 µs: the rest of the time something holds it above.
inline void HoldAbove(std::vector<v1::IntervalSample>* samples) {
  for (v1::IntervalSample& sample : *samples) {
    v1::DeviceSample* d = sample.mutable_devices(0);
    d->set_read_time_ms(std::max<uint64_t>(1, 3 * d->reads() / 10));
  }
}

// A thread that waited for its I/Os throughout the ten seconds.
inline void AddWaitingThread(uint64_t operations, measure::WorkerPhaseData* worker) {
  v1::ThreadResult* thread = worker->result.add_threads();
  thread->set_operations(operations);
  thread->set_execution_time_ns(10000000000);
  thread->set_wait_time_ns(10000000000);
}

// "KIND: SENTENCE" of each finding about the first device, a line each.
inline std::string FindingsOf(const v1::PhaseReport& phase) {
  std::string all;
  for (const v1::Finding& finding : phase.devices(0).findings()) {
    all += finding.kind() + ": " + finding.sentence() + "\n";
  }
  return all;
}

}  // namespace lockstep::controller
