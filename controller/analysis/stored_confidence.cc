#include "controller/analysis/stored_confidence.h"

#include <algorithm>
#include <limits>
#include <string>

#include "controller/analysis/confidence.h"
#include "controller/analysis/latency.h"
#include "measure/result_stats.h"

namespace lockstep::controller {
namespace {

constexpr uint32_t kAll = std::numeric_limits<uint32_t>::max();  // workers, or workloads
constexpr v1::Metric kBeside[] = {v1::METRIC_SERVICE_TIME, v1::METRIC_SUBMISSION_LATENCY};

v1::OperationKind KindOf(const std::string& text) {
  for (const v1::OperationKind kind : {v1::OPERATION_KIND_READ, v1::OPERATION_KIND_WRITE,
                                       v1::OPERATION_KIND_TRIM, v1::OPERATION_KIND_FSYNC}) {
    if (KindText(kind) == text) return kind;
  }
  return v1::OPERATION_KIND_UNSPECIFIED;
}

// Whether all I/Os of the host are those of its only workload and kind: their percentiles are the
// same then.
bool HasOneKind(const v1::HostReport& host) {
  return host.workloads_size() == 1 && host.workloads(0).operations_size() == 1 &&
         measure::IsIo(KindOf(host.workloads(0).operations(0).kind()));
}

const common::Buckets* Of(const measure::OperationDelta& delta, v1::Metric metric) {
  const auto& latencies = delta.histograms[measure::IndexOf(metric)];
  return latencies.has_value() ? &*latencies : nullptr;
}

}  // namespace

StoredConfidence::Reports StoredConfidence::ReportsIn(v1::PhaseReport* report) {
  Reports reports;
  std::map<std::string, uint32_t> numbers;  // of workloads, by name
  for (int w = 0; w < report->workloads_size(); ++w) {
    const auto number = static_cast<uint32_t>(w);
    v1::WorkloadReport* workload = report->mutable_workloads(w);
    numbers[workload->name()] = number;
    for (auto& o : *workload->mutable_service_times()) {
      reports[{kAll, number, KindOf(o.kind()), v1::METRIC_SERVICE_TIME}] = &o;
    }
    for (auto& o : *workload->mutable_submission_latencies()) {
      reports[{kAll, number, KindOf(o.kind()), v1::METRIC_SUBMISSION_LATENCY}] = &o;
    }
  }
  for (v1::HostReport& host : *report->mutable_hosts()) {
    // It has no result, and no percentiles.
    if (host.lost()) continue;
    // Otherwise Finish() copies the intervals of the only kind, which saves a second series.
    if (!HasOneKind(host)) reports[{host.worker_index(), kAll}] = host.mutable_total();
    for (v1::HostWorkloadReport& workload : *host.mutable_workloads()) {
      for (auto& o : *workload.mutable_operations()) {
        reports[{host.worker_index(), numbers[workload.name()], KindOf(o.kind())}] = &o;
      }
    }
  }
  return reports;
}

StoredConfidence::StoredConfidence(const measure::PhaseData& phase, v1::PhaseReport* report,
                                   size_t max_numbers)
    : phase_(phase), report_(report) {
  for (const measure::WorkerPhaseData& worker : phase.workers) {
    if (worker.has_result) workers_.insert(worker.worker_index);
  }
  Reports reports = ReportsIn(report);
  // If no percentile has a latency, none has an interval.
  std::erase_if(reports,
                [](const auto& one) { return TailCounts::NumbersOfBlock(*one.second) == 1; });
  size_t numbers = 0;
  for (const auto& [key, one] : reports) numbers += TailCounts::NumbersOfBlock(*one);
  const size_t blocks = std::min(kMaxSeriesBlocks, max_numbers / std::max<size_t>(1, numbers));
  // Every two blocks become one when there are too many, so that half of these may be left.
  if (blocks < kMinSeriesBlocks) return;
  for (const auto& [key, one] : reports) series_.emplace(key, Series{one, {*one, blocks}});
}

void StoredConfidence::Add(const Key& key, uint32_t interval, const common::Buckets* latencies) {
  const auto found = series_.find(key);
  if (found != series_.end() && latencies != nullptr)
    found->second.counts.Add(interval, *latencies);
}

void StoredConfidence::Add(uint32_t worker, const v1::IntervalSample& sample) {
  if (sample.interval_class() != v1::INTERVAL_CLASS_MEASURED || !workers_.contains(worker)) return;
  for (const v1::WorkloadSample& workload : sample.workloads()) {
    for (const v1::OperationCounters& counters : workload.operations()) {
      const auto delta = measure::OperationDelta::Decode(counters);
      // The code that adds up the intervals reports it.
      if (!delta.ok()) continue;
      const common::Buckets* latencies = Of(*delta, delta->main_metric());
      Add({worker, workload.workload(), delta->kind}, sample.interval(), latencies);
      if (measure::IsIo(delta->kind)) Add({worker, kAll}, sample.interval(), latencies);
      for (const v1::Metric metric : kBeside) {
        Add({kAll, workload.workload(), delta->kind, metric}, sample.interval(),
            Of(*delta, metric));
      }
    }
  }
}

void StoredConfidence::FinishHost(const measure::WorkerPhaseData& worker) {
  const auto finish = [&](const Key& key, const measure::OperationStats& stats) {
    const auto found = series_.find(key);
    if (found == series_.end()) return;
    AddConfidence(found->second.counts, stats.histogram(stats.main_metric()), found->second.report);
  };
  measure::StatsOfKinds all;
  for (const v1::WorkloadResult& result : worker.result.workloads()) {
    measure::StatsOfKinds kinds;
    measure::AddMeasured(result, &kinds);
    for (const auto& [kind, stats] : kinds) {
      finish({worker.worker_index, result.workload(), kind}, stats);
      all[kind].Add(stats);
    }
  }
  finish({worker.worker_index, kAll}, measure::Ios(all));
}

void StoredConfidence::FinishWorkloads() {
  std::map<measure::WorkloadKind, measure::OperationStats> sums;
  for (const auto& [key, series] : series_) {
    if (key.worker == kAll) sums[{key.workload, key.kind}];
  }
  if (sums.empty()) return;
  for (const measure::WorkerPhaseData& worker : phase_.workers) {
    for (const v1::WorkloadResult& result : worker.result.workloads()) {
      measure::StatsOfKinds kinds;
      measure::AddMeasured(result, &kinds);
      for (const auto& [kind, stats] : kinds) {
        const auto sum = sums.find({result.workload(), kind});
        if (sum != sums.end()) sum->second.Add(stats);
      }
    }
  }
  for (auto& [key, series] : series_) {
    if (key.worker != kAll) continue;
    AddConfidence(series.counts, sums[{key.workload, key.kind}].histogram(key.metric),
                  series.report);
  }
}

void StoredConfidence::Finish() {
  if (empty()) return;
  for (const measure::WorkerPhaseData& worker : phase_.workers) {
    if (worker.has_result) FinishHost(worker);
  }
  FinishWorkloads();
  for (v1::HostReport& host : *report_->mutable_hosts()) {
    if (host.lost() || !HasOneKind(host)) continue;
    *host.mutable_total()->mutable_percentiles() = host.workloads(0).operations(0).percentiles();
    *host.mutable_total()->mutable_tail() = host.workloads(0).operations(0).tail();
  }
}

}  // namespace lockstep::controller
