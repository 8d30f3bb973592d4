#pragma once

#include <map>
#include <string>

#include "absl/status/statusor.h"

namespace lockstep::worker {

// The abstract socket on which multipathd answers questions (multipathd(8)).
inline constexpr char kMultipathdSocket[] = "/org/kernel/linux/storage/multipathd";

// The state of a path as multipathd has it.
struct MultipathdState {
  std::string dm;       // active, failed, undef: whether the kernel sends it I/O
  std::string checker;  // ready, faulty, ghost, shaky, …
};

// All paths by their kernel's name: sdb. Waits for 200 ms for each part of the answer. UNAVAILABLE
// where no multipathd answers within that, INVALID_ARGUMENT when the answer is none. `socket` is
// the abstract socket's name. Thread-safe.
absl::StatusOr<std::map<std::string, MultipathdState>> QueryMultipathd(
    const std::string& socket = kMultipathdSocket);

}  // namespace lockstep::worker
