#include "worker/engine/blocking_ops.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>

#include "common/timing.h"

namespace lockstep::worker {
namespace {

int32_t ResultOf(int result) { return result < 0 ? -errno : 0; }

}  // namespace

int64_t MonotonicNowNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * timing::kSecond + now.tv_nsec;
}

int32_t SyncNow(const EngineFile& file, SyncMode mode) {
  switch (mode) {
    case SyncMode::kFsync:
      return ResultOf(fsync(file.descriptor()));
    case SyncMode::kFdatasync:
      return ResultOf(fdatasync(file.descriptor()));
    case SyncMode::kSyncFileRange:
      break;
  }
  // A length of 0 means to the end of the file (sync_file_range(2)).
  return ResultOf(sync_file_range(
      file.descriptor(), 0, 0,
      SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER));
}

int32_t TrimNow(const EngineFile& file, uint64_t offset, uint32_t length) {
  if (file.is_block_device()) {
    // On a block device fallocate(2) makes zeros (blkdev_fallocate()), for which some devices have
    // no command. The job wants a discard, as io_uring's command is.
    uint64_t range[2] = {offset, length};
    return ResultOf(ioctl(file.descriptor(), BLKDISCARD, range));
  }
  // FALLOC_FL_PUNCH_HOLE is refused without FALLOC_FL_KEEP_SIZE (fallocate(2)).
  return ResultOf(fallocate(file.descriptor(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                            static_cast<off_t>(offset), length));
}

}  // namespace lockstep::worker
