#pragma once

#include <string>

#include "absl/status/status.h"
#include "common/files.h"

namespace lockstep::worker {

// The path without links; empty where it leads nowhere.
std::string RealPath(const std::string& path);
// Opens the file that a descriptor (O_PATH) refers to for use: the same file, even if its name
// leads to another one by now. Invalid, with errno, when it cannot be opened.
common::FileDescriptor Reopen(const common::FileDescriptor& look, int flags);

// Opens a device for reading, for oneself alone (O_EXCL): one that is mounted in any namespace,
// held by LVM, md or dm, or by another program that asked for it alone, cannot be had. While
// somebody has it, tries again every 20 ms: `tries` times in all, by default for two seconds.
// Another worker of this kernel that only looks has it for less than that.
inline constexpr int kClaimTries = 100;
common::FileDescriptor ClaimDevice(const common::FileDescriptor& look, int tries = kClaimTries);
// Why it could not be had, by errno.
absl::Status NotClaimed(const std::string& path);

}  // namespace lockstep::worker
