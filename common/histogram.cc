#include "common/histogram.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"

namespace lockstep::common {
namespace {

void AppendVarint(uint64_t value, std::string* out) {
  while (value >= 0x80) {
    out->push_back(static_cast<char>(value | 0x80));
    value >>= 7;
  }
  out->push_back(static_cast<char>(value));
}

// Reads one varint at *position and moves it on. False at the end or beyond 64 bits.
bool ReadVarint(const std::string& bytes, size_t* position, uint64_t* value) {
  *value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    if (*position >= bytes.size()) return false;
    const uint8_t byte = static_cast<uint8_t>(bytes[(*position)++]);
    // The tenth group has only one bit of 64 left.
    if (shift == 63 && byte > 1) return false;
    *value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if ((byte & 0x80) == 0) return true;
  }
  return false;
}

}  // namespace

uint64_t BucketLow(uint32_t bucket) {
  if (bucket >= kOverflowBucket) return uint64_t{1} << kMaxValueBits;
  // The lowest buckets have one value each, which is the bucket's number.
  if (bucket < (2u << kSubBucketBits)) return bucket;
  const uint32_t shift = (bucket >> kSubBucketBits) - 1;
  const uint64_t position = (bucket & ((1u << kSubBucketBits) - 1)) + (1u << kSubBucketBits);
  return position << shift;
}

uint64_t BucketHigh(uint32_t bucket) {
  if (bucket >= kOverflowBucket) return std::numeric_limits<uint64_t>::max();
  return BucketLow(bucket + 1);
}

double BucketMidpoint(uint32_t bucket) {
  if (bucket >= kOverflowBucket) return static_cast<double>(BucketLow(bucket));
  const uint64_t low = BucketLow(bucket);
  // The values are whole numbers: the midpoint of a bucket with one value is that value.
  return (static_cast<double>(low) + static_cast<double>(BucketHigh(bucket) - 1)) / 2;
}

uint64_t RankOf(double percent, uint64_t count) {
  // An empty histogram has no rank, and std::clamp() is undefined from 1 to 0.
  LOCKSTEP_CHECK(count > 0, "a percentile of no values");
  LOCKSTEP_CHECK(percent >= 0 && percent <= 100, "a percentile beyond 0 to 100");
  // 99.9 / 100 * 1000 is a hair above 999; without the slack the rank would be one too high.
  const double exact = percent / 100 * static_cast<double>(count);
  return std::clamp<uint64_t>(static_cast<uint64_t>(std::ceil(exact - 1e-9 * exact)), 1, count);
}

void Histogram::Merge(const Histogram& other) {
  LOCKSTEP_CHECK(counts_.size() == kBucketCount && other.counts_.size() == kBucketCount,
                 "a histogram that was moved from");
  for (uint32_t i = 0; i < kBucketCount; ++i) counts_[i] += other.counts_[i];
}

void Histogram::Clear() { std::fill(counts_.begin(), counts_.end(), 0); }

uint64_t Histogram::count() const {
  // No total is kept, because that would cost Record(), and so every I/O, a second write.
  uint64_t sum = 0;
  for (uint64_t count : counts_) sum += count;
  return sum;
}

double Histogram::PercentileIfAbove(double percent) const {
  const uint64_t total = count();
  return total > 0 && total > RankOf(percent, total) ? Percentile(percent) : 0;
}

double Histogram::Percentile(double percent) const {
  const uint64_t total = count();
  if (total == 0) return 0;
  const uint64_t rank = RankOf(percent, total);
  uint64_t seen = 0;
  for (uint32_t i = 0; i < kBucketCount; ++i) {
    seen += counts_[i];
    if (seen >= rank) return BucketMidpoint(i);
  }
  // A rank is at most the count (RankOf()), which is what all buckets add up to.
  LOCKSTEP_CHECK(false, "a rank beyond the count");
}

Buckets SumOf(const Buckets& a, const Buckets& b) {
  // Both lists are sorted by bucket, so one pass merges them without a whole histogram of 20 KiB.
  Buckets sum;
  sum.reserve(std::max(a.size(), b.size()));
  const auto add = [&sum](uint32_t bucket, uint64_t count) {
    LOCKSTEP_CHECK(sum.empty() || sum.back().first < bucket, "buckets are not in ascending order");
    sum.emplace_back(bucket, count);
  };
  auto left = a.begin();
  auto right = b.begin();
  while (left != a.end() || right != b.end()) {
    if (right == b.end() || (left != a.end() && left->first < right->first)) {
      add(left->first, left->second);
      ++left;
    } else if (left == a.end() || right->first < left->first) {
      add(right->first, right->second);
      ++right;
    } else {
      add(left->first, left->second + right->second);
      ++left;
      ++right;
    }
  }
  return sum;
}

Buckets Histogram::Occupied() const {
  Buckets occupied;
  for (uint32_t i = 0; i < kBucketCount; ++i) {
    if (counts_[i] != 0) occupied.emplace_back(i, counts_[i]);
  }
  return occupied;
}

std::string Histogram::Encode() const {
  std::string bytes;
  uint32_t next = 0;
  for (const auto& [bucket, count] : Occupied()) {
    LOCKSTEP_CHECK(bucket >= next, "buckets are encoded out of order");
    // Neighbours need no skip: where buckets are dense, a bucket costs only its count.
    if (bucket != next) AppendVarint(uint64_t{bucket - next} << 1 | 1, &bytes);
    AppendVarint(count << 1, &bytes);
    next = bucket + 1;
  }
  return bytes;
}

// The bytes may come from another program. A bucket beyond the last must become an error here,
// because Histogram::AddBucket() ends the program for it.
absl::StatusOr<Buckets> DecodeBuckets(const std::string& bytes) {
  Buckets decoded;
  size_t position = 0;
  uint64_t next = 0;
  while (position < bytes.size()) {
    const size_t at = position;
    uint64_t token = 0;
    if (!ReadVarint(bytes, &position, &token)) {
      return absl::InvalidArgumentError(absl::StrCat("histogram: broken varint at byte ", at));
    }
    if ((token & 1) != 0) {
      // This cannot overflow: next is checked after each token, and a token has 63 bits for it.
      next += token >> 1;
    } else if (token == 0) {
      return absl::InvalidArgumentError(absl::StrCat("histogram: empty bucket at byte ", at));
    } else if (next < kBucketCount) {
      decoded.emplace_back(static_cast<uint32_t>(next++), token >> 1);
    }
    if (next > kBucketCount) {
      return absl::InvalidArgumentError(absl::StrCat("histogram: bucket ", next, " at byte ", at,
                                                     " is beyond the last, ", kOverflowBucket));
    }
    if (next == kBucketCount && position < bytes.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("histogram: bytes after the last bucket at byte ", position));
    }
  }
  return decoded;
}

void Histogram::Add(const Buckets& buckets) {
  for (const auto& [bucket, count] : buckets) AddBucket(bucket, count);
}

absl::Status Histogram::AddEncoded(const std::string& bytes) {
  // Everything is decoded before anything is added, so that a broken encoding leaves the counts
  // alone.
  const auto buckets = DecodeBuckets(bytes);
  if (buckets.ok()) Add(*buckets);
  return buckets.status();
}

}  // namespace lockstep::common
