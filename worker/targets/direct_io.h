#pragma once

#include <sys/types.h>

#include <string>

#include "common/files.h"

namespace lockstep::worker {

// Whether the kernel does direct I/O on the file that is open as `fd` through the page cache, where
// any size and offset will do: ext4 does, on files whose data it journals. False where the kernel
// does not tell (statx(2), STATX_DIOALIGN: from Linux 6.1 on). O_PATH will do.
bool HasBufferedDirectIo(const common::FileDescriptor& fd);

// Whether this text of /proc/fs/ext4/NAME/options is that of a file system that journals the data
// of all its files (data=journal). Pure.
bool HasDataJournal(const std::string& ext4_options);

// The same of the file system on the device with this number; false if it is no ext4.
bool JournalsData(dev_t number);

}  // namespace lockstep::worker
