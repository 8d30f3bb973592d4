#include "controller/service/reports.h"

#include <limits>

#include "controller/plan/loads.h"
#include "measure/phase_series.h"

namespace lockstep::controller {

ReadIntervals IntervalsOf(storage::Store* store, const std::string& run_id) {
  return [store, run_id](const measure::PhaseRecord& phase, WithIntervals with,
                         const TakeInterval& take) {
    return store->ReadIntervals(IdOf(run_id, phase), DetailOf(with), take);
  };
}

absl::StatusOr<v1::Report> ReportOf(storage::Store* store, const std::string& run_id) {
  auto kept = store->KeptReport(run_id);
  if (!kept.ok()) return kept.status();
  if (kept->has_value()) {
    const auto run = store->GetRun(run_id);
    if (!run.ok()) return run.status();
    v1::Report report = **std::move(kept);
    *report.mutable_run()->mutable_labels() = run->job.labels();
    report.set_samples_pruned(true);
    return report;
  }
  const auto data = store->LoadRun(run_id);
  if (!data.ok()) return data.status();
  return BuildReport(*data, IntervalsOf(store, run_id));
}

absl::Status SaveTimelines(storage::Store* store, const std::string& run_id) {
  const auto data = store->LoadRun(run_id);
  if (!data.ok()) return data.status();
  for (const measure::PhaseData& phase : data->phases) {
    const v1::PhaseId id = IdOf(run_id, phase.phase);
    if (!IsLoad(phase.phase.spec) || store->FleetTimeline(id).ok()) continue;
    measure::PhaseSeries::Options options;
    options.workloads = std::numeric_limits<uint32_t>::max();  // checked when they came in
    options.keeps_timeline = true;
    for (const measure::WorkerPhaseData& worker : phase.workers) {
      options.workers.insert(worker.worker_index);
    }
    measure::PhaseSeries series(options);
    absl::Status status =
        store->ReadIntervals(id, storage::IntervalDetail::kTimeline,
                             [&](uint32_t worker, const v1::IntervalSample& sample) {
                               const absl::Status added = series.Add(worker, sample);
                               (void)series.TakeComplete();
                               return added;
                             });
    (void)series.Finish();
    if (status.ok() && !series.timeline().empty()) {
      status = store->SaveTimeline(id, series.timeline());
    }
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace lockstep::controller
