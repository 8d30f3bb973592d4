#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "gtest/gtest.h"
#include "worker/workload/access.h"
#include "worker/workload/block_space.h"
#include "worker/workload/distribution.h"
#include "worker/workload/permutation.h"
#include "worker/workload/schedule.h"

namespace lockstep::worker {
namespace {

constexpr uint32_t kBlock = 4096;

AccessOptions Options(Order order, double read_ratio = 1, uint64_t seed = 9, uint32_t thread = 0,
                      uint32_t threads = 1) {
  AccessOptions options;
  AccessLine line;
  line.read_ratio = read_ratio;
  options.lines = {line};
  options.order = order;
  options.seed = options.common_seed = seed;
  options.thread = thread;
  options.threads = threads;
  return options;
}

Access Make(const std::vector<BlockSpace::Extent>& extents, AccessOptions options) {
  auto access = Access::Make(extents, std::move(options));
  EXPECT_TRUE(access.ok()) << access.status();
  return *std::move(access);
}

std::vector<BlockSpace::Extent> OneFile(uint64_t blocks) { return {{0, 0, blocks * kBlock}}; }

// Chi-squared of counts against expected ones, compared with its 99.9 % quantile by Wilson and
// Hilferty's approximation. Cells of fewer than 5 expected draws are thrown together.
void ExpectFits(const std::vector<double>& counts, const std::vector<double>& expected) {
  double chi = 0;
  int cells = 0;
  double rest = 0;
  double rest_expected = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    rest += counts[i];
    rest_expected += expected[i];
    if (rest_expected < 5) continue;
    chi += std::pow(rest - rest_expected, 2) / rest_expected;
    ++cells;
    rest = rest_expected = 0;
  }
  const double freedom = cells - 1;
  const double limit =
      freedom * std::pow(1 - 2 / (9 * freedom) + 3.09 * std::sqrt(2 / (9 * freedom)), 3);
  EXPECT_LT(chi, limit) << "with " << freedom << " degrees of freedom";
}

std::vector<double> Draws(const Distribution& distribution, uint64_t size, int draws,
                          uint64_t seed) {
  Random random(seed);
  std::vector<double> counts(size);
  for (int i = 0; i < draws; ++i) {
    const uint64_t block = distribution.Draw(&random);
    EXPECT_LT(block, size);
    ++counts[block];
  }
  return counts;
}

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

TEST(BlockSpaceTest, PlacesFromWhichALongIoFitsAreFewerThanBlocks) {
  const auto space = BlockSpace::Make({{0, 0, 40960}}, 12288, 4096);
  ASSERT_TRUE(space.ok());
  EXPECT_EQ(space->blocks(), 8u);
  EXPECT_EQ(space->At(7).offset, 4096u * 7);
}

TEST(BlockSpaceTest, NoWholeBlockIsAnError) {
  EXPECT_FALSE(BlockSpace::Make({{0, 1, 8191}}, 8192).ok());
}

TEST(AccessTest, SequentialThreadsCoverTheSpaceOnceEach) {
  std::multiset<uint64_t> seen;
  for (uint32_t thread = 0; thread < 4; ++thread) {
    Access access = Make(OneFile(103), Options(Order::kSequential, 1, 9, thread, 4));
    const uint64_t mine = 103 * (thread + 1) / 4 - 103 * thread / 4;
    EXPECT_EQ(access.part_blocks(), mine);
    uint64_t last = 0;
    for (uint64_t i = 0; i < mine; ++i) {
      const uint64_t offset = access.Take().offset;
      if (i > 0) {
        EXPECT_EQ(offset, last + 4096);
      }
      last = offset;
      seen.insert(offset);
    }
  }
  EXPECT_EQ(seen.size(), 103u);
  EXPECT_EQ(std::set<uint64_t>(seen.begin(), seen.end()).size(), 103u);
}

TEST(AccessTest, ThreadsThatShareAPositionTakeTurns) {
  std::atomic<uint64_t> position{0};
  AccessOptions options = Options(Order::kSequentialShared, 1, 9, 0, 2);
  options.shared_position = &position;
  Access a = Make(OneFile(5), options);
  options.thread = 1;
  Access b = Make(OneFile(5), options);
  std::vector<uint64_t> blocks;
  for (int i = 0; i < 4; ++i) {
    blocks.push_back(a.Take().offset / kBlock);
    blocks.push_back(b.Take().offset / kBlock);
  }
  EXPECT_EQ(blocks, (std::vector<uint64_t>{0, 1, 2, 3, 4, 0, 1, 2}));
}

TEST(AccessTest, MoreThreadsThanBlocksStayInside) {
  for (uint32_t thread = 0; thread < 5; ++thread) {
    Access access = Make(OneFile(2), Options(Order::kSequential, 1, 9, thread, 5));
    for (int i = 0; i < 10; ++i) EXPECT_LT(access.Take().offset, 8192u);
  }
}

TEST(AccessTest, RandomOffsetsAreUniform) {
  constexpr int kCells = 64, kDraws = 64000;
  Access access = Make(OneFile(kCells), Options(Order::kRandom, 1, 42));
  std::vector<double> counts(kCells);
  for (int i = 0; i < kDraws; ++i) ++counts[access.Take().offset / kBlock];
  ExpectFits(counts, std::vector<double>(kCells, 1.0 * kDraws / kCells));
}

// Both shares of a mix, random and sequential; reads, writes and trims against their shares.
TEST(AccessTest, TheMixHasItsShares) {
  for (Order order : {Order::kRandom, Order::kSequential}) {
    AccessOptions options = Options(order, 0.6, 5);
    options.lines[0].trim_ratio = 0.25;
    Access access = Make(OneFile(256), options);
    std::vector<double> counts(3);
    for (int i = 0; i < 100000; ++i) ++counts[static_cast<int>(access.Take().kind)];
    ExpectFits(counts, {60000, 30000, 10000});
  }
  Access all_reads = Make(OneFile(256), Options(Order::kRandom, 1));
  Access all_writes = Make(OneFile(256), Options(Order::kRandom, 0));
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(all_reads.Take().kind, IoKind::kRead);
    EXPECT_EQ(all_writes.Take().kind, IoKind::kWrite);
  }
}

