#pragma once

#include <memory>

#include "worker/engine/io_engine.h"

namespace lockstep::worker {

// io_uring with registered files and buffers and, where the kernel has them (6.1), single issuer
// and deferred task work; falls back one step at a time, with a note. A file without storage is
// the ring's no-op. Trims of files are IORING_OP_FALLOCATE, of block devices the ring's discard
// command (kernel 6.12, commit 50c52250e2d7), before that an ioctl. See io_uring_setup(2),
// io_uring_register(2), io_uring_enter(2).
std::unique_ptr<IoEngine> NewUringEngine();

}  // namespace lockstep::worker
