#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace lockstep::frontends::vdbench {

// The limits of a transfer, in bytes.
inline constexpr int64_t kMinBlock = 512;
inline constexpr int64_t kMaxBlock = 64 << 20;
inline constexpr int64_t kMaxThreads = 1024;

// Values as vdbench reads them. All functions are pure; nothing for a text that is wrong.

inline constexpr size_t kMaxItems = 1000;  // of a list, after its ranges were expanded

// `8k`: k, m, g and t are powers of 1,024. At most 2^60.
std::optional<int64_t> ParseSize(absl::string_view text);
// Seconds: `90`, `90s`, `5m`, `2h`. At most a year.
std::optional<int64_t> ParseSeconds(absl::string_view text);
// The longest time that a phase takes, seconds, and what is said of another value.
constexpr int64_t kMaxPhaseSeconds = 100 * int64_t{86400};
constexpr char kNoPhaseTime[] = "is no time up to 100 days: 90, 5m, 2h";
// A number of at least 0, with a fraction perhaps.
std::optional<double> ParseNumber(absl::string_view text);

// The list between brackets, or the one value without them. Ranges are expanded: (1-4) by one,
// (1-64,d) doubling, (64-1,d) halving, (10-50,10) by ten, (sd1-sd8) names.
std::optional<std::vector<std::string>> ParseList(absl::string_view text);

// Whether a name matches one of the list's, which may have a * at the end.
bool Matches(absl::string_view pattern, absl::string_view name);

}  // namespace lockstep::frontends::vdbench
