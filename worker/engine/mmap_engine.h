#pragma once

#include <memory>

#include "worker/engine/io_engine.h"

namespace lockstep::worker {

// Files mapped into memory, shared: a read copies from the mapping, a write copies to it, a sync is
// msync(2). A page that cannot be had (SIGBUS: the file was cut, or the medium failed) fails that
// I/O with EIO. From the first Open() on, SIGBUS of the process is handled here; outside an I/O of
// this engine it does what it did before.
std::unique_ptr<IoEngine> NewMmapEngine();

}  // namespace lockstep::worker
