#pragma once

#include <memory>

#include "common/clock.h"
#include "worker/engine/registry.h"

namespace lockstep::worker {

// No storage: every I/O succeeds when the script says so, any number of them side by side. `clock`
// outlives the engine; a simulated one makes it a device of virtual time.
std::unique_ptr<IoEngine> NewNullEngine(const NullScript& script, const common::Clock* clock);

}  // namespace lockstep::worker