TEST(AccessTest, EqualSeedsGiveEqualIosAndThreadsDiffer) {
  Access a = Make(OneFile(1 << 18), Options(Order::kRandom, 0.5, 5, 1, 4)),
         b = Make(OneFile(1 << 18), Options(Order::kRandom, 0.5, 5, 1, 4)),
         other = Make(OneFile(1 << 18), Options(Order::kRandom, 0.5, 5, 2, 4));
  int same = 0;
  for (int i = 0; i < 1000; ++i) {
    const Access::Next x = a.Take(), y = b.Take();
    EXPECT_EQ(x.offset, y.offset);
    EXPECT_EQ(x.kind, y.kind);
    same += x.offset == other.Take().offset;
  }
  EXPECT_LT(same, 5);
}

TEST(AccessTest, ShuffledTouchesEachBlockExactlyOncePerRound) {
  constexpr uint64_t kBlocks = 10007;
  std::vector<Access> threads;
  for (uint32_t t = 0; t < 3; ++t) {
    threads.push_back(Make(OneFile(kBlocks), Options(Order::kShuffled, 1, 77, t, 3)));
  }
  std::vector<uint64_t> first;
  for (int round = 0; round < 2; ++round) {
    std::vector<int> seen(kBlocks);
    std::vector<uint64_t> order;
    for (Access& access : threads) {
      for (uint64_t i = 0; i < access.part_blocks(); ++i) {
        order.push_back(access.Take().offset / kBlock);
        ++seen[order.back()];
      }
    }
    for (int count : seen) ASSERT_EQ(count, 1);
    if (round == 1) {
      EXPECT_NE(order, first);
    }
    first = order;
  }
  // Neighbours in the order are no neighbours in the target.
  int adjacent = 0;
  for (size_t i = 1; i < first.size(); ++i) adjacent += first[i] == first[i - 1] + 1;
  EXPECT_LT(adjacent, 20);
}

TEST(PermutationTest, EverySizeIsABijection) {
  for (uint64_t size : {1ul, 2ul, 3ul, 4ul, 5ul, 16ul, 17ul, 255ul, 1000ul, 4097ul}) {
    std::set<uint64_t> seen;
    const Permutation permutation(size, size * 7);
    for (uint64_t i = 0; i < size; ++i) seen.insert(permutation.At(i));
    EXPECT_EQ(seen.size(), size);
    EXPECT_EQ(*seen.rbegin(), size - 1);
  }
}

