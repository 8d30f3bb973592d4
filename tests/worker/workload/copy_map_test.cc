#include "worker/workload/copy_map.h"

#include <utility>

#include "gtest/gtest.h"

namespace lockstep::worker {
namespace {

constexpr uint32_t kBlock = 4096;

std::pair<int, uint64_t> To(const CopyMap& map, uint16_t file, uint64_t offset) {
  const BlockSpace::Offset to = map.DestinationOf(file, offset);
  return {to.file, to.offset};
}

TEST(CopyMapTest, FilesGoOneAfterTheOtherIntoOne) {
  const auto map =
      CopyMap::Make({{0, 0, 2 * kBlock}, {1, 0, 3 * kBlock}}, {{2, 0, 8 * kBlock}}, kBlock);
  ASSERT_TRUE(map.ok()) << map.status();
  EXPECT_EQ(To(*map, 0, 0), std::pair(2, uint64_t{0}));
  EXPECT_EQ(To(*map, 0, kBlock), std::pair(2, uint64_t{kBlock}));
  EXPECT_EQ(To(*map, 1, 0), std::pair(2, uint64_t{2 * kBlock}));
  EXPECT_EQ(To(*map, 1, 2 * kBlock), std::pair(2, uint64_t{4 * kBlock}));
}

TEST(CopyMapTest, AStampIsLeftOutOnEitherSide) {
  const auto map = CopyMap::Make({{0, 1 << 20, 2 << 20}}, {{1, 0, 1 << 20}}, kBlock);
  ASSERT_TRUE(map.ok()) << map.status();
  EXPECT_EQ(To(*map, 0, 1 << 20), std::pair(1, uint64_t{0}));
  EXPECT_EQ(To(*map, 0, (1 << 20) + 7 * kBlock), std::pair(1, uint64_t{7 * kBlock}));
}

TEST(CopyMapTest, StripesKeepTheirPlaces) {
  const std::vector<BlockSpace::Extent> stripes = {
      {0, 0, 2 * kBlock}, {0, 4 * kBlock, 6 * kBlock}, {0, 8 * kBlock, 10 * kBlock}};
  std::vector<BlockSpace::Extent> others = stripes;
  for (BlockSpace::Extent& extent : others) extent.file = 1;
  const auto map = CopyMap::Make(stripes, others, kBlock);
  ASSERT_TRUE(map.ok()) << map.status();
  for (const uint64_t block : {0, 1, 4, 5, 8, 9}) {
    EXPECT_EQ(To(*map, 0, block * kBlock), std::pair(1, block * kBlock));
  }
}

TEST(CopyMapTest, WhatWouldNotBeWholeIsRefused) {
  const std::vector<BlockSpace::Extent> ten = {{1, 0, 10 * kBlock}};
  EXPECT_FALSE(CopyMap::Make({{0, 0, kBlock + 512}}, ten, kBlock).ok());
  EXPECT_FALSE(CopyMap::Make({{0, 512, kBlock}}, ten, kBlock).ok());
  EXPECT_FALSE(CopyMap::Make({{0, 0, 11 * kBlock}}, ten, kBlock).ok());
  EXPECT_FALSE(CopyMap::Make({}, ten, kBlock).ok());
  EXPECT_FALSE(CopyMap::Make(ten, {}, kBlock).ok());
  // A rest at the end of the destination is not written; one between two of its files would be a
  // hole.
  EXPECT_TRUE(CopyMap::Make({{0, 0, kBlock}}, {{1, 0, kBlock + 512}}, kBlock).ok());
  EXPECT_FALSE(
      CopyMap::Make({{0, 0, kBlock}}, {{1, 0, kBlock + 512}, {2, 0, kBlock}}, kBlock).ok());
}

}  // namespace
}  // namespace lockstep::worker
