#include "controller/analysis/histograms.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "absl/strings/str_cat.h"
#include "controller/analysis/latency.h"
#include "controller/plan/loads.h"
#include "measure/operation_stats.h"
#include "measure/phase_series.h"
#include "measure/result_stats.h"

namespace lockstep::controller {
namespace {

constexpr std::pair<v1::Metric, const char*> kMetricNames[] = {
    {v1::METRIC_SERVICE_TIME, "service_time"},
    {v1::METRIC_RESPONSE_TIME, "response_time"},
    {v1::METRIC_SUBMISSION_LATENCY, "submission_latency"}};

using Stats = std::map<measure::WorkloadKind, measure::OperationStats>;

// Which workers are asked for.
absl::StatusOr<std::set<uint32_t>> WorkersOf(const measure::RunData& data,
                                             const std::string& host) {
  std::set<uint32_t> workers;
  for (const measure::RunWorker& worker : data.workers) {
    if (host.empty() || worker.host == host) workers.insert(worker.worker_index);
  }
  if (workers.empty() && !host.empty()) {
    return absl::NotFoundError(absl::StrCat("the run had no host ", host));
  }
  return workers;
}

// The head that all histograms of a phase share, and the names of its workloads.
struct Frame {
  v1::LatencyHistogram head;
  v1::RunPhase load;
};

Frame FrameOf(const measure::RunData& data, const measure::PhaseRecord& phase) {
  Frame frame;
  frame.load = LoadOf(data.run.job, phase.spec);
  frame.head.set_phase(phase.phase);
  frame.head.set_phase_name(phase.name);
  frame.head.set_go_seconds(static_cast<double>(phase.go_wall_ns) / 1e9);
  return frame;
}

v1::LatencyHistogram Filled(const Frame& frame, const measure::WorkloadKind& key,
                            const measure::OperationStats& stats, v1::Metric metric,
                            const char* name) {
  v1::LatencyHistogram out = frame.head;
  out.set_workload(frame.load.workloads(static_cast<int>(key.first)).name());
  out.set_kind(KindText(key.second));
  out.set_metric(name);
  out.set_is_reported(stats.main_metric() == metric);
  out.set_bytes(static_cast<double>(stats.counts().bytes));
  for (const auto& [bucket, count] : stats.histogram(metric).Occupied()) {
    out.add_buckets(bucket);
    out.add_counts(static_cast<double>(count));
  }
  const measure::OperationCounts& counts = stats.counts();
  // The counters keep the exact minimum, maximum and sum of the reported metric alone. For the
  // other metrics only the buckets are known.
  if (out.is_reported() && counts.operations > 0) {
    out.set_min_ns(static_cast<double>(counts.latency_min_ns));
    out.set_max_ns(static_cast<double>(counts.latency_max_ns));
    out.set_mean_ns(static_cast<double>(counts.latency_sum_ns) /
                    static_cast<double>(counts.operations));
  }
  return out;
}

absl::Status PutAll(const Frame& frame, const Stats& all,
                    const std::function<absl::Status(const v1::LatencyHistogram&)>& put) {
  for (const auto& [key, stats] : all) {
    // A number from an imported archive may be of no workload.
    if (static_cast<int>(key.first) >= frame.load.workloads_size()) continue;
    for (const auto& [metric, name] : kMetricNames) {
      if (!stats.has(metric)) continue;
      const v1::LatencyHistogram histogram = Filled(frame, key, stats, metric, name);
      if (histogram.buckets().empty()) continue;
      if (absl::Status status = put(histogram); !status.ok()) return status;
    }
  }
  return absl::OkStatus();
}

// Merges the intervals of one phase as they come.
class Merger {
 public:
  Merger(Frame frame, std::set<uint32_t> workers,
         std::function<absl::Status(const v1::LatencyHistogram&)> put)
      : frame_(std::move(frame)), workers_(std::move(workers)), put_(std::move(put)) {}

