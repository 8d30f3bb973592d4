#include "common/histogram.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "gtest/gtest.h"

namespace lockstep::common {
namespace {

constexpr double kStatedError = 1.0 / 128;

TEST(HistogramTest, EveryBucketHoldsItsBoundsAndFollowsThePrevious) {
  for (uint32_t b = 0; b < kOverflowBucket; ++b) {
    EXPECT_EQ(BucketOf(BucketLow(b)), b);
    EXPECT_EQ(BucketOf(BucketHigh(b) - 1), b);
    EXPECT_EQ(BucketHigh(b), BucketLow(b + 1));
  }
  EXPECT_EQ(BucketOf(uint64_t{1} << 44), kOverflowBucket);
  EXPECT_EQ(BucketOf(~uint64_t{0}), kOverflowBucket);
}

TEST(HistogramTest, AMidpointIsWithinTheStatedErrorOfEveryValueInItsBucket) {
  for (uint32_t b = 1; b < kOverflowBucket; ++b) {
    const double middle = BucketMidpoint(b);
    EXPECT_LE(middle - static_cast<double>(BucketLow(b)),
              kStatedError * static_cast<double>(BucketLow(b)));
    EXPECT_LE(static_cast<double>(BucketHigh(b) - 1) - middle,
              kStatedError * static_cast<double>(BucketHigh(b) - 1));
  }
}

// Latencies as a fast device with a slow tail has them.
std::vector<uint64_t> SomeLatencies(size_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::lognormal_distribution<double> fast(std::log(80e3), 0.4);
  std::lognormal_distribution<double> slow(std::log(5e6), 1.0);
  std::vector<uint64_t> values;
  for (size_t i = 0; i < count; ++i) {
    values.push_back(static_cast<uint64_t>(random() % 100 < 97 ? fast(random) : slow(random)));
  }
  return values;
}

TEST(HistogramTest, PercentilesEqualTheExactOnesWithinTheStatedError) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    std::vector<uint64_t> values = SomeLatencies(1000 * seed + seed, seed);
    Histogram histogram;
    for (uint64_t value : values) histogram.Record(value);
    std::sort(values.begin(), values.end());
    for (double percent : {0.0, 1.0, 5.0, 50.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.99, 100.0}) {
      const size_t rank = std::max<size_t>(
          1, static_cast<size_t>(
                 std::ceil(percent / 100 * static_cast<double>(values.size()) - 1e-6)));
      const double exact = static_cast<double>(values[rank - 1]);
      EXPECT_NEAR(histogram.Percentile(percent), exact, kStatedError * exact)
          << percent << " of " << values.size();
    }
  }
}

TEST(HistogramTest, MergingIsAddingBucketByBucket) {
  Histogram all, a, b;
  const std::vector<uint64_t> values = SomeLatencies(5000, 7);
  for (size_t i = 0; i < values.size(); ++i) {
    all.Record(values[i]);
    (i % 3 == 0 ? a : b).Record(values[i]);
  }
  a.Merge(b);
  EXPECT_TRUE(a == all);
  EXPECT_EQ(all.count(), values.size());
}

TEST(HistogramTest, TheEncodingReturnsTheSameCountsAndIsSmall) {
  for (size_t count : {1u, 10u, 1000u, 50000u}) {
    Histogram histogram;
    for (uint64_t value : SomeLatencies(count, count)) histogram.Record(value);
    histogram.Record(~uint64_t{0});
    const std::string bytes = histogram.Encode();
    Histogram decoded;
    ASSERT_TRUE(decoded.AddEncoded(bytes).ok());
    EXPECT_TRUE(decoded == histogram);
    EXPECT_LE(static_cast<double>(bytes.size()),
              2.5 * static_cast<double>(histogram.Occupied().size()) + 2)
        << count;
  }
}

TEST(HistogramTest, WhatIsNoEncodingIsRefusedAndAddsNothing) {
  Histogram histogram;
  histogram.Record(5);
  const Histogram before = histogram;
  const std::string broken[] = {
      std::string(1, '\x80'),                      // an unfinished varint
      std::string("\x02\x00", 2),                  // an empty bucket after a good one
      "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f",  // beyond 64 bits
      std::string("\x02\xff\xff\xff\x7f\x02"),     // a bucket beyond the last
  };
  for (const std::string& bytes : broken) {
    EXPECT_EQ(histogram.AddEncoded(bytes).code(), absl::StatusCode::kInvalidArgument);
    EXPECT_TRUE(histogram == before);
  }
}

TEST(HistogramTest, RandomBytesNeverBreakTheDecoder) {
  std::mt19937_64 random(3);
  const int rounds = getenv("LOCKSTEP_LONG") != nullptr ? 5000000 : 50000;
  for (int i = 0; i < rounds; ++i) {
    std::string bytes(random() % 40, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    Histogram histogram;
    (void)histogram.AddEncoded(bytes);
  }
}

TEST(HistogramTest, NoValuesHaveNoPercentile) {
  const Histogram histogram;
  EXPECT_EQ(histogram.Percentile(99), 0);
  EXPECT_EQ(histogram.PercentileIfAbove(99), 0);
}

TEST(HistogramDeathTest, WhatNoHistogramHasEndsTheProgram) {
  Histogram histogram;
  histogram.Record(7);
  EXPECT_DEATH(RankOf(50, 0), "no values");
  EXPECT_DEATH(RankOf(101, 1), "0 to 100");
  EXPECT_DEATH((void)histogram.bucket(kBucketCount), "beyond the scheme");
  EXPECT_DEATH(SumOf({{3, 1}, {2, 1}}, {}), "ascending");
  Histogram moved;
  const Histogram taken = std::move(moved);
  // NOLINTNEXTLINE(bugprone-use-after-move)
  EXPECT_DEATH(moved.Merge(taken), "moved from");
  // NOLINTNEXTLINE(bugprone-use-after-move)
  EXPECT_DEATH(moved.AddBucket(3, 1), "moved from");
}

}  // namespace
}  // namespace lockstep::common
