#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"

namespace lockstep::controller {

// Tokens by which a person confirms what was shown: TIME-HASH, both in hexadecimal digits. The hash
// covers the time and the text, under a key that only controllers of one store have: a token is
// made by showing, and by nothing else. Immutable; thread-safe.
class ConfirmTokens {
 public:
  // `secret`: the store's. Tokens of one purpose are worth nothing for another.
  ConfirmTokens(const std::string& secret, const std::string& purpose);

  // `wall_ns`: since 1970. Two calls in one second for one text give the same token.
  std::string Make(const std::string& text, int64_t wall_ns) const;
  // INVALID_ARGUMENT for what is no token, FAILED_PRECONDITION for one that is older than
  // limits::kPlanTokenSeconds, or from the future: "was made 30 h ago; at most 24 h may pass".
  absl::Status CheckAge(const std::string& token, int64_t wall_ns) const;
  // Whether the token is of exactly this text, whatever its age.
  bool IsOf(const std::string& token, const std::string& text) const;

 private:
  std::string Hash(uint64_t seconds, const std::string& text) const;
  const std::string key_;
};

}  // namespace lockstep::controller
