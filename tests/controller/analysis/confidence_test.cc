#include "controller/analysis/confidence.h"

#include <cmath>
#include <numbers>
#include <random>

#include "gtest/gtest.h"
#include "measure/latency_blocks.h"

namespace lockstep::controller {
namespace {

// A percentile with its interval, of so many latencies around 1 ms in each of the blocks, whose
// levels are factors.
v1::Percentile PercentileOf(double percent, int each, const std::vector<double>& levels) {
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal;
  std::vector<common::Buckets> blocks;
  common::Histogram all;
  for (const double level : levels) {
    common::Histogram block;
    for (int i = 0; i < each; ++i) {
      block.Record(static_cast<uint64_t>(1e6 * level * std::exp(0.5 * normal(random))));
    }
    blocks.push_back(block.Occupied());
    all.Merge(block);
  }
  v1::OperationReport report;
  report.set_latency_min_ns(all.Percentile(0));
  report.set_latency_max_ns(all.Percentile(100));
  v1::Percentile* p = report.add_percentiles();
  p->set_percent(percent);
  const uint64_t above = all.count() - common::RankOf(percent, all.count());
  p->set_above(static_cast<double>(above));
  if (above > 0) p->set_latency_ns(all.Percentile(percent));
  AddConfidence(blocks, all, &report);
  return report.percentiles(0);
}

double WidthOf(const v1::Percentile& p) { return (p.high_ns() - p.low_ns()) / p.latency_ns(); }

const std::vector<double> kEqual(40, 1.0);

TEST(ConfidenceTest, AnIntervalEnclosesItsPercentileAndNarrowsWithTheIos) {
  for (const double percent : {50.0, 95.0, 99.0}) {
    const v1::Percentile few = PercentileOf(percent, 100, kEqual);
    const v1::Percentile many = PercentileOf(percent, 10000, kEqual);
    for (const v1::Percentile& p : {few, many}) {
      EXPECT_LE(p.low_ns(), p.latency_ns());
      EXPECT_GE(p.high_ns(), p.latency_ns());
    }
    // A hundred times the I/Os make it a tenth, as far as the buckets are fine enough.
    EXPECT_LT(WidthOf(many), 0.3 * WidthOf(few)) << percent;
  }
}

TEST(ConfidenceTest, IosThatAreAlikeForSomeTimeSayLess) {
  std::vector<double> alternating;
  std::vector<double> halves;
  for (size_t i = 0; i < kEqual.size(); ++i) {
    alternating.push_back(i % 2 == 0 ? 1 : 2);
    halves.push_back(i < kEqual.size() / 2 ? 1 : 2);
  }
  const double equal = WidthOf(PercentileOf(50, 10000, kEqual));
  EXPECT_GT(WidthOf(PercentileOf(50, 10000, alternating)), 5 * equal);
  // Two levels are two values, however many blocks each has: next to nothing is known.
  EXPECT_GT(WidthOf(PercentileOf(50, 10000, halves)),
            2 * WidthOf(PercentileOf(50, 10000, alternating)));
}

TEST(ConfidenceTest, SlowLevelsCountWhereFewIosHideThem) {
  constexpr int kBlocks = 60;
  // Levels in the order of a slow wave, and the same ones in an order in which neighbours differ:
  // with 100 I/Os each, most of what differs between blocks is chance.
  std::vector<double> slow;
  std::vector<double> quick;
  const auto level = [](int i) { return 1 + 0.06 * std::sin(2 * std::numbers::pi * i / kBlocks); };
  for (int i = 0; i < kBlocks; ++i) {
    slow.push_back(level(i));
    quick.push_back(level(37 * i % kBlocks));
  }
  EXPECT_GT(WidthOf(PercentileOf(50, 100, slow)), 1.25 * WidthOf(PercentileOf(50, 100, quick)));
}

TEST(ConfidenceTest, FewIosAboveHaveNoUpperBound) {
  // Two of 4,000 are above: in truth it may be none.
  const v1::Percentile two = PercentileOf(99.95, 100, kEqual);
  EXPECT_EQ(two.above(), 2);
  EXPECT_TRUE(two.has_low_ns());
  EXPECT_FALSE(two.has_high_ns());
  const v1::Percentile none = PercentileOf(99.99, 100, kEqual);
  EXPECT_EQ(none.above(), 0);
  EXPECT_FALSE(none.has_low_ns());
}

TEST(ConfidenceTest, ThreeBlocksAreTooFew) {
  EXPECT_FALSE(PercentileOf(50, 1000, {1, 1, 1}).has_low_ns());
  EXPECT_TRUE(PercentileOf(50, 1000, {1, 1, 1, 1}).has_low_ns());
}

TEST(ConfidenceTest, BlocksWithoutAnOperationDoNotCount) {
  common::Histogram block;
  for (uint64_t i = 1; i <= 1000; ++i) block.Record(1000 * i);
  common::Histogram all;
  const auto interval_of = [&](size_t filled) {
    std::vector<common::Buckets> blocks(128);
    all.Clear();
    for (size_t i = 0; i < filled; ++i) {
      blocks[7 * i] = block.Occupied();
      all.Merge(block);
    }
    v1::OperationReport report;
    report.set_latency_min_ns(all.Percentile(0));
    report.set_latency_max_ns(all.Percentile(100));
    v1::Percentile* p = report.add_percentiles();
    p->set_percent(50);
    p->set_above(static_cast<double>(all.count() - common::RankOf(50, all.count())));
    p->set_latency_ns(all.Percentile(50));
    AddConfidence(blocks, all, &report);
    return *p;
  };
  EXPECT_FALSE(interval_of(1).has_low_ns());
  EXPECT_FALSE(interval_of(3).has_low_ns());
  // As wide as that of four blocks, of which a workload has no more although the phase does.
  const v1::Percentile four = interval_of(4);
  ASSERT_TRUE(four.has_low_ns());
  EXPECT_GT(WidthOf(four), 1.5 * WidthOf(interval_of(16)));
}

v1::OperationReport WithPercentiles(const std::vector<double>& latencies) {
  v1::OperationReport report;
  for (const double latency : latencies) report.add_percentiles()->set_latency_ns(latency);
  report.add_percentiles()->set_missing("no I/O took longer");
  return report;
}

TEST(TailCountsTest, CountsWhatLiesAboveAPercentilesBucket) {
  // Latencies below 128 ns have a bucket each.
  const v1::OperationReport report = WithPercentiles({50, 20, 20, 100});
  EXPECT_EQ(TailCounts::NumbersOfBlock(report), 4u);
  TailCounts counts(report, 8);
  counts.Add(3, {{10, 1}, {20, 2}, {21, 4}, {99, 8}, {100, 16}, {127, 32}});
  counts.Add(3, {{50, 64}});
  // Nothing completed in intervals 4 and 5.
  counts.Add(4, {});
  counts.Add(6, {{1, 7}});
  EXPECT_EQ(counts.blocks(), 2u);
  const struct {
    double latency_ns, above;
  } cases[] = {{20, 4 + 8 + 16 + 32 + 64}, {50, 8 + 16 + 32}, {100, 32}};
  for (const auto& one : cases) {
    const auto shares = counts.SharesAbove(one.latency_ns);
    ASSERT_EQ(shares.size(), 2u) << one.latency_ns;
    EXPECT_EQ(shares[0].above, one.above);
    EXPECT_EQ(shares[0].count, 127);
    EXPECT_EQ(shares[1].above, 0);
    EXPECT_EQ(shares[1].count, 7);
  }
}

TEST(TailCountsTest, LongPhasesKeepAllCountsInFewBlocks) {
  constexpr uint32_t kIntervals = 1000;
  constexpr size_t kMax = 16;
  TailCounts counts(WithPercentiles({50}), kMax);
  for (uint32_t i = 0; i < kIntervals; ++i) counts.Add(100 + i, {{40, 3}, {60, 1 + i % 2}});
  EXPECT_LE(counts.blocks(), kMax);
  EXPECT_GE(counts.blocks(), kMax / 2);
  double above = 0;
  double count = 0;
  for (const TailCounts::Share& share : counts.SharesAbove(50)) {
    above += share.above;
    count += share.count;
  }
  EXPECT_EQ(above, 1.5 * kIntervals);
  EXPECT_EQ(count, 4.5 * kIntervals);
}

TEST(LatencyBlocksTest, LongPhasesKeepAllLatenciesInFewBlocks) {
  constexpr int kIntervals = 1000;
  measure::LatencyBlocks blocks;
  for (int i = 0; i < kIntervals; ++i) {
    blocks.Add({{{0, v1::OPERATION_KIND_READ}, {{static_cast<uint32_t>(i % 5), 2}}},
                {{1, v1::OPERATION_KIND_WRITE}, {{7, 1}}}});
  }
  EXPECT_LE(blocks.blocks().size(), measure::LatencyBlocks::kMaxBlocks);
  EXPECT_GT(blocks.blocks().size(), measure::LatencyBlocks::kMaxBlocks / 2);
  uint32_t intervals = 0;
  uint64_t reads = 0;
  uint64_t writes = 0;
  for (const measure::LatencyBlock& block : blocks.blocks()) {
    // The last one may still grow.
    if (&block != &blocks.blocks().back()) {
      EXPECT_EQ(block.intervals, blocks.blocks()[0].intervals);
    }
    intervals += block.intervals;
    for (const auto& [key, buckets] : block.latencies) {
      for (const auto& [bucket, count] : buckets) (key.first == 0 ? reads : writes) += count;
    }
  }
  EXPECT_EQ(intervals, kIntervals);
  EXPECT_EQ(reads, 2 * kIntervals);
  EXPECT_EQ(writes, kIntervals);
}

}  // namespace
}  // namespace lockstep::controller
