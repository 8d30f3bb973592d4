#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace lockstep::pki {

// How long a certificate is to be valid: "365d", "12h", "30m", from a second to 36,500 days.
// INVALID_ARGUMENT, naming `flag`, the option, for anything else. Pure.
absl::StatusOr<absl::Duration> ParseValidity(const std::string& flag, const std::string& text);

}  // namespace lockstep::pki
