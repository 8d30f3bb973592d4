#pragma once

#include <memory>

#include "worker/engine/io_engine.h"

namespace lockstep::worker {

// Linux native AIO: io_submit(2), and completions taken from the ring that the kernel shares with
// the process, by io_getevents(2) only to wait. Without O_DIRECT io_submit blocks until each I/O is
// done. Trims are done at once, by a call of their own.
std::unique_ptr<IoEngine> NewLibaioEngine();

}  // namespace lockstep::worker