TEST(AccessTest, BlockSizesHaveTheirWeightsAndRanges) {
  AccessOptions options = Options(Order::kRandom, 1, 3);
  options.lines = {{}, {}, {}};
  options.lines[0] = {.block_size_bytes = 4096, .align_bytes = 4096, .weight = 70};
  options.lines[1] = {.block_size_bytes = 8192, .align_bytes = 4096, .weight = 20};
  options.lines[2] = {
      .block_size_bytes = 16384, .up_to_bytes = 65536, .align_bytes = 4096, .weight = 10};
  Access access = Make(OneFile(1024), options);
  EXPECT_EQ(access.largest_bytes(), 65536u);
  std::map<uint32_t, double> counts;
  for (int i = 0; i < 100000; ++i) {
    const Access::Next next = access.Take();
    EXPECT_EQ(next.offset % 4096, 0u);
    EXPECT_LE(next.offset + next.length, 1024u * kBlock);
    ++counts[next.length];
  }
  ASSERT_EQ(counts.size(), 6u);
  ExpectFits(
      {counts[4096], counts[8192], counts[16384], counts[32768], counts[49152], counts[65536]},
      {70000, 20000, 2500, 2500, 2500, 2500});
}

TEST(AccessTest, SequentialIoOfSeveralSizesGoesOnWhereTheLastEnded) {
  AccessOptions options = Options(Order::kSequential, 1, 3);
  options.lines = {{.block_size_bytes = 4096, .align_bytes = 4096},
                   {.block_size_bytes = 12288, .align_bytes = 4096}};
  Access access = Make({{0, 0, 65536}, {1, 0, 65536}}, options);
  uint64_t end = 0;
  uint16_t file = 0;
  for (int i = 0; i < 1000; ++i) {
    const Access::Next next = access.Take();
    if (next.file == file && next.offset != 0) {
      EXPECT_EQ(next.offset, end);
    }
    EXPECT_LE(next.offset + next.length, 65536u);
    file = next.file;
    end = next.offset + next.length;
  }
}

TEST(AccessTest, AShareOfRandomIosContinuesWhereTheLastEnded) {
  AccessOptions options = Options(Order::kRandom, 1, 8);
  options.lines[0].random_ratio = 0.3;
  Access access = Make(OneFile(1 << 20), options);
  double continued = 0;
  uint64_t end = ~uint64_t{0};
  for (int i = 0; i < 50000; ++i) {
    const Access::Next next = access.Take();
    continued += next.offset == end;
    end = next.offset + next.length;
  }
  ExpectFits({continued, 50000 - continued}, {35000, 15000});
}

TEST(AccessTest, FilesTakeTurnsOrAreDrawn) {
  const std::vector<BlockSpace::Extent> files = {{0, 0, 1 << 20}, {1, 0, 1 << 20}, {2, 0, 1 << 20}};
  AccessOptions options = Options(Order::kSequential);
  options.file_order = FileOrder::kRoundRobin;
  Access turns = Make(files, options);
  for (uint64_t i = 0; i < 300; ++i) {
    const Access::Next next = turns.Take();
    EXPECT_EQ(next.file, i % 3);
    EXPECT_EQ(next.offset, i / 3 % 256 * kBlock);
  }
  options = Options(Order::kRandom);
  options.file_order = FileOrder::kRandom;
  Access drawn = Make(files, options);
  std::vector<double> counts(3);
  for (int i = 0; i < 30000; ++i) ++counts[drawn.Take().file];
  ExpectFits(counts, {10000, 10000, 10000});
}

TEST(AccessTest, LargeIosStayInsideTheWorkersPartOfEachFile) {
  const std::vector<BlockSpace::Extent> parts = {
      {0, 7 << 20, 10 << 20}, {1, 0, 5 << 20}, {2, 0, 10 << 20}};
  for (FileOrder file_order : {FileOrder::kTogether, FileOrder::kRoundRobin, FileOrder::kRandom}) {
    for (Order order : {Order::kSequential, Order::kRandom}) {
      AccessOptions options = Options(order);
      options.lines = {{.block_size_bytes = 4096, .random_ratio = 0.5},
                       {.block_size_bytes = 4 << 20, .random_ratio = 0.5}};
      options.file_order = file_order;
      Access access = Make(parts, options);
      for (int i = 0; i < 2000; ++i) {
        const Access::Next next = access.Take();
        ASSERT_GE(next.offset, parts[next.file].begin);
        ASSERT_LE(next.offset + next.length, parts[next.file].end);
      }
    }
  }
}

