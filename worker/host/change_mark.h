#pragma once

#include <sys/types.h>

#include <string>

#include "absl/status/statusor.h"

namespace lockstep::worker {

// Writes what lies dirty in the page cache of a device, or of any other name of its bytes
// (KernelBlocks::AliasesOf()), so that reads find it. `fd`: the device, open for reading. Errors
// are ignored: a read then finds what is on the device. Thread-safe.
void FlushAllNames(dev_t number, int fd);

// A text that becomes another one when this kernel writes to the bytes of a device, or discards
// them, under whichever of their names: the device itself, the disk of a partition, the paths of a
// multipath device, the file of a loop device, or other loop devices over any of these. It flushes
// all of them first.
//
// It is made of the kernel's counters since its start (/sys/dev/block/…/stat,
// Documentation/block/stat.rst) and, of a loop device's file, of size, mtime and ctime. A file that
// was changed a moment ago is waited for, up to 2 s where its file system keeps whole seconds. Not
// in it: what other hosts write, what is written past a mapped device (LVM, md, dm-crypt) through
// the disks that it is made of, and what root exchanges below a file's times (XFS_IOC_SWAPEXT).
//
// `fd`: the device, open for reading; `path` is for messages. FAILED_PRECONDITION where a write
// would leave no trace: counters that are switched off, a loop device's file that cannot be seen
// from here, is in memory, or is changed all the time. Thread-safe.
absl::StatusOr<std::string> ChangeMark(dev_t number, int fd, const std::string& path);

}  // namespace lockstep::worker
