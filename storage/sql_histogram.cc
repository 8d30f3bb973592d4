#include "storage/sql_histogram.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/histogram.h"

namespace lockstep::storage {

absl::StatusOr<std::string> HistogramNumber(const std::string& encoded) {
  constexpr uint64_t kTooMany = 10000000000000000;  // one digit more than a bucket has
  const auto buckets = common::DecodeBuckets(encoded);
  if (!buckets.ok()) return buckets.status();
  if (buckets->empty()) return std::string("0");
  // The number has up to 40,000 digits, so it is made and cut as text. The lowest bucket is its
  // least significant field and stands at the end.
  std::string digits((buckets->back().first + size_t{1}) * kDigitsOfABucket, '0');
  for (const auto& [bucket, count] : *buckets) {
    // A seventeenth digit would run over into the field of the next bucket.
    if (count >= kTooMany) {
      return absl::InvalidArgumentError(
          absl::StrCat("histogram: bucket ", bucket, " holds ", count, " values, 10^16 or more"));
    }
    const std::string field = absl::StrCat(count);
    const size_t end = digits.size() - size_t{bucket} * kDigitsOfABucket;
    std::copy(field.begin(), field.end(),
              digits.begin() + static_cast<std::ptrdiff_t>(end - field.size()));
  }
  return digits.substr(digits.find_first_not_of('0'));
}

absl::StatusOr<std::string> EncodeNumber(absl::string_view digits) {
  common::Histogram histogram;
  for (uint32_t bucket = 0; !digits.empty(); ++bucket) {
    const size_t length = std::min<size_t>(kDigitsOfABucket, digits.size());
    const absl::string_view field = digits.substr(digits.size() - length);
    uint64_t count = 0;
    // AddBucket() would end the program for a bucket beyond the last, and anybody with write access
    // to the store can make such a number.
    if (bucket >= common::kBucketCount || !absl::SimpleAtoi(field, &count)) {
      return absl::DataLossError("the store holds a histogram that is none");
    }
    histogram.AddBucket(bucket, count);
    digits.remove_suffix(length);
  }
  return histogram.Encode();
}

}  // namespace lockstep::storage
