#include "controller/pki/validity.h"

#include <cstdint>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/text.h"
#include "common/units.h"

namespace lockstep::pki {
namespace {

constexpr int64_t kMaxDays = 36500;

}  // namespace

// Certificates last for days, which common::ParseDuration() does not know: a day of a load's time
// would be a slip.
absl::StatusOr<absl::Duration> ParseValidity(const std::string& flag, const std::string& text) {
  int64_t days = 0;
  if (absl::EndsWith(text, "d") && absl::SimpleAtoi(text.substr(0, text.size() - 1), &days) &&
      days > 0 && days <= kMaxDays) {
    return absl::Hours(24 * days);
  }
  const auto duration = common::ParseDuration(text);
  if (duration.ok() && *duration >= 1000000000 && *duration <= kMaxDays * 86400 * 1000000000LL) {
    return absl::Nanoseconds(*duration);
  }
  return absl::InvalidArgumentError(absl::StrCat(flag, " '", common::Printable(text, 40),
                                                 "': write 365d, 12h or 30m, at most ", kMaxDays,
                                                 "d"));
}

}  // namespace lockstep::pki
