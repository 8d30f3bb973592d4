#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>

#include "common/files.h"

namespace lockstep::worker {

// The backing of a loop device as the kernel has it (loop(4), LOOP_GET_STATUS64): a path may lead
// to another file by now, in a container, or below a mount.
struct LoopBacking {
  dev_t device = 0;  // of the file system that the file, or the device's node, is on
  uint64_t inode = 0;
  dev_t disk = 0;  // where it is over another device; else 0
  uint64_t offset = 0;
  uint64_t size_limit = 0;  // 0: to the end
};

// `fd`: the loop device or one of its partitions. Nothing where it is neither, or not attached. The
// kernel asks the file system of the file, which may not answer.
std::optional<LoopBacking> LoopBackingOf(int fd);
// The file underneath, opened for reading by its path; invalid where that leads to another one by
// now, or to none, or where the device is over no regular file.
common::FileDescriptor OpenBackingFile(int fd);

}  // namespace lockstep::worker
