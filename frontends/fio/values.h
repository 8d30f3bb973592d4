#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
namespace lockstep::frontends::fio {

// Values as fio reads them, with its surprises: fractions are cut off, `kib` is 1000 and `k` 1024
// unless kb_base is 1000, a blank before a number hides its unit, an unknown unit counts as none.
// All functions are pure; nothing for a text that fio refuses.

enum class Units { kNone, kBytes, kTime };

struct Number {
  int64_t value = 0;
  char mark = 0;  // '%' or 'z' if the value has this in place of a unit
};
std::optional<Number> ParseBytes(absl::string_view text, int kb_base);
// Microseconds; a number without a unit counts as seconds, milliseconds or microseconds.
enum class TimeUnit : int64_t { kMicroseconds = 1, kMilliseconds = 1000, kSeconds = 1000000 };
std::optional<int64_t> ParseTime(absl::string_view text, TimeUnit without_unit);
// A number without a unit: the letters behind it are overlooked.
std::optional<int64_t> ParseInteger(absl::string_view text);
std::optional<double> ParseReal(absl::string_view text);

// + - * / % ^ and brackets over numbers, whose units count if `units` says so.
std::optional<double> Evaluate(absl::string_view text, Units units, int kb_base);

// The values for read, write and trim of `a,b,c`. The last one that is given holds for the rest;
// an empty one stays empty, and with it the rest behind a comma.
struct Directions {
  std::string read, write, trim;
};
Directions SplitDirections(const std::string& text);

// `a:b`, with `\:` for a colon.
std::vector<std::string> SplitColons(absl::string_view text);

// A part of a bssplit or of zones: a size and its percentage. Parts without one share the rest.
struct Part {
  std::string text;
  double percent = 0;
};
std::optional<std::vector<Part>> ParseParts(absl::string_view text);

// `0-3,8`: at most 8,192 numbers.
std::optional<std::vector<uint32_t>> ParseNumbers(absl::string_view text);

}  // namespace lockstep::frontends::fio
