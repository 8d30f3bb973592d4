#pragma once

#include <map>
#include <string>

#include "absl/status/status.h"
#include "common/clock.h"
#include "storage/store.h"

namespace lockstep::controller {

// Ends the runs in progress that have brought `limits::kPoisonedStarts` controllers down
// (`crashes`: by run), with an event, before anybody goes on with them. Their workers may still be
// writing: their targets are held as those of lost workers are.
absl::Status SetAside(storage::Store* store, const std::map<std::string, int>& crashes,
                      const common::Clock* clock);

}  // namespace lockstep::controller
