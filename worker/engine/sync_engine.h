#pragma once

#include <memory>

#include "worker/engine/io_engine.h"

namespace lockstep::worker {

// pread(2) and pwrite(2), one after the other: every request is complete when Exchange() returns.
std::unique_ptr<IoEngine> NewSyncEngine();
// The same by preadv2(2) and pwritev2(2).
std::unique_ptr<IoEngine> NewPreadv2Engine();

}  // namespace lockstep::worker
