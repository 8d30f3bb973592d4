#pragma once

#include <string>

#include "absl/status/status.h"
#include "common/files.h"
#include "worker/host/kernel_uses.h"

namespace lockstep::worker {

// Gives the mount other options: `value` as PlanRemount() gives it, flags of the mount and options
// of the file system ("rw,noatime;nobarrier"). `mount` is an open descriptor of its root. A file
// system mounted over that path later is not changed. Errors name `target`.
absl::Status Remount(const common::FileDescriptor& mount, const std::string& target,
                     const std::string& value);

// The options to write to one mount in order to restore those of its file system that were changed
// through another one. `before`: OptionsOf() that one, `restore_to`: as planned for it. The mount
// keeps its own flags.
std::string RestoreThrough(const MountEntry& mount, const std::string& before,
                           const std::string& restore_to);

}  // namespace lockstep::worker
