// How much did each workload do, by operation kind and in all? A workload's rates are over the time
// in which it ran on all its hosts, the sum's over the time in which all workloads ran; latencies
// are over everything measured.

#include <map>
#include <optional>

#include "controller/analysis/analysis.h"
#include "controller/analysis/confidence.h"
#include "controller/analysis/latency.h"
#include "measure/result_stats.h"

namespace lockstep::controller {
namespace {

// The statistics of one workload, from the workers' results.
measure::StatsOfKinds MeasuredOf(const PhaseView& view, uint32_t workload) {
  measure::StatsOfKinds kinds;
  for (const measure::WorkerPhaseData& worker : view.phase().workers) {
    for (const v1::WorkloadResult& result : worker.result.workloads()) {
      if (result.workload() == workload) measure::AddMeasured(result, &kinds);
    }
  }
  return kinds;
}

// Adds the latencies of a block that are of this kind, or of all I/Os where it is not specified.
void AddLatencies(const measure::EncodedLatencies& block, uint32_t workload, v1::OperationKind kind,
                  common::Buckets* sum) {
  const bool all = kind == v1::OPERATION_KIND_UNSPECIFIED;
  for (auto entry = block.lower_bound({workload, all ? v1::OPERATION_KIND_UNSPECIFIED : kind});
       entry != block.end() && entry->first.first == workload; ++entry) {
    if (all ? !measure::IsIo(entry->first.second) : entry->first.second != kind) continue;
    // The bytes in an imported archive need not be a histogram. It must not fail the report.
    const auto latencies = common::DecodeBuckets(entry->second);
    if (latencies.ok()) *sum = common::SumOf(*sum, *latencies);
  }
}

// The latencies of one workload, or of all workloads, block by block.
std::vector<common::Buckets> BlocksOf(const PhaseView& view, std::optional<uint32_t> workload,
                                      v1::OperationKind kind) {
  std::vector<common::Buckets> blocks;
  const auto workloads = static_cast<uint32_t>(view.load().workloads_size());
  for (const measure::EncodedLatencies& block : view.phase().blocks) {
    common::Buckets& sum = blocks.emplace_back();
    for (uint32_t w = workload.value_or(0); w < workloads; ++w) {
      AddLatencies(block, w, kind, &sum);
      if (workload.has_value()) break;
    }
  }
  return blocks;
}

// Adds what a worker did in a window to the sums of all.
void AddTo(const std::map<measure::WorkloadKind, measure::IoSums>& counts,
           std::map<measure::WorkloadKind, measure::IoSums>* all) {
  for (const auto& [key, sums] : counts) (*all)[key].Add(sums);
}

void AddWindow(const measure::CommonWindow& window, double seconds, v1::WorkloadReport* out) {
  out->set_window_seconds(seconds);
  if (window.empty()) return;
  out->set_window_begin_seconds(static_cast<double>(window.begin_ns()) / 1e9);
  out->set_window_end_seconds(static_cast<double>(window.end_ns()) / 1e9);
}

// Rates of each kind over the time in which all workloads ran, if that is not the time of each:
// rates over different times have no sum.
void AddKindRates(const PhaseView& view,
                  const std::map<measure::WorkloadKind, measure::IoSums>& all,
                  v1::PhaseReport* report) {
  const measure::CommonWindow& common = view.series().window();
  bool is_one_window = true;
  for (int w = 0; w < report->workloads_size(); ++w) {
    const measure::CommonWindow& own = view.series().WindowOf(static_cast<uint32_t>(w));
    is_one_window = is_one_window && own.begin_ns() == common.begin_ns() &&
                    own.end_ns() == common.end_ns() && own.covered_ns() == common.covered_ns();
  }
  if (is_one_window || !(view.window_seconds() > 0)) return;
  SetKindRates(all, view.window_seconds(), report->mutable_kind_rates());
}

void AddThroughput(const PhaseView& view, v1::PhaseReport* report) {
  measure::OperationStats everything;
  std::map<measure::WorkloadKind, measure::IoSums> all;
  for (const measure::WorkerPhaseData& worker : view.phase().workers) {
    // A lost worker has sent samples, but no result with latencies. Rates and latencies must be of
    // the same workers, so its samples are left out.
    if (worker.has_result) AddTo(view.InWindow(worker.worker_index), &all);
  }
  for (int w = 0; w < report->workloads_size(); ++w) {
    v1::WorkloadReport* out = report->mutable_workloads(w);
    const auto workload = static_cast<uint32_t>(w);
    const double seconds = view.WorkloadSeconds(workload);
    std::map<measure::WorkloadKind, measure::IoSums> sums_of;
    for (const measure::WorkerPhaseData& worker : view.phase().workers) {
      if (worker.has_result) AddTo(view.InWindowOf(workload, worker.worker_index), &sums_of);
    }
    AddWindow(view.series().WindowOf(workload), seconds, out);
    measure::OperationStats total;
    measure::IoSums total_sums;
    for (const auto& [kind, stats] : MeasuredOf(view, workload)) {
      const measure::IoSums sums = sums_of[{workload, kind}];
      const std::string name = KindText(kind);
      *out->add_operations() = WithRate(ReportOf(stats, name), sums, seconds);
      AddConfidence(BlocksOf(view, workload, kind), stats.histogram(stats.main_metric()),
                    out->mutable_operations(out->operations_size() - 1));
      if (stats.has(v1::METRIC_RESPONSE_TIME)) {
        *out->add_service_times() =
            WithRate(ReportOfMetric(stats, v1::METRIC_SERVICE_TIME, name), sums, seconds);
      }
      if (stats.has(v1::METRIC_SUBMISSION_LATENCY)) {
        *out->add_submission_latencies() =
            WithRate(ReportOfMetric(stats, v1::METRIC_SUBMISSION_LATENCY, name), sums, seconds);
      }
      if (!measure::IsIo(kind)) continue;
      total.Add(stats);
      total_sums.Add(sums);
    }
    *out->mutable_total() = WithRate(ReportOf(total, "total"), total_sums, seconds);
    AddConfidence(BlocksOf(view, workload, v1::OPERATION_KIND_UNSPECIFIED),
                  total.histogram(total.main_metric()), out->mutable_total());
    everything.Add(total);
  }
  *report->mutable_total() =
      WithRate(ReportOf(everything, "total"), IosOf(all), view.window_seconds());
  AddConfidence(BlocksOf(view, std::nullopt, v1::OPERATION_KIND_UNSPECIFIED),
                everything.histogram(everything.main_metric()), report->mutable_total());
  AddKindRates(view, all, report);
}

const RegisterAnalysis kThroughputRegistered(order::kThroughput, "throughput", &AddThroughput);

}  // namespace
}  // namespace lockstep::controller
