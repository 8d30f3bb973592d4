// The offsets of I/Os beside the plain patterns: skips, the way backwards, sequences, and exact
// starts.

#include <atomic>
#include <map>
#include <set>

#include "gtest/gtest.h"
#include "worker/workload/access.h"
#include "worker/workload/block_space.h"

namespace lockstep::worker {
namespace {

constexpr uint64_t kStepBlock = 4096;

AccessOptions StepOptions(Order order) {
  AccessOptions options;
  options.lines = {AccessLine()};
  options.order = order;
  options.seed = options.common_seed = 9;
  return options;
}

std::vector<uint64_t> Offsets(const std::vector<BlockSpace::Extent>& extents,
                              const AccessOptions& options, int count) {
  auto access = Access::Make(extents, options);
  EXPECT_TRUE(access.ok()) << access.status();
  std::vector<uint64_t> offsets;
  for (int i = 0; access.ok() && i < count; ++i) offsets.push_back(access->Take().offset / 1024);
  return offsets;
}

TEST(StepsTest, ASkipLeavesBytesOutAndBeginsAgainAtTheSameOffsets) {
  AccessOptions options = StepOptions(Order::kSequential);
  options.skip_bytes = 8192;
  // As fio 3.33 does with rw=read:8k, bs=4k and size=64k.
  EXPECT_EQ(Offsets({{0, 0, 65536}}, options, 8),
            (std::vector<uint64_t>{0, 12, 24, 36, 48, 60, 0, 12}));
}

// As fio 3.33 does with zonemode=strided, zonesize=8k and zoneskip=12k.
TEST(StepsTest, ASkipAfterSeveralBlocksLeavesPieces) {
  AccessOptions options = StepOptions(Order::kSequential);
  options.skip_bytes = 12288;
  options.skip_after_bytes = 8192;
  EXPECT_EQ(Offsets({{0, 0, 65536}}, options, 9),
            (std::vector<uint64_t>{0, 4, 20, 24, 40, 44, 60, 0, 4}));
  // A piece at the end may be shorter, and each file begins with a piece.
  EXPECT_EQ(Offsets({{0, 4096, 28672}, {1, 0, 8192}}, options, 6),
            (std::vector<uint64_t>{4, 8, 24, 0, 4, 4}));
  options.order = Order::kBackwards;
  EXPECT_EQ(Offsets({{0, 0, 28672}}, options, 5), (std::vector<uint64_t>{24, 20, 4, 0, 24}));
}

TEST(StepsTest, PiecesAreNoMoreThanTheThreadsHoldInMemory) {
  AccessOptions options = StepOptions(Order::kSequential);
  options.skip_bytes = options.skip_after_bytes = 4096;
  EXPECT_FALSE(Access::Make({{0, 0, uint64_t{1} << 40}}, options).ok());
}

TEST(StepsTest, BackwardsIsTheSameFromTheEnd) {
  AccessOptions options = StepOptions(Order::kBackwards);
  EXPECT_EQ(Offsets({{0, 0, 16384}}, options, 6), (std::vector<uint64_t>{12, 8, 4, 0, 12, 8}));
  options.skip_bytes = 4096;
  EXPECT_EQ(Offsets({{0, 0, 20480}}, options, 4), (std::vector<uint64_t>{16, 8, 0, 16}));
  // Through several files, too, from the last one on.
  options.skip_bytes = 0;
  EXPECT_EQ(Offsets({{0, 0, 8192}, {1, 0, 4096}}, options, 4), (std::vector<uint64_t>{0, 4, 0, 0}));
}

TEST(StepsTest, ThreadsShareWhatASkipLeaves) {
  std::set<uint64_t> seen;
  for (uint32_t thread = 0; thread < 3; ++thread) {
    for (Order order : {Order::kSequential, Order::kBackwards}) {
      AccessOptions options = StepOptions(order);
      options.skip_bytes = 8192;
      options.thread = thread;
      options.threads = 3;
      for (const uint64_t offset : Offsets({{0, 0, 100 * kStepBlock}}, options, 12)) {
        EXPECT_EQ(offset % 12, 0u);
        EXPECT_LE(offset + 4, 400u);
        seen.insert(offset);
      }
    }
  }
  EXPECT_EQ(seen.size(), 34u);
}

TEST(StepsTest, ASkipBeyondTheThreadsPartIsRefused) {
  for (const uint64_t skip : {uint64_t{65536}, uint64_t{1} << 60, ~uint64_t{0} - kStepBlock}) {
    AccessOptions options = StepOptions(Order::kSequential);
    options.skip_bytes = skip;
    EXPECT_FALSE(Access::Make({{0, 0, 65536}}, options).ok()) << skip;
  }
  AccessOptions options = StepOptions(Order::kSequential);
  options.skip_bytes = 8192;
  options.threads = 6;  // one offset each
  EXPECT_FALSE(Access::Make({{0, 0, 65536}}, options).ok());
}

// An exact mix takes the general way, on which sequential I/Os are told by a cursor.
TEST(StepsTest, AnExactMixGoesWhereADrawnOneGoes) {
  const std::vector<BlockSpace::Extent> extents = {{0, 1536, 70000}, {1, 0, 40000}};
  for (const uint64_t skip : {0, 512, 8192}) {
    for (const FirstOffset first : {FirstOffset::kAligned, FirstOffset::kExact}) {
      for (uint32_t thread = 0; thread < 2; ++thread) {
        std::atomic<uint64_t> mix = 0;
        AccessOptions options = StepOptions(Order::kSequential);
        options.lines[0].read_ratio = 0.5;
        options.skip_bytes = skip;
        options.first_offset = first;
        options.thread = thread;
        options.threads = 2;
        const std::vector<uint64_t> drawn = Offsets(extents, options, 60);
        options.shared_mix = &mix;
        EXPECT_EQ(Offsets(extents, options, 60), drawn) << skip << " " << thread;
      }
    }
  }
}

TEST(StepsTest, AnExactStartIsKeptByIOsThatContinue) {
  AccessOptions options = StepOptions(Order::kRandom);
  options.first_offset = FirstOffset::kExact;
  options.lines[0].random_ratio = 0.5;
  auto access = Access::Make({{0, 512, 512 + 16 * kStepBlock}}, options);
  ASSERT_TRUE(access.ok());
  for (int i = 0; i < 500; ++i) {
    const uint64_t offset = access->Take().offset;
    EXPECT_EQ(offset % kStepBlock, 512u);
    EXPECT_LE(offset + kStepBlock, 512 + 16 * kStepBlock);
  }
}

TEST(StepsTest, SequentialIOsOfAFineAlignmentDoNotOverlap) {
  AccessOptions options = StepOptions(Order::kSequential);
  options.lines[0].align_bytes = 512;
  EXPECT_EQ(Offsets({{0, 512, 16384}}, options, 4), (std::vector<uint64_t>{0, 4, 8, 0}));
}

TEST(StepsTest, SeveralSizesHaveNeitherStepsNorSequences) {
  AccessOptions options = StepOptions(Order::kBackwards);
  options.lines[0].up_to_bytes = 8192;
  EXPECT_FALSE(Access::Make({{0, 0, 65536}}, options).ok());
  options = StepOptions(Order::kRandom);
  options.lines.push_back(AccessLine());
  options.sequence = 4;
  EXPECT_FALSE(Access::Make({{0, 0, 65536}}, options).ok());
  options = StepOptions(Order::kShuffled);
  options.sequence = 4;
  EXPECT_FALSE(Access::Make({{0, 0, 65536}}, options).ok());
}

TEST(StepsTest, ASequenceContinuesOrRepeatsADrawnOffset) {
  const std::vector<BlockSpace::Extent> files = {{0, 0, 64 * kStepBlock}, {1, 0, 64 * kStepBlock}};
  for (Following following : {Following::kContinue, Following::kRepeat}) {
    AccessOptions options = StepOptions(Order::kRandom);
    options.sequence = 4;
    options.following = following;
    auto access = Access::Make(files, options);
    ASSERT_TRUE(access.ok());
    const uint64_t step = following == Following::kContinue ? kStepBlock : 0;
    Access::Next last = access->Take();
    int in_sequence = 1;
    int jumps = 0;
    for (int i = 0; i < 4000; ++i) {
      const Access::Next next = access->Take();
      ASSERT_LE(next.offset + next.length, 64 * kStepBlock);
      if (in_sequence < 4 && next.file == last.file && next.offset == last.offset + step) {
        ++in_sequence;
      } else {
        // Only the end of a file cuts one short.
        ASSERT_TRUE(in_sequence == 4 || last.offset == 63 * kStepBlock);
        in_sequence = 1;
        ++jumps;
      }
      last = next;
    }
    EXPECT_NEAR(jumps, 1000, 60);
  }
}

TEST(StepsTest, AnExactStartIsNoMultipleOfTheBlock) {
  AccessOptions options = StepOptions(Order::kSequential);
  options.first_offset = FirstOffset::kExact;
  EXPECT_EQ(Offsets({{0, 6144, 65536}}, options, 3), (std::vector<uint64_t>{6, 10, 14}));
  options.first_offset = FirstOffset::kAligned;
  EXPECT_EQ(Offsets({{0, 6144, 65536}}, options, 3), (std::vector<uint64_t>{8, 12, 16}));
  options = StepOptions(Order::kRandom);
  options.first_offset = FirstOffset::kExact;
  for (const uint64_t offset : Offsets({{0, 6144, 65536}}, options, 500)) {
    EXPECT_EQ(offset % 4, 2u);
    EXPECT_LE(offset + 4, 64u);
    EXPECT_GE(offset, 6u);
  }
}

}  // namespace
}  // namespace lockstep::worker
