#include "controller/service/reports.h"

#include "controller/analysis/report.h"

namespace lockstep::controller {

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
  return BuildReport(
      *data, [&](const measure::PhaseRecord& phase, WithIntervals with, const TakeInterval& take) {
        v1::PhaseId id;
        id.set_run_id(run_id);
        id.set_phase(phase.phase);
        id.set_attempt(phase.attempt);
        return store->ReadIntervals(id,
                                    with == WithIntervals::kLatencies
                                        ? storage::IntervalDetail::kLatencies
                                        : storage::IntervalDetail::kHosts,
                                    take);
      });
}

}  // namespace lockstep::controller
