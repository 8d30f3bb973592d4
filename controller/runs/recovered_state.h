#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/clock.h"
#include "controller/analysis/live_phase.h"
#include "controller/core/run_machine.h"
#include "controller/plan/written_contents.h"
#include "storage/store.h"

namespace lockstep::controller {

// The state that another controller left in the store.
struct RecoveredState {
  std::vector<measure::RunRecord> queue;
  std::vector<storage::ActiveRun> active;
  // The stored samples of each run whose last attempt is in progress, by run.
  std::map<std::string, std::shared_ptr<LivePhase>> live;
  std::vector<storage::Quarantine> quarantines;
  std::vector<measure::StampRecord> stamps;
};

// Loads the state with which this controller continues. If the samples of a phase cannot be read,
// only the phase's run fails.
absl::StatusOr<RecoveredState> RecoverState(storage::Store* store, const common::Clock* clock);

// The point at which the run's state machine continues.
ResumePoint PointOf(const storage::ActiveRun& active);

// The contents that the run may have written so far. `run` is the same run.
WrittenContents WrittenBy(const storage::ActiveRun& active, const SettledRun& run);

}  // namespace lockstep::controller
