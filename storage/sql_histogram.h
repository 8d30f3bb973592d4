#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace lockstep::storage {

// A histogram as SQL adds it up: the decimal digits of the sum over its buckets of
// count * 10^(16 * bucket) (storage/schema/interface/1_functions.sql).
inline constexpr int kDigitsOfABucket = 16;

// The number that SQL has for an encoded histogram (common/histogram.h). INVALID_ARGUMENT if it is
// none, or if a bucket holds 10^16 or more.
absl::StatusOr<std::string> HistogramNumber(const std::string& encoded);

// Encodes what the digits say. INTERNAL when they are no histogram.
absl::StatusOr<std::string> EncodeNumber(absl::string_view digits);

}  // namespace lockstep::storage
