// What did each host do, and when?

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "controller/analysis/analysis.h"
#include "controller/analysis/latency.h"
#include "measure/result_stats.h"

namespace lockstep::controller {
namespace {

// Without the rare percentiles: there may be a thousand hosts.
v1::OperationReport Usual(v1::OperationReport report) {
  auto* percentiles = report.mutable_percentiles();
  percentiles->erase(
      std::remove_if(percentiles->begin(), percentiles->end(),
                     [](const v1::Percentile& p) {
                       static constexpr double kUsual[] = {50, 90, 95, 99, 99.9, 99.99};
                       return std::find(std::begin(kUsual), std::end(kUsual), p.percent()) ==
                              std::end(kUsual);
                     }),
      percentiles->end());
  return report;
}

// The figures of the worker's part of each workload.
void AddWorkloads(const PhaseView& view, const measure::WorkerPhaseData& worker,
                  v1::HostReport* host) {
  for (const v1::WorkloadResult& result : worker.result.workloads()) {
    if (static_cast<int>(result.workload()) >= view.load().workloads_size()) continue;
    v1::HostWorkloadReport* out = host->add_workloads();
    out->set_name(view.load().workloads(static_cast<int>(result.workload())).name());
    auto sums = view.InWindowOf(result.workload(), worker.worker_index);
    // The others' time is none of a part that ended before it.
    const double seconds = view.EndedInRamp(result) ? 0 : view.WorkloadSeconds(result.workload());
    measure::StatsOfKinds kinds;
    measure::AddMeasured(result, &kinds);
    for (const auto& [kind, stats] : kinds) {
      *out->add_operations() = WithRate(Usual(ReportOf(stats, KindText(kind))),
                                        sums[{result.workload(), kind}], seconds);
    }
  }
}

// How long the worker's quota was used up. Its intervals tell, as they tell of a stretch, so that
// both are one evidence. The count over the load stands in for them where there are none.
void SetThrottled(const measure::WorkerSeries& series, const v1::PhaseResult& result,
                  v1::HostReport* host) {
  host->set_throttled_ratio(result.throttled_ratio());
  if (series.quota.samples == 0 || !(series.measured_seconds > 0)) return;
  host->set_throttled_ratio(
      std::min(1.0, series.quota.throttled_seconds / series.measured_seconds));
  host->set_throttled_ratio_max(series.quota.max_ratio);
}

// `begin_seconds`: of the phase's first point.
void AddHost(const PhaseView& view, const measure::WorkerPhaseData& worker, double begin_seconds,
             v1::HostReport* host) {
  const measure::WorkerSeries& series = view.series().Of(worker.worker_index);
  host->set_host(view.HostOf(worker.worker_index));
  host->set_worker_index(worker.worker_index);
  host->set_lost(!worker.has_result);
  const std::vector<double> points = view.PointsOf(series, series.rates.iops, begin_seconds);
  host->mutable_iops_by_interval()->Assign(points.begin(), points.end());
  // A lost host does not take part in the window, which would end where the host was lost. Its
  // rates are over the samples that arrived.
  const measure::IoSums sums =
      IosOf(worker.has_result ? view.InWindow(worker.worker_index) : series.Measured());
  const double seconds = !worker.has_result         ? series.measured_seconds
                         : view.EndedInRamp(worker) ? 0
                                                    : view.window_seconds();
  if (seconds > 0) {
    host->set_iops(static_cast<double>(sums.operations) / seconds);
    host->set_bytes_per_second(static_cast<double>(sums.bytes) / seconds);
  }
  measure::StatsOfKinds kinds;
  for (const v1::WorkloadResult& result : worker.result.workloads()) {
    measure::AddMeasured(result, &kinds);
  }
  const measure::OperationStats ios = measure::Ios(kinds);
  const common::Histogram& latencies = ios.histogram(ios.main_metric());
  if (const double p50 = latencies.PercentileIfAbove(50); p50 > 0) host->set_p50_ns(p50);
  if (const double p99 = latencies.PercentileIfAbove(99); p99 > 0) host->set_p99_ns(p99);
  if (worker.has_result) {
    host->set_errors(static_cast<double>(ios.counts().errors));
    *host->mutable_total() = WithRate(Usual(ReportOf(ios, "total")), sums, seconds);
    AddWorkloads(view, worker, host);
    SetThrottled(series, worker.result, host);
  }
  if (worker.result.tcp_segments() > 0) {
    host->set_tcp_retransmit_ratio(static_cast<double>(worker.result.tcp_retransmits()) /
                                   static_cast<double>(worker.result.tcp_segments()));
  }
  *host->mutable_throttles() = worker.result.throttles();
  if (PhaseView::Worked(worker)) host->set_last_done_seconds(PhaseView::DoneSeconds(worker));
}

// A point that a host lacks is not known of the fleet either: the sum has NaN there, too. A host
// whose load has ended adds nothing to later points.
void AddFleetSeries(const PhaseView& view, double begin, v1::PhaseReport* report) {
  std::vector<double> fleet;
  const bool all_lost = std::all_of(report->hosts().begin(), report->hosts().end(),
                                    [](const v1::HostReport& host) { return host.lost(); });
  for (const v1::HostReport& host : report->hosts()) {
    fleet.resize(std::max(fleet.size(), static_cast<size_t>(host.iops_by_interval_size())));
    // A lost host is in no figure of the phase, and its series ends where it was lost: the sum
    // would fall there. Of a phase that has no other hosts, theirs are all that is known.
    if (host.lost() && !all_lost) continue;
    for (int i = 0; i < host.iops_by_interval_size(); ++i) fleet[i] += host.iops_by_interval(i);
  }
  report->mutable_iops_by_interval()->Assign(fleet.begin(), fleet.end());
  report->set_intervals_per_point(view.series().points_step());
  // Without a measured interval the beginning stays infinite, which JSON cannot hold.
  if (std::isfinite(begin)) report->set_points_begin_seconds(begin);
}

void AddHosts(const PhaseView& view, v1::PhaseReport* report) {
  const double begin = view.PointsBeginSeconds();
  for (const measure::WorkerPhaseData& worker : view.phase().workers) {
    AddHost(view, worker, begin, report->add_hosts());
    // throughput.cc has found out whether the workloads have windows of their own.
    if (worker.has_result && report->kind_rates_size() > 0) {
      SetKindRates(view.InWindow(worker.worker_index), view.window_seconds(),
                   report->mutable_hosts(report->hosts_size() - 1)->mutable_kind_rates());
    }
  }
  // Absent hosts come last: fairness.cc finds a host's row by the position of its worker.
  for (const measure::RunWorker* worker : view.Absent()) {
    v1::HostReport* host = report->add_hosts();
    host->set_host(worker->host);
    host->set_worker_index(worker->worker_index);
    host->set_lost(true);
  }
  AddFleetSeries(view, begin, report);
}

const RegisterAnalysis kHostsRegistered(order::kHosts, "hosts", &AddHosts);

}  // namespace
}  // namespace lockstep::controller
