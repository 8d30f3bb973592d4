#include "common/units.h"

#include <charconv>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"

namespace lockstep::common {
namespace {

using Factors = std::vector<std::pair<std::string, double>>;

struct Split {
  double number = 0;
  std::string unit;
};

// "4.5 KiB" to 4.5 and "KiB". False when no finite, non-negative number stands in front.
bool SplitNumber(const std::string& text, Split* split) {
  const char* begin = text.data();
  const char* end = begin + text.size();
  // strtod(3) would read what the locale takes for a decimal point.
  const auto [rest, error] = std::from_chars(begin, end, split->number);
  if (error != std::errc() || !std::isfinite(split->number) || split->number < 0) return false;
  split->unit.assign(rest, end);
  while (!split->unit.empty() && split->unit.front() == ' ') split->unit.erase(0, 1);
  return true;
}

absl::Status NotA(const std::string& text, const char* what, const char* accepted) {
  return absl::InvalidArgumentError(
      absl::StrCat("'", text, "' is not a ", what, "; write ", accepted));
}

absl::StatusOr<double> Parse(const std::string& text, const Factors& factors, const char* what,
                             const char* accepted) {
  Split split;
  if (!SplitNumber(text, &split)) return NotA(text, what, accepted);
  for (const auto& [unit, factor] : factors) {
    if (split.unit == unit) return split.number * factor;
  }
  // People write 4kb and 1m as well.
  for (const auto& [unit, factor] : factors) {
    if (absl::EqualsIgnoreCase(split.unit, unit)) return split.number * factor;
  }
  return NotA(text, what, accepted);
}

const Factors& SizeFactors() {
  // The table is never destroyed, so that no destructor at exit takes it from a thread that still
  // parses.
  static const Factors* factors = [] {
    auto* made = new Factors{{"", 1}, {"B", 1}, {"K", 1024}, {"kiB", 1024}};
    double binary = 1024;
    double decimal = 1000;
    for (const char* prefix : {"k", "M", "G", "T", "P"}) {
      const std::string letter(prefix);
      const std::string upper = letter == "k" ? "K" : letter;
      made->emplace_back(letter, binary);
      made->emplace_back(upper + "iB", binary);
      made->emplace_back(upper + "i", binary);
      made->emplace_back(letter + "B", decimal);
      binary *= 1024;
      decimal *= 1000;
    }
    return made;
  }();
  return *factors;
}

std::string ThreeDigits(double value) {
  // From here on the next smaller format would round up to a fourth digit.
  if (value >= 99.95) return absl::StrFormat("%.0f", value);
  if (value >= 9.995) return absl::StrFormat("%.1f", value);
  return absl::StrFormat("%.2f", value);
}

// Divides the value until it is below a step, and returns the index of its unit.
size_t ScaleDown(double step, size_t units, double* value) {
  size_t index = 0;
  // A value that three digits would round up to a full step takes the next unit.
  while (index + 1 < units && *value >= step * 0.9995) {
    *value /= step;
    ++index;
  }
  return index;
}

std::string Scaled(double value, double step, const std::vector<const char*>& units) {
  const size_t index = ScaleDown(step, units.size(), &value);
  // A whole number is exact as it stands: "4 KiB" and not "4.00 KiB".
  const bool whole = value == std::floor(value) && value < 10000;
  return absl::StrCat(whole ? absl::StrFormat("%.0f", value) : ThreeDigits(value), " ",
                      units[index]);
}

// A measured value always has three digits: 28.0 beside 28.3, and not 28.
std::string MeasuredRate(double value, double step, const std::vector<const char*>& units) {
  if (value == 0) return absl::StrCat("0 ", units[0]);
  const size_t index = ScaleDown(step, units.size(), &value);
  // Between 1,000 and 1,023 a value has four digits.
  return absl::StrCat(value >= 999.5 ? FormatCount(value) : ThreeDigits(value), " ", units[index]);
}

}  // namespace

absl::StatusOr<int64_t> ParseSize(const std::string& text) {
  const char* accepted = "4096, 4KiB, 4k";
  const auto bytes = Parse(text, SizeFactors(), "size", accepted);
  if (!bytes.ok()) return bytes.status();
  // The conversion to 64 bits is undefined from 2^63 on, which is 9.22e18.
  if (*bytes > 9.2e18) return NotA(text, "size", "something below 8 EiB");
  if (*bytes != std::floor(*bytes)) return NotA(text, "whole number of bytes", accepted);
  return static_cast<int64_t>(*bytes);
}

absl::StatusOr<int64_t> ParseDuration(const std::string& text) {
  static const Factors* factors =
      new Factors{{"ns", 1},   {"us", 1e3},   {"µs", 1e3},   {"ms", 1e6},   {"s", 1e9},
                  {"m", 60e9}, {"min", 60e9}, {"h", 3600e9}, {"d", 86400e9}};
  // 0 is the only number that means the same in all units. The table has no empty unit, so any
  // other bare number is refused.
  if (text == "0") return 0;
  const auto nanoseconds = Parse(text, *factors, "duration", "250us, 2ms, 90s, 5m, 12h");
  if (!nanoseconds.ok()) return nanoseconds.status();
  if (*nanoseconds > 9.2e18) return NotA(text, "duration", "something below 292 years");
  return static_cast<int64_t>(std::llround(*nanoseconds));
}

absl::StatusOr<double> ParseRatio(const std::string& text) {
  static const Factors* factors = new Factors{{"", 1}, {"%", 0.01}};
  return Parse(text, *factors, "share", "0.7 or 70%");
}

absl::StatusOr<double> ParseCount(const std::string& text) {
  static const Factors* factors =
      new Factors{{"", 1}, {"k", 1e3}, {"K", 1e3}, {"M", 1e6}, {"G", 1e9}};
  return Parse(text, *factors, "number", "20000, 20k, 1.5M");
}

std::string FormatSize(double bytes) {
  return Scaled(bytes, 1024, {"B", "KiB", "MiB", "GiB", "TiB", "PiB"});
}

std::string FormatDuration(double nanoseconds) {
  if (nanoseconds < 0) return absl::StrCat("-", FormatDuration(-nanoseconds));
  if (nanoseconds == 0) return "0";
  // Below two minutes seconds are easier to read: a load of 90 s would become 1.50 min.
  if (nanoseconds >= 120e9) return Scaled(nanoseconds / 60e9, 60, {"min", "h"});
  return Scaled(nanoseconds, 1000, {"ns", "µs", "ms", "s"});
}

std::string FormatPercentile(double nanoseconds, bool is_uncertain) {
  return absl::StrCat(is_uncertain ? "~" : "", FormatDuration(nanoseconds));
}

std::string FormatCount(double count) {
  // From here on the rounded number has six digits.
  if (count >= 99999.5) return Scaled(count, 1000, {"", "k", "M", "G", "T"});
  if (count < 100 && count != std::floor(count)) return absl::StrFormat("%.1f", count);
  const int64_t whole = std::llround(count);
  if (whole < 1000) return absl::StrCat(whole);
  return absl::StrFormat("%d,%03d", whole / 1000, whole % 1000);
}

std::string FormatPerIo(double count) {
  // %.3g writes 1.01e+03 from a thousand on.
  return count >= 999.5 ? FormatCount(count) : absl::StrFormat("%.3g", count);
}

std::string FormatDigits(double value, int digits) {
  // %g rounds first: 99.96 would be 1e+02 with two digits.
  return std::abs(value) >= std::pow(10, digits) - 0.5 ? absl::StrFormat("%.0f", value)
                                                       : absl::StrFormat("%.*g", digits, value);
}

std::string FormatBitRate(double bits_per_second) {
  // Networks count in powers of 1000.
  return absl::StrCat(Scaled(bits_per_second, 1000, {"bit", "kbit", "Mbit", "Gbit", "Tbit"}), "/s");
}

std::string FormatRate(double bytes_per_second) {
  return MeasuredRate(bytes_per_second, 1024, {"B/s", "KiB/s", "MiB/s", "GiB/s", "TiB/s"});
}

std::string FormatThroughput(double bytes_per_second) {
  // As fio does it: data sheets give MB/s, and block sizes times IOPS give MiB/s.
  return absl::StrCat(FormatRate(bytes_per_second), " (",
                      MeasuredRate(bytes_per_second, 1000, {"B/s", "kB/s", "MB/s", "GB/s", "TB/s"}),
                      ")");
}

std::string FormatInstant(int64_t wall_ns) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", absl::FromUnixNanos(wall_ns),
                          absl::UTCTimeZone());
}

}  // namespace lockstep::common
