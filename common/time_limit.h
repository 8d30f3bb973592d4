#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"

namespace lockstep::common {

// Does `work` on a thread of its own and waits for at most `limit_ns`, so that a device or a file
// system that does not answer holds nobody up. DEADLINE_EXCEEDED when the time is over. The thread
// then stays until the kernel returns. Until then further calls with the same `what` are refused at
// once, also with DEADLINE_EXCEEDED, so that threads do not pile up: only calls that began before
// the first one was overdue may hang, too. RESOURCE_EXHAUSTED if no thread can be started. `work`
// must own what it uses. Thread-safe.
absl::Status WithinLimit(const std::string& what, int64_t limit_ns,
                         std::function<absl::Status()> work);

// The same for work that changes something. It calls `begin` right before its first change, and
// changes nothing where that returns false: the caller has given up by then. The message of
// DEADLINE_EXCEEDED says whether the change had begun, and may still be finished.
using BeginChange = std::function<bool()>;
absl::Status ChangeWithinLimit(const std::string& what, int64_t limit_ns,
                               std::function<absl::Status(const BeginChange& begin)> work);

}  // namespace lockstep::common