TEST(AccessTest, NeighboursOfOneKindAreMergedUpToTheLimit) {
  AccessOptions options = Options(Order::kSequential);
  options.merge = 4;
  Access access = Make(OneFile(10), options);
  std::vector<uint32_t> lengths;
  for (int i = 0; i < 4; ++i) lengths.push_back(access.Take().length / kBlock);
  EXPECT_EQ(lengths, (std::vector<uint32_t>{4, 4, 2, 4}));  // not across the end
  options.lines[0].read_ratio = 0.5;
  Access mixed = Make(OneFile(1000), options);
  for (int i = 0; i < 1000; ++i) EXPECT_LE(mixed.Take().length, 4 * kBlock);
}

TEST(AccessTest, APauseFollowsEachBurstOfALine) {
  AccessOptions options = Options(Order::kRandom);
  options.lines[0].delay_ns = 500;
  options.lines[0].burst = 3;
  Access access = Make(OneFile(100), options);
  for (int i = 1; i <= 30; ++i) EXPECT_EQ(access.Take().pause_ns, i % 3 == 0 ? 500 : 0);
}

TEST(DistributionTest, ZipfFitsForExponentsBelowAtAndAboveOne) {
  constexpr uint64_t kSize = 1000;
  constexpr int kDraws = 200000;
  for (double theta : {0.5, 0.99, 1.0, 1.2, 2.5}) {
    const auto zipf = MakeDistribution(ZipfOffsets{theta, true}, kSize, 1);
    double norm = 0;
    for (uint64_t k = 1; k <= kSize; ++k) norm += std::pow(k, -theta);
    std::vector<double> expected;
    for (uint64_t k = 1; k <= kSize; ++k) expected.push_back(kDraws * std::pow(k, -theta) / norm);
    SCOPED_TRACE(theta);
    ExpectFits(Draws(*zipf, kSize, kDraws, 11), expected);
  }
}

TEST(DistributionTest, ScatteredPopularBlocksAreTheSameButElsewhere) {
  constexpr uint64_t kSize = 1000;
  auto clustered = Draws(*MakeDistribution(ZipfOffsets{0.99, true}, kSize, 1), kSize, 100000, 4);
  auto scattered = Draws(*MakeDistribution(ZipfOffsets{0.99, false}, kSize, 1), kSize, 100000, 4);
  EXPECT_NE(clustered, scattered);
  std::sort(clustered.begin(), clustered.end());
  std::sort(scattered.begin(), scattered.end());
  EXPECT_EQ(clustered, scattered);
}

TEST(DistributionTest, ParetoFollowsItsRule) {
  constexpr uint64_t kSize = 1000;
  constexpr int kDraws = 200000;
  const double h = 0.2;
  const auto pareto = MakeDistribution(ParetoOffsets{h, true}, kSize, 1);
  const double power = std::log(1 - h) / std::log(h);
  std::vector<double> expected;
  for (uint64_t k = 0; k < kSize; ++k) {
    expected.push_back(kDraws * (std::pow((k + 1.0) / kSize, power) -
                                 std::pow(static_cast<double>(k) / kSize, power)));
  }
  const std::vector<double> counts = Draws(*pareto, kSize, kDraws, 21);
  ExpectFits(counts, expected);
  double hot = 0;
  for (uint64_t k = 0; k < kSize / 5; ++k) hot += counts[k];
  EXPECT_NEAR(hot / kDraws, 0.8, 0.005);
}

TEST(DistributionTest, NormalFits) {
  constexpr uint64_t kSize = 200;
  constexpr int kDraws = 200000;
  const auto normal = MakeDistribution(NormalOffsets{0.15, 0.4}, kSize, 1);
  const auto below = [](double x) {
    return 0.5 * std::erfc(-(x / kSize - 0.4) / 0.15 / std::sqrt(2));
  };
  const double inside = below(kSize) - below(0);
  std::vector<double> expected;
  for (uint64_t k = 0; k < kSize; ++k) {
    expected.push_back(kDraws * (below(k + 1.0) - below(static_cast<double>(k))) / inside);
  }
  ExpectFits(Draws(*normal, kSize, kDraws, 31), expected);
}

