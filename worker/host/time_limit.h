#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"

namespace lockstep::worker {

// Does `work` on a thread of its own, and gives up waiting after so long: a device or a file system
// that does not answer holds nobody up. DEADLINE_EXCEEDED then; the thread stays until the kernel
// lets it go, and as long as it does the same `what` is refused at once, so that never more than
// one thread hangs in it. `work` keeps alive itself what it uses. Thread-safe.
absl::Status WithinLimit(const std::string& what, int64_t limit_ns,
                         std::function<absl::Status()> work);

}  // namespace lockstep::worker
