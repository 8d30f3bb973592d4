#pragma once

#include <memory>

#include "worker/engine/io_engine.h"

namespace lockstep::worker {

// io_uring with registered files and buffers and, where the kernel has them (6.1), single issuer and deferred task
// work; falls back one step at a time, with a note. See io_uring_setup(2), io_uring_register(2).
std::unique_ptr<IoEngine> NewUringEngine();

}  // namespace lockstep::worker