TEST(DistributionTest, ZonesHaveTheirShares) {
  constexpr uint64_t kSize = 1000;
  constexpr int kDraws = 100000;
  const auto zoned = MakeDistribution(ZonedOffsets{{{0.6, 0.1}, {0.3, 0.2}, {0.1, 0.7}}}, kSize, 1);
  std::vector<double> expected(kSize);
  for (uint64_t k = 0; k < kSize; ++k) {
    expected[k] = kDraws * (k < 100 ? 0.6 / 100 : k < 300 ? 0.3 / 200 : 0.1 / 700);
  }
  ExpectFits(Draws(*zoned, kSize, kDraws, 41), expected);
}

TEST(ScheduleTest, FixedGapsAreEqualAndThreadsInterleave) {
  Schedule::Options options;
  options.rate_per_second = 1000;
  options.poisson = false;
  options.shift = 0.25;
  Schedule schedule(options);
  for (int64_t i = 0; i < 1000; ++i) {
    EXPECT_NEAR(static_cast<double>(schedule.next_ns()), (static_cast<double>(i) + 0.25) * 1e6, 1);
    schedule.Advance();
  }
}

TEST(ScheduleTest, PoissonGapsAreExponential) {
  Schedule::Options options;
  options.rate_per_second = 10000;
  options.seed = 5;
  Schedule schedule(options);
  constexpr int kGaps = 100000, kCells = 50;
  std::vector<double> counts(kCells);
  int64_t last = 0;
  double lag_product = 0;
  double previous = 0;
  for (int i = 0; i < kGaps; ++i) {
    const double gap = static_cast<double>(schedule.next_ns() - last) / 1e5;  // mean 1
    last = schedule.next_ns();
    schedule.Advance();
    const double quantile = 1 - std::exp(-gap);
    ++counts[std::min(kCells - 1, static_cast<int>(quantile * kCells))];
    lag_product += (gap - 1) * (previous - 1);
    previous = gap;
  }
  ExpectFits(counts, std::vector<double>(kCells, 1.0 * kGaps / kCells));
  // and each independent of the one before
  EXPECT_LT(std::abs(lag_product / kGaps), 4 / std::sqrt(kGaps));
  EXPECT_NEAR(static_cast<double>(last) / 1e9, kGaps / 10000.0, 0.1);
}

TEST(ScheduleTest, ARampIsTheIntegralOfItsRate) {
  for (double to : {3.0, 0.5, 0.0}) {
    Schedule::Options options;
    options.rate_per_second = 1000;
    options.poisson = false;
    options.ramp_to = to;
    options.ramp_ns = 10000000000;
    Schedule schedule(options);
    int count = 0;
    int first_half = 0;
    while (schedule.next_ns() < options.ramp_ns && count < 1000000) {
      ++count;
      first_half += schedule.next_ns() < options.ramp_ns / 2;
      schedule.Advance();
    }
    EXPECT_NEAR(count, 10000 * (1 + to) / 2, 2);
    EXPECT_NEAR(first_half, 5000 * (3 + to) / 4, 2);
    EXPECT_NEAR(schedule.Expected(options.ramp_ns), 10000 * (1 + to) / 2, 1e-6);
    schedule.Advance();
    if (to == 0) {
      EXPECT_EQ(schedule.next_ns(), Schedule::kNever);
    }
  }
}

TEST(PacerTest, NeverMoreThanTheRateButForTenMilliseconds) {
  Pacer pacer(1000, 0);
  pacer.Begin(0);
  int64_t now = 0;
  int count = 0;
  for (; now < 1000000000; ++count) {
    now = std::max(now, pacer.next_ns());
    pacer.Started(now, 4096);
    if (count == 500) now += 200000000;  // a stall: only 10 ms of it are made up for
  }
  EXPECT_NEAR(count, 810, 3);
  Pacer bytes(0, 1e6);
  bytes.Begin(0);
  bytes.Started(0, 500000);
  EXPECT_EQ(bytes.next_ns(), 500000000);
}

}  // namespace
}  // namespace lockstep::worker
