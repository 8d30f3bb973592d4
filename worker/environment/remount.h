#pragma once

#include <string>

#include "absl/status/status.h"

namespace lockstep::worker {

// Mounts what is mounted there with other options: `value` as PlanRemount() gives it, flags of the
// mount and options of the file system ("rw,noatime;nobarrier").
absl::Status Remount(const std::string& target, const std::string& value);

}  // namespace lockstep::worker
