#pragma once

#include <memory>

#include "common/clock.h"
#include "worker/engine/io_engine.h"

namespace lockstep::worker {

// How long I/Os of no storage take. All durations in nanoseconds.
struct NullScript {
  int64_t latency_ns = 0;
  // From the first I/O on, a stall of `stall_ns` begins every `stall_every_ns` (0: never): what
  // would complete during it completes at its end.
  int64_t stall_every_ns = 0;
  int64_t stall_ns = 0;
};

// No storage: every I/O succeeds when the script says so, any number of them side by side. `clock`
// outlives the engine; a simulated one makes it a device of virtual time.
std::unique_ptr<IoEngine> NewNullEngine(const NullScript& script, const common::Clock* clock);

}  // namespace lockstep::worker
