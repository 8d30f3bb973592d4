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

// What another controller left in the store.
struct RecoveredState {
  std::vector<measure::RunRecord> queue;
  std::vector<storage::ActiveRun> active;
  // By run, of those whose last attempt is in progress: what is stored of it.
  std::map<std::string, std::shared_ptr<LivePhase>> live;
  std::vector<storage::Quarantine> held;
  std::vector<measure::StampRecord> stamps;
};

// What this controller goes on with. A phase whose samples cannot be read fails its run alone.
absl::StatusOr<RecoveredState> RecoverState(storage::Store* store, const common::Clock* clock);

// Where the run's state machine goes on.
ResumePoint PointOf(const storage::ActiveRun& active);

// What the run may have written so far, and left. `run` is the same run.
WrittenContents WrittenBy(const storage::ActiveRun& active, const SettledRun& run);

}  // namespace lockstep::controller
