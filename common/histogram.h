#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "common/check.h"

namespace lockstep::common {

// A log-linear histogram of non-negative integers, used for latencies in nanoseconds.
//
// Values below 128 have a bucket each; above, every octave [2^k, 2^(k+1)) has 64 buckets of equal
// width, up to 2^44 (4.9 hours in nanoseconds); what is larger counts in one overflow bucket. A
// bucket's midpoint is within 1/128 (0.78 %) of every value in it. The scheme is described by the
// number kHistogramScheme; histograms of another scheme are never merged with it. After the design
// of G. Tene's HdrHistogram and of fio's stat.c.
inline constexpr uint32_t kHistogramScheme = 1;
inline constexpr int kSubBucketBits = 6;
inline constexpr int kMaxValueBits = 44;
inline constexpr uint32_t kOverflowBucket = (kMaxValueBits - kSubBucketBits + 1) << kSubBucketBits;
inline constexpr uint32_t kBucketCount = kOverflowBucket + 1;

// The bucket of `value`. Constant time, no branches but one.
constexpr uint32_t BucketOf(uint64_t value) {
  if (value >= (uint64_t{1} << kMaxValueBits)) return kOverflowBucket;
  const int octave = 63 - __builtin_clzll(value | (1u << kSubBucketBits));
  const int shift = octave - kSubBucketBits;
  return (static_cast<uint32_t>(shift) << kSubBucketBits) + static_cast<uint32_t>(value >> shift);
}

// The scheme is in every store: these bounds never change.
static_assert(BucketOf(0) == 0 && BucketOf(127) == 127 && BucketOf(128) == 128);
static_assert(BucketOf(129) == 128 && BucketOf(130) == 129, "above 127 a bucket has two values");
static_assert(BucketOf((uint64_t{1} << kMaxValueBits) - 1) == kOverflowBucket - 1);
static_assert(BucketOf(uint64_t{1} << kMaxValueBits) == kOverflowBucket);

// Smallest value of a bucket, and the first value beyond it (equal to 2^44 and UINT64_MAX for the
// overflow bucket).
uint64_t BucketLow(uint32_t bucket);
uint64_t BucketHigh(uint32_t bucket);
// The value that stands for a bucket: its midpoint; 2^44 for the overflow bucket.
double BucketMidpoint(uint32_t bucket);

// Occupied buckets and their counts, in ascending order.
using Buckets = std::vector<std::pair<uint32_t, uint64_t>>;

// The sum of both, without a whole histogram.
Buckets SumOf(const Buckets& a, const Buckets& b);

// Decodes the result of Histogram::Encode(). INVALID_ARGUMENT when `bytes` are not an encoding or a
// bucket lies beyond the scheme's last.
absl::StatusOr<Buckets> DecodeBuckets(const std::string& bytes);

// The rank, from 1, of the value that is the percentile of `count` values, count > 0:
// ceil(percent/100 * count), at least 1.
uint64_t RankOf(double percent, uint64_t count);

// Not thread-safe: one recorder, or external locking. Record() neither allocates nor fails. One
// that was moved from can only be assigned to or destroyed: adding to it ends the program.
class Histogram {
 public:
  Histogram() : counts_(kBucketCount, 0) {}

  void Record(uint64_t value) {
    LOCKSTEP_DCHECK(counts_.size() == kBucketCount, "a histogram that was moved from");
    ++counts_[BucketOf(value)];
  }
  void AddBucket(uint32_t bucket, uint64_t count) {
    LOCKSTEP_CHECK(bucket < counts_.size(),
                   "a bucket lies beyond the scheme's last, or the histogram was moved from");
    counts_[bucket] += count;
  }
  void Add(const Buckets& buckets);
  void Merge(const Histogram& other);
  void Clear();

  uint64_t count() const;
  uint64_t bucket(uint32_t index) const {
    LOCKSTEP_CHECK(index < kBucketCount, "a bucket lies beyond the scheme's last");
    return counts_[index];
  }
  bool operator==(const Histogram& other) const { return counts_ == other.counts_; }

  // The midpoint of the bucket that holds the value of RankOf(percent, count()); 0 when empty.
  // `percent` lies in [0, 100].
  double Percentile(double percent) const;
  // The same, and 0 where no value is above it: the largest value is not a percentile.
  double PercentileIfAbove(double percent) const;

  Buckets Occupied() const;

  // A delta encoding of the occupied buckets, in ascending order, as base-128 varints (least
  // significant group first). A token with its lowest bit clear is the count of the next bucket
  // (token >> 1, not zero); one with its lowest bit set first skips (token >> 1) buckets. Dense
  // regions cost 1 to 2 bytes a bucket.
  std::string Encode() const;

  // Adds what `bytes` encodes, or fails as DecodeBuckets() does, with nothing added.
  absl::Status AddEncoded(const std::string& bytes);

 private:
  std::vector<uint64_t> counts_;  // kBucketCount long; empty when it was moved from
};

}  // namespace lockstep::common
