#include "worker/workload/copy_map.h"

#include <utility>

#include "gtest/gtest.h"

namespace lockstep::worker {
namespace {

constexpr uint64_t kCopiedBlock = 4096;

std::pair<int, uint64_t> To(const CopyMap& map, uint16_t file, uint64_t offset) {
  const BlockSpace::Offset to = map.DestinationOf(file, offset);
  return {to.file, to.offset};
}

TEST(CopyMapTest, FilesGoOneAfterTheOtherIntoOne) {
  const auto map = CopyMap::Make({{0, 0, 2 * kCopiedBlock}, {1, 0, 3 * kCopiedBlock}},
                                 {{2, 0, 8 * kCopiedBlock}}, kCopiedBlock);
  ASSERT_TRUE(map.ok()) << map.status();
  EXPECT_EQ(To(*map, 0, 0), std::pair(2, uint64_t{0}));
  EXPECT_EQ(To(*map, 0, kCopiedBlock), std::pair(2, kCopiedBlock));
  EXPECT_EQ(To(*map, 1, 0), std::pair(2, 2 * kCopiedBlock));
  EXPECT_EQ(To(*map, 1, 2 * kCopiedBlock), std::pair(2, 4 * kCopiedBlock));
}

TEST(CopyMapTest, AStampIsLeftOutOnEitherSide) {
  const auto map = CopyMap::Make({{0, 1 << 20, 2 << 20}}, {{1, 0, 1 << 20}}, kCopiedBlock);
  ASSERT_TRUE(map.ok()) << map.status();
  EXPECT_EQ(To(*map, 0, 1 << 20), std::pair(1, uint64_t{0}));
  EXPECT_EQ(To(*map, 0, (1 << 20) + 7 * kCopiedBlock), std::pair(1, 7 * kCopiedBlock));
}

TEST(CopyMapTest, StripesKeepTheirPlaces) {
  const std::vector<BlockSpace::Extent> stripes = {{0, 0, 2 * kCopiedBlock},
                                                   {0, 4 * kCopiedBlock, 6 * kCopiedBlock},
                                                   {0, 8 * kCopiedBlock, 10 * kCopiedBlock}};
  std::vector<BlockSpace::Extent> others = stripes;
  for (BlockSpace::Extent& extent : others) extent.file = 1;
  const auto map = CopyMap::Make(stripes, others, kCopiedBlock);
  ASSERT_TRUE(map.ok()) << map.status();
  for (const uint64_t block : {0, 1, 4, 5, 8, 9}) {
    EXPECT_EQ(To(*map, 0, block * kCopiedBlock), std::pair(1, block * kCopiedBlock));
  }
}

TEST(CopyMapTest, WhatWouldNotBeWholeIsRefused) {
  const std::vector<BlockSpace::Extent> ten = {{1, 0, 10 * kCopiedBlock}};
  EXPECT_FALSE(CopyMap::Make({{0, 0, kCopiedBlock + 512}}, ten, kCopiedBlock).ok());
  EXPECT_FALSE(CopyMap::Make({{0, 512, kCopiedBlock}}, ten, kCopiedBlock).ok());
  EXPECT_FALSE(CopyMap::Make({{0, 0, 11 * kCopiedBlock}}, ten, kCopiedBlock).ok());
  EXPECT_FALSE(CopyMap::Make({}, ten, kCopiedBlock).ok());
  EXPECT_FALSE(CopyMap::Make(ten, {}, kCopiedBlock).ok());
  // A rest at the end of the destination is not written; one between two of its files would be a
  // hole.
  EXPECT_TRUE(
      CopyMap::Make({{0, 0, kCopiedBlock}}, {{1, 0, kCopiedBlock + 512}}, kCopiedBlock).ok());
  EXPECT_FALSE(CopyMap::Make({{0, 0, kCopiedBlock}},
                             {{1, 0, kCopiedBlock + 512}, {2, 0, kCopiedBlock}}, kCopiedBlock)
                   .ok());
}

}  // namespace
}  // namespace lockstep::worker
