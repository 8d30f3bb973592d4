#pragma once

#include <memory>

#include "worker/engine/io_engine.h"

namespace lockstep::worker {

// Uses pread(2) and pwrite(2), one request after the other. Every request is complete when
// Exchange() returns.
std::unique_ptr<IoEngine> NewSyncEngine();
// The same engine with preadv2(2) and pwritev2(2).
std::unique_ptr<IoEngine> NewPreadv2Engine();

}  // namespace lockstep::worker
