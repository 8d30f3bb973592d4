// The extents of logical volumes on the devices underneath, by recorded tables of the device
// mapper.

#include "worker/host/mapped_extents.h"

#include <sys/sysmacros.h>

#include "gtest/gtest.h"

namespace lockstep::worker {
namespace {

constexpr uint64_t kSector = 512;

TEST(MappedExtentsTest, ALinearVolumeIsAnExtentOfItsDisk) {
  // Two volumes of one disk, as `dmsetup table` shows them: "0 204800 linear 8:17 2048".
  const auto first = ParseMapped("linear", 0, 204800, "8:17 2048");
  const auto second = ParseMapped("linear", 0, 204800, "8:17 206848");
  ASSERT_TRUE(first && second);
  ASSERT_EQ(first->size(), 1u);
  EXPECT_EQ(first->front().device, makedev(8, 17));
  EXPECT_EQ(first->front().begin, 0u);
  EXPECT_EQ(first->front().end, 204800 * kSector);
  EXPECT_EQ(first->front().device_begin, 2048 * kSector);
  EXPECT_EQ(first->front().device_end, second->front().device_begin) << "side by side";
  EXPECT_TRUE(first->front().is_linear);
}

TEST(MappedExtentsTest, ALaterSegmentBeginsWhereTheTableSays) {
  const auto extents = ParseMapped("linear", 204800, 8192, "253:4 0");
  ASSERT_TRUE(extents);
  EXPECT_EQ(extents->front().begin, 204800 * kSector);
  EXPECT_EQ(extents->front().device_begin, 0u);
  EXPECT_EQ(extents->front().device_end, 8192 * kSector);
}

TEST(MappedExtentsTest, EachLegOfAStripeHasItsShare) {
  const auto extents = ParseMapped("striped", 0, 409600, "2 128 8:17 2048 8:33 4096");
  ASSERT_TRUE(extents);
  ASSERT_EQ(extents->size(), 2u);
  EXPECT_EQ((*extents)[1].device, makedev(8, 33));
  EXPECT_EQ((*extents)[1].device_begin, 4096 * kSector);
  EXPECT_EQ((*extents)[1].device_end, (4096 + 204800) * kSector);
  EXPECT_EQ((*extents)[1].end, 409600 * kSector);
  EXPECT_FALSE((*extents)[1].is_linear);
}

TEST(MappedExtentsTest, OtherTargetsAreNotKnown) {
  EXPECT_FALSE(ParseMapped("thin", 0, 2048, "253:2 1"));
  EXPECT_FALSE(ParseMapped("snapshot", 0, 2048, "253:2 253:3 P 8"));
  EXPECT_FALSE(ParseMapped("raid", 0, 2048, "raid1 3 0 region_size 1024 2 253:2 253:3"));
  for (const char* wrong : {"", "8:17", "8:17 x", "0:0 1", "8:17 1 2", "sda 1"}) {
    EXPECT_FALSE(ParseMapped("linear", 0, 2048, wrong)) << wrong;
  }
  for (const char* wrong : {"", "2 128", "2 128 8:17 0", "0 128", "3 128 8:1 0 8:2 0 8:3 0"}) {
    EXPECT_FALSE(ParseMapped("striped", 0, 2048, wrong)) << wrong;
  }
}

}  // namespace
}  // namespace lockstep::worker
