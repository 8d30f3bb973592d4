#include <cmath>
#include <map>
#include <set>

#include "gtest/gtest.h"
#include "worker/workload/access.h"
#include "worker/workload/block_space.h"

namespace lockstep::worker {
namespace {

TEST(BlockSpaceTest, WholeBlocksOfSlicesOneAfterTheOther) {
  // The first slice begins and ends inside a block; the second is a whole file.
  const auto space = BlockSpace::Make({{0, 1000, 4096 * 4 + 5}, {1, 0, 8192}}, 4096);
  ASSERT_TRUE(space.ok());
  EXPECT_EQ(space->blocks(), 5u);
  EXPECT_EQ(space->At(0).offset, 4096u);
  EXPECT_EQ(space->At(2).offset, 4096u * 3);
  EXPECT_EQ(space->At(3).file, 1);
  EXPECT_EQ(space->At(3).offset, 0u);
  EXPECT_EQ(space->At(4).offset, 4096u);
}

TEST(BlockSpaceTest, NoWholeBlockIsAnError) { EXPECT_FALSE(BlockSpace::Make({{0, 1, 8191}}, 8192).ok()); }

TEST(AccessTest, SequentialThreadsCoverTheSpaceOnceEach) {
  const auto space = *BlockSpace::Make({{0, 0, 4096 * 103}}, 4096);
  std::multiset<uint64_t> seen;
  for (uint32_t thread = 0; thread < 4; ++thread) {
    Access access(&space, {Order::kSequential, 1, 9, thread, 4});
    const uint64_t mine = 103 * (thread + 1) / 4 - 103 * thread / 4;
    uint64_t last = 0;
    for (uint64_t i = 0; i < mine; ++i) {
      const uint64_t offset = access.Take().place.offset;
      if (i > 0) EXPECT_EQ(offset, last + 4096);
      last = offset;
      seen.insert(offset);
    }
  }
  EXPECT_EQ(seen.size(), 103u);
  EXPECT_EQ(std::set<uint64_t>(seen.begin(), seen.end()).size(), 103u);
}

TEST(AccessTest, MoreThreadsThanBlocksStayInside) {
  const auto space = *BlockSpace::Make({{0, 0, 4096 * 2}}, 4096);
  for (uint32_t thread = 0; thread < 5; ++thread) {
    Access access(&space, {Order::kSequential, 1, 9, thread, 5});
    for (int i = 0; i < 10; ++i) EXPECT_LT(access.Take().place.offset, 8192u);
  }
}

// Chi-squared of uniform draws into `cells`, against its 99.9 % quantile by Wilson and Hilferty's approximation.
TEST(AccessTest, RandomOffsetsAreUniform) {
  constexpr int kCells = 64;
  constexpr int kDraws = 64000;
  const auto space = *BlockSpace::Make({{0, 0, 4096 * kCells}}, 4096);
  Access access(&space, {Order::kRandom, 1, 42, 0, 1});
  std::map<uint64_t, int> counts;
  for (int i = 0; i < kDraws; ++i) ++counts[access.Take().place.offset];
  double chi = 0;
  for (int i = 0; i < kCells; ++i) chi += std::pow(counts[i * 4096ul] - kDraws / kCells, 2) / (kDraws / kCells);
  const double freedom = kCells - 1;
  const double limit = freedom * std::pow(1 - 2 / (9 * freedom) + 3.09 * std::sqrt(2 / (9 * freedom)), 3);
  EXPECT_LT(chi, limit);
}

TEST(AccessTest, TheMixHasItsShare) {
  const auto space = *BlockSpace::Make({{0, 0, 1 << 20}}, 4096);
  Access access(&space, {Order::kRandom, 0.7, 5, 0, 1});
  int reads = 0;
  for (int i = 0; i < 100000; ++i) reads += access.Take().read;
  EXPECT_NEAR(reads, 70000, 4 * std::sqrt(100000 * 0.21));
  Access all_reads(&space, {Order::kRandom, 1, 5, 0, 1});
  Access all_writes(&space, {Order::kRandom, 0, 5, 0, 1});
  for (int i = 0; i < 1000; ++i) {
    EXPECT_TRUE(all_reads.Take().read);
    EXPECT_FALSE(all_writes.Take().read);
  }
}

TEST(AccessTest, EqualSeedsGiveEqualIosAndThreadsDiffer) {
  const auto space = *BlockSpace::Make({{0, 0, 1 << 30}}, 4096);
  Access a(&space, {Order::kRandom, 0.5, 5, 1, 4}), b(&space, {Order::kRandom, 0.5, 5, 1, 4}), other(&space, {Order::kRandom, 0.5, 5, 2, 4});
  int same = 0;
  for (int i = 0; i < 1000; ++i) {
    const Access::Next x = a.Take(), y = b.Take();
    EXPECT_EQ(x.place.offset, y.place.offset);
    EXPECT_EQ(x.read, y.read);
    same += x.place.offset == other.Take().place.offset;
  }
  EXPECT_LT(same, 5);
}

}  // namespace
}  // namespace lockstep::worker
