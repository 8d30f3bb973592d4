#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace lockstep::common {

// Numbers as people write and read them. All functions are pure. A text that is not of the form is
// INVALID_ARGUMENT, with what was found and what is accepted: "'4q' is not a size; write 4096,
// 4KiB, 4k".

inline constexpr uint64_t kMiB = 1 << 20;

// Bytes. k, M, G, T and KiB, MiB, … are powers of 1024 (as fio and dd have it); kB, MB, … of 1000.
absl::StatusOr<int64_t> ParseSize(const std::string& text);
// Nanoseconds from 250ns, 250us, 2ms, 1.5s, 5m, 12h; a bare number other than 0 is refused as
// ambiguous.
absl::StatusOr<int64_t> ParseDuration(const std::string& text);
// A share: 0.7 or 70%.
absl::StatusOr<double> ParseRatio(const std::string& text);
// A count: 20000, 20k (= 20,000), 1.5M.
absl::StatusOr<double> ParseCount(const std::string& text);

// "8 KiB", "1.5 GiB", "777 B": exact where that is short, otherwise three digits.
std::string FormatSize(double bytes);
// "38.2 µs", "1.20 ms", "15.0 s": three digits.
std::string FormatDuration(double nanoseconds);
// "~1.20 ms" if it is uncertain: fewer than ten I/Os took longer.
std::string FormatPercentile(double nanoseconds, bool is_uncertain);
// "5,432" below 100,000; then "123 k", "1.23 M".
std::string FormatCount(double count);
// A count for each I/O, with three digits ("0.0527", "31.8"), from 1,000 on as FormatCount().
std::string FormatPerIo(double count);
// So many significant digits, and all digits of larger numbers: "6.93", "12345". Never an exponent,
// which %g has for them. For numbers from 0.0001 on, and 0.
std::string FormatDigits(double value, int digits);
// Bytes per second, for sentences and single figures: "312 MiB/s", "1.39 GiB/s", "28.0 KiB/s".
// Three digits, in the unit that has one to three of them before the point; the page does the same
// (web/src/format.ts). Columns of a table have the unit of their head instead.
std::string FormatRate(double bytes_per_second);
// The same with powers of 1000 beside it: "312 MiB/s (328 MB/s)", "1.39 GiB/s (1.50 GB/s)".
std::string FormatThroughput(double bytes_per_second);
// A network's speed: "10 Gbit/s", "1.50 Mbit/s".
std::string FormatBitRate(double bits_per_second);
// "2026-01-31T12:00:00.250Z": UTC, RFC 3339, of nanoseconds since 1970.
std::string FormatInstant(int64_t wall_ns);

// The part of member number `member` of `members` in a total that is dealt out evenly; the first
// ones get what is left over.
constexpr uint64_t ShareOf(uint64_t total, uint64_t member, uint64_t members) {
  return total / members + (member < total % members ? 1 : 0);
}

}  // namespace lockstep::common
