#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "controller/analysis/report.h"
#include "proto/report.pb.h"
#include "storage/store.h"

namespace lockstep::controller {

inline v1::PhaseId IdOf(const std::string& run_id, const measure::PhaseRecord& phase) {
  v1::PhaseId id;
  id.set_run_id(run_id);
  id.set_phase(phase.phase);
  id.set_attempt(phase.attempt);
  return id;
}
inline storage::IntervalDetail DetailOf(WithIntervals with) {
  return with == WithIntervals::kLatencies ? storage::IntervalDetail::kLatencies
                                           : storage::IntervalDetail::kHosts;
}
// How the run's intervals are read; the store outlives it.
ReadIntervals IntervalsOf(storage::Store* store, const std::string& run_id);

// The report of a stored run; its intervals are read as a stream. Takes as long as the run has
// rows: do not call it on a thread for which others wait.
absl::StatusOr<v1::Report> ReportOf(storage::Store* store, const std::string& run_id);

// Stores timelines of the run's phases that have none, from the intervals that are stored: of runs
// of older versions. Runs whose samples were pruned get none.
absl::Status SaveTimelines(storage::Store* store, const std::string& run_id);

}  // namespace lockstep::controller
