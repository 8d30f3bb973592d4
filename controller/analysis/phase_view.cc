#include "controller/analysis/phase_view.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "controller/plan/loads.h"

namespace lockstep::controller {

PhaseView::PhaseView(const measure::RunData& data, const measure::PhaseData& phase,
                     const measure::PhaseSeries& series,
                     const measure::SteadyState::Verdict* steady)
    : data_(data),
      phase_(phase),
      series_(series),
      load_(LoadOf(data.run.job, phase.phase.spec)),
      steady_(steady) {}

const measure::RunWorker* PhaseView::WorkerOf(uint32_t index) const {
  for (const measure::RunWorker& worker : data_.workers) {
    if (worker.worker_index == index) return &worker;
  }
  return nullptr;
}

std::string PhaseView::HostOf(uint32_t index) const {
  const measure::RunWorker* worker = WorkerOf(index);
  return worker == nullptr ? absl::StrCat("worker ", index) : worker->host;
}

std::vector<const measure::RunWorker*> PhaseView::Absent() const {
  std::vector<const measure::RunWorker*> absent;
  for (const measure::RunWorker& worker : data_.workers) {
    const bool there = std::any_of(
        phase_.workers.begin(), phase_.workers.end(),
        [&](const measure::WorkerPhaseData& w) { return w.worker_index == worker.worker_index; });
    if (!there) absent.push_back(&worker);
  }
  return absent;
}

bool PhaseView::IsSynthetic() const {
  return std::any_of(
      data_.workers.begin(), data_.workers.end(),
      [](const measure::RunWorker& worker) { return worker.inspection.synthetic(); });
}

bool PhaseView::HasNullTarget(const v1::Workload& workload) const {
  const int target =
      workload.targets().empty() ? -1 : FindTarget(data_.run.job, workload.targets(0));
  return target >= 0 && data_.run.job.targets(target).has_null();
}

double PhaseView::window_seconds() const {
  const measure::Window& window = series_.window();
  if (window.intervals != 0) return static_cast<double>(window.end_ns - window.begin_ns) / 1e9;
  const auto end_ns = static_cast<int64_t>(DoneOf(phase_).last_seconds * 1e9);
  return static_cast<double>(end_ns - phase_.phase.ramp_ns) / 1e9;
}

double PhaseView::WorkloadSeconds(uint32_t workload) const {
  // Of others, time without an I/O at the end is the storage's.
  if (static_cast<int>(workload) >= load().workloads_size() ||
      !HasOwnEnd(load().workloads(static_cast<int>(workload)))) {
    return window_seconds();
  }
  const measure::Window& window = series_.window();
  double end = 0;
  const auto last = [&](const std::map<uint32_t, double>& ends) {
    const auto found = ends.find(workload);
    if (found != ends.end()) end = std::max(end, found->second);
  };
  last(window.last_io_seconds);
  for (const measure::WorkerPhaseData& worker : phase_.workers) {
    if (window.intervals != 0) break;
    if (worker.has_result) last(series_.Of(worker.worker_index).last_io_seconds);
  }
  const double begin =
      window.intervals != 0
          ? static_cast<double>(window.begin_ns) / 1e9
          : std::min(static_cast<double>(phase_.phase.ramp_ns) / 1e9, DoneOf(phase_).last_seconds);
  return std::min(window_seconds(), end - begin);
}

std::map<measure::WorkloadKind, measure::IoSums> PhaseView::InWindow(uint32_t worker) const {
  const measure::WorkerSeries& series = series_.Of(worker);
  return series_.window().intervals != 0 ? series.window : series.Measured();
}

Done DoneOf(const measure::PhaseData& phase) {
  Done done;
  bool any = false;
  for (const measure::WorkerPhaseData& worker : phase.workers) {
    if (!PhaseView::Worked(worker)) continue;
    const double seconds = PhaseView::DoneSeconds(worker);
    done.first_seconds = any ? std::min(done.first_seconds, seconds) : seconds;
    done.last_seconds = std::max(done.last_seconds, seconds);
    any = true;
  }
  return done;
}

measure::IoSums IosOf(const std::map<measure::WorkloadKind, measure::IoSums>& sums) {
  measure::IoSums ios;
  for (const auto& [key, sum] : sums) {
    if (measure::IsIo(key.second)) ios.Add(sum);
  }
  return ios;
}

v1::OperationReport WithRate(v1::OperationReport report, const measure::IoSums& sums,
                             double seconds) {
  if (seconds <= 0) return report;
  report.set_iops(static_cast<double>(sums.operations) / seconds);
  report.set_bytes_per_second(static_cast<double>(sums.bytes) / seconds);
  return report;
}

}  // namespace lockstep::controller
