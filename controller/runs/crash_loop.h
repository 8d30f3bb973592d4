#pragma once

#include <map>
#include <string>

#include "absl/status/status.h"
#include "common/clock.h"
#include "storage/store.h"

namespace lockstep::controller {

// Ends the runs in progress that have crashed `limits::kPoisonedStarts` controllers, each with an
// event, before they are resumed. `crashes`: how many, by run. Their workers may still be writing,
// so that their targets are held as those of lost workers are.
absl::Status QuarantineCrashing(storage::RunStore* store, const std::map<std::string, int>& crashes,
                                const common::Clock* clock);

// Ends one run in progress as failed, with an event, and holds its targets in the same way.
absl::Status QuarantineRun(storage::RunStore* store, const storage::ActiveRun& run,
                           const std::string& reason, const common::Clock* clock);

}  // namespace lockstep::controller