  absl::Status Add(uint32_t worker, const v1::IntervalSample& sample) {
    // The store hands out intervals in ascending order, all workers of one together (report.h). A
    // new number therefore completes the last interval, and only one is held in memory.
    if (interval_ != sample.interval()) {
      if (absl::Status status = Flush(); !status.ok()) return status;
      interval_ = sample.interval();
    }
    if (!workers_.contains(worker) || sample.interval_class() != v1::INTERVAL_CLASS_MEASURED) {
      return absl::OkStatus();
    }
    const double begin = static_cast<double>(sample.begin_ns()) / 1e9;
    const double end = static_cast<double>(sample.end_ns()) / 1e9;
    frame_.head.set_begin_seconds(stats_.empty() ? begin
                                                 : std::min(frame_.head.begin_seconds(), begin));
    frame_.head.set_end_seconds(stats_.empty() ? end : std::max(frame_.head.end_seconds(), end));
    for (const v1::WorkloadSample& workload : sample.workloads()) {
      for (const v1::OperationCounters& counters : workload.operations()) {
        const auto delta = measure::OperationDelta::Decode(counters);
        if (!delta.ok()) return delta.status();
        stats_[{workload.workload(), counters.kind()}].Add(*delta);
      }
    }
    return absl::OkStatus();
  }

  absl::Status Flush() {
    absl::Status status = PutAll(frame_, stats_, put_);
    stats_.clear();
    return status;
  }

 private:
  Frame frame_;
  const std::set<uint32_t> workers_;
  const std::function<absl::Status(const v1::LatencyHistogram&)> put_;
  std::optional<uint32_t> interval_;
  Stats stats_;
};

}  // namespace

absl::StatusOr<std::vector<v1::LatencyHistogram>> PhaseHistograms(const measure::RunData& data,
                                                                  const std::string& host) {
  const auto workers = WorkersOf(data, host);
  if (!workers.ok()) return workers.status();
  std::vector<v1::LatencyHistogram> all;
  for (const measure::PhaseData& phase : data.phases) {
    if (!IsLoad(phase.phase.spec)) continue;
    Frame frame = FrameOf(data, phase.phase);
    Stats stats;
    int64_t last_ns = 0;
    for (const measure::WorkerPhaseData& worker : phase.workers) {
      if (!workers->contains(worker.worker_index) || !worker.has_result) continue;
      last_ns = std::max(last_ns, worker.result.last_io_ns() - worker.result.go_ns());
      for (const v1::WorkloadResult& result : worker.result.workloads()) {
        measure::StatsOfKinds kinds;
        measure::AddMeasured(result, &kinds);
        for (const auto& [kind, of_kind] : kinds) stats[{result.workload(), kind}].Add(of_kind);
      }
    }
    // A load may end in its ramp. The beginning must not lie behind the end.
    frame.head.set_begin_seconds(static_cast<double>(std::min(phase.phase.ramp_ns, last_ns)) / 1e9);
    frame.head.set_end_seconds(static_cast<double>(last_ns) / 1e9);
    const absl::Status status = PutAll(frame, stats, [&](const v1::LatencyHistogram& histogram) {
      all.push_back(histogram);
      return absl::OkStatus();
    });
    if (!status.ok()) return status;
  }
  return all;
}

absl::Status IntervalHistograms(
    const measure::RunData& data, const std::string& host, const ReadIntervals& read,
    const std::function<absl::Status(const v1::LatencyHistogram&)>& put) {
  const auto workers = WorkersOf(data, host);
  if (!workers.ok()) return workers.status();
  for (const measure::PhaseData& phase : data.phases) {
    if (!IsLoad(phase.phase.spec)) continue;
    // As in the report, what a lost host did is in no figure.
    std::set<uint32_t> whole;
    for (const measure::WorkerPhaseData& worker : phase.workers) {
      if (worker.has_result && workers->contains(worker.worker_index)) {
        whole.insert(worker.worker_index);
      }
    }
    // The numbers of intervals begin anew in each phase, so each phase has its own merger.
    Merger merger(FrameOf(data, phase.phase), std::move(whole), put);
    absl::Status status = read(phase.phase, WithIntervals::kLatencies,
                               [&](uint32_t worker, const v1::IntervalSample& sample) {
                                 return merger.Add(worker, sample);
                               });
    // No later interval completes the last one.
    if (status.ok()) status = merger.Flush();
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace lockstep::controller
