#include "controller/plan/confirm_tokens.h"

#include <optional>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/limits.h"
#include "common/signing.h"
#include "common/timing.h"

namespace lockstep::controller {
namespace {

// 96 bits of the HMAC cannot be guessed, and the token still fits on a command line.
constexpr size_t kHashBytes = 12;
// Eight hexadecimal digits hold the seconds since 1970 until 2106.
constexpr size_t kTimeDigits = 8;
// Another controller may have made the token, and its wall clock may be ahead.
constexpr int64_t kClockStepSeconds = 300;

std::optional<uint64_t> TimeOf(const std::string& token) {
  uint64_t seconds = 0;
  if (token.size() != kTimeDigits + 1 + 2 * kHashBytes || token[kTimeDigits] != '-' ||
      !absl::SimpleHexAtoi(token.substr(0, kTimeDigits), &seconds)) {
    return std::nullopt;
  }
  return seconds;
}

}  // namespace

ConfirmTokens::ConfirmTokens(const std::string& secret, const std::string& purpose)
    : key_(common::KeyedHash(secret, purpose)) {}

std::string ConfirmTokens::Hash(uint64_t seconds, const std::string& text) const {
  const std::string all = absl::StrCat(seconds, "\n", text);
  return absl::BytesToHexString(common::KeyedHash(key_, all).substr(0, kHashBytes));
}

std::string ConfirmTokens::Make(const std::string& text, int64_t wall_ns) const {
  const auto seconds = static_cast<uint64_t>(wall_ns / timing::kSecond);
  return absl::StrFormat("%08x-%s", seconds, Hash(seconds, text));
}

absl::Status ConfirmTokens::CheckAge(const std::string& token, int64_t wall_ns) const {
  const auto seconds = TimeOf(token);
  if (!seconds) return absl::InvalidArgumentError("is no token");
  const int64_t age = wall_ns / timing::kSecond - static_cast<int64_t>(*seconds);
  if (age <= limits::kPlanTokenSeconds && age >= -kClockStepSeconds) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("was made ", age / 3600, " h ago; at most ",
                                                    limits::kPlanTokenSeconds / 3600,
                                                    " h may pass"));
}

bool ConfirmTokens::IsOf(const std::string& token, const std::string& text) const {
  const auto seconds = TimeOf(token);
  // The whole token is made again and compared, so that a forged time fails as well.
  return seconds &&
         common::IsSameSecret(token, absl::StrFormat("%08x-%s", *seconds, Hash(*seconds, text)));
}

}  // namespace lockstep::controller
