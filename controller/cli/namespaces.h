#pragma once

#include <sys/types.h>

#include <functional>
#include <string>

#include "absl/status/statusor.h"

namespace lockstep::cli {

// Hosts on one machine, as anonymous network namespaces: they have no names, so that all of it is
// gone when the last process in it has ended, however it ended. Needs root and iproute2.

// Moves this process into a network namespace of its own with a bridge at `kBridgeAddress`. Call it
// before any thread is started. PERMISSION_DENIED or UNAVAILABLE with the reason, and nothing
// changed for others, when it cannot be done.
absl::Status EnterPrivateNetwork();
inline constexpr char kBridgeAddress[] = "10.77.0.1";

// Forks a process with a network namespace and host name of its own, linked to the bridge as
// 10.77.0.(10+number), which then calls `run` (it execs and does not return). Returns its pid.
absl::StatusOr<pid_t> ForkIntoHost(int number, const std::string& host_name,
                                   const std::function<void()>& run);

}  // namespace lockstep::cli
