#include "controller/service/reports.h"

#include "controller/analysis/report.h"

namespace lockstep::controller {

absl::StatusOr<v1::Report> ReportOf(storage::Store* store, const std::string& run_id) {
  const auto data = store->LoadRun(run_id);
  if (!data.ok()) return data.status();
  return BuildReport(*data, [&](const measure::PhaseRecord& phase, const TakeInterval& take) {
    v1::PhaseId id;
    id.set_run_id(run_id);
    id.set_phase(phase.phase);
    id.set_attempt(phase.attempt);
    return store->ReadIntervals(id, storage::IntervalDetail::kHosts, take);
  });
}

}  // namespace lockstep::controller
