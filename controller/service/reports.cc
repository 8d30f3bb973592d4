#include "controller/service/reports.h"

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

}  // namespace lockstep::controller
