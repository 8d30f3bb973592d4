// Regions of targets, also ones that nobody has checked.

#include "proto/region.h"

#include <cmath>
#include <limits>
#include <random>

#include "gtest/gtest.h"

namespace lockstep::v1 {
namespace {

constexpr uint64_t kMib = 1 << 20;

Region Bytes(int64_t offset, int64_t size, int64_t increment = 0) {
  Region region;
  region.set_offset_bytes(offset);
  region.set_size_bytes(size);
  region.set_increment_bytes(increment);
  return region;
}

TEST(RegionTest, EachThreadHasItsOwnWithAnIncrement) {
  const Region region = Bytes(kMib, 2 * kMib, 3 * kMib);
  const auto first = RegionOf(region, 8 * kMib, 0, 4096);
  const auto second = RegionOf(region, 8 * kMib, 1, 4096);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(first->begin, kMib);
  EXPECT_EQ(first->end, 3 * kMib);
  EXPECT_EQ(second->begin, 4 * kMib);
  EXPECT_EQ(second->end, 6 * kMib);
  EXPECT_NE(RegionOf(region, 8 * kMib, 2, 4096).status().message().find("thread 2"),
            std::string::npos);
}

TEST(RegionTest, WithoutASizeItGoesUpToTheEnd) {
  const auto region = RegionOf(Bytes(6144, 0), kMib, 0, 4096);
  ASSERT_TRUE(region.ok());
  EXPECT_EQ(region->begin, 6144u);
  EXPECT_EQ(region->end, kMib);
}

TEST(RegionTest, SharesAreWholeBlocks) {
  Region region;
  region.set_offset_share_ratio(0.1);
  region.set_size_share_ratio(0.5);
  const auto found = RegionOf(region, 65536, 0, 4096);
  ASSERT_TRUE(found.ok());
  // As fio 3.33 does with offset=10% and filesize=64k: 8 KiB.
  EXPECT_EQ(found->begin, 8192u);
  EXPECT_EQ(found->end, 8192u + 32768u);
}

TEST(RegionTest, ARegionHoldsABlock) {
  EXPECT_FALSE(RegionOf(Bytes(kMib - 2048, 0), kMib, 0, 4096).ok());
  EXPECT_FALSE(RegionOf(Bytes(0, 2048), kMib, 0, 4096).ok());
  EXPECT_TRUE(RegionOf(Bytes(kMib - 4096, 4096), kMib, 0, 4096).ok());
}

// Whatever is asked for, no byte outside the part is given.
TEST(RegionTest, NoRegionReachesOutsideThePart) {
  constexpr int64_t kLimits[] = {
      0,     1,         511,           4096,      1 << 20,       -1,
      -4096, INT64_MAX, INT64_MAX - 1, INT64_MIN, INT64_MIN + 1, 1200000000000000000};
  const double kShares[] = {0,  0.1, 0.5,  1 - 1e-16,    1,
                            -1, 2,   1e30, std::nan(""), std::numeric_limits<double>::infinity()};
  std::mt19937_64 random(7);
  int good = 0;
  for (int i = 0; i < 200000; ++i) {
    const auto any = [&](const auto& list) { return list[random() % std::size(list)]; };
    Region region = Bytes(any(kLimits), any(kLimits), any(kLimits));
    if (random() % 2 == 0) region.set_offset_share_ratio(any(kShares));
    if (random() % 2 == 0) region.set_size_share_ratio(any(kShares));
    if (random() % 2 == 0) region.set_increment_share_ratio(any(kShares));
    const uint64_t parts[] = {0, 1, 4096, kMib, kMib + 1, uint64_t{1} << 62, INT64_MAX};
    const uint32_t threads[] = {0, 1, 2, 1023, UINT32_MAX};
    const uint64_t part = any(parts);
    const auto found = RegionOf(region, part, any(threads), 4096);
    if (!found.ok()) continue;
    ++good;
    ASSERT_LE(found->begin, found->end) << region.ShortDebugString();
    ASSERT_LE(found->end, part) << region.ShortDebugString();
    ASSERT_GE(found->end - found->begin, 4096u) << region.ShortDebugString();
  }
  EXPECT_GT(good, 100);
}

}  // namespace
}  // namespace lockstep::v1
