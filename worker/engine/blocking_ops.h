#pragma once

#include <cstdint>

#include "worker/engine/io_engine.h"

namespace lockstep::worker {

// The operations that some engines can only do by a call of their own, which returns when it is
// done. Results as in IoCompletion: 0 or -errno.

// fsync(2), fdatasync(2), or sync_file_range(2) of the whole file, waiting.
int32_t SyncNow(const EngineFile& file, SyncMode mode);
// CLOCK_MONOTONIC, for deadlines of calls that the kernel waits in.
int64_t MonotonicNowNs();
// Blocks: the BLKDISCARD ioctl. Files: fallocate(2) with FALLOC_FL_PUNCH_HOLE, which keeps the
// size.
int32_t TrimNow(const EngineFile& file, uint64_t offset, uint32_t length);

}  // namespace lockstep::worker
