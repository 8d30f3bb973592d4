#pragma once

#include <string>

#include "absl/status/status.h"

namespace lockstep::common {

// INVALID_ARGUMENT unless it is HOST:PORT, with a port up to 65535, or unix:PATH.
absl::Status CheckAddress(const std::string& address);
// HOST of HOST:PORT, without brackets.
std::string HostOf(const std::string& address);
// Whether HOST of HOST:PORT can only be reached from this machine: an address in 127.0.0.0/8 or
// ::1, `localhost` where it resolves to nothing else, or unix:. Any other name is not: what it
// resolves to may change.
bool IsLoopback(const std::string& address);

}  // namespace lockstep::common
