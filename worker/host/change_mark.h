#pragma once

#include <sys/types.h>

#include <string>

#include "absl/status/statusor.h"

namespace lockstep::worker {

// A text that becomes another one when this kernel writes to the bytes of a device, or discards
// them, under whichever of their names: the device itself, the disk of a partition, the paths of a
// multipath device, the file of a loop device, or other loop devices over that file. What lies
// dirty in the page cache of these names is written first (errors of that are ignored).
//
// It is made of the kernel's counters (/sys/dev/block/…/stat, Documentation/block/stat.rst) and, of
// a loop device's file, of size, mtime and ctime. Not in it: what other hosts write, and what is
// written past a mapped device (LVM, md, dm-crypt) through the disks that it is made of.
//
// `fd`: the device, open for reading; `path` is for messages. FAILED_PRECONDITION for a loop device
// whose file cannot be seen from here, and for another device whose counters are switched off:
// nobody would know who else writes it. Thread-safe.
absl::StatusOr<std::string> ChangeMark(dev_t number, int fd, const std::string& path);

}  // namespace lockstep::worker
