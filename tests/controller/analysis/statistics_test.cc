#include "controller/analysis/statistics.h"

#include <cmath>
#include <numeric>
#include <random>

#include "controller/analysis/fairness.h"
#include "controller/analysis/knee.h"
#include "gtest/gtest.h"

namespace lockstep::controller {
namespace {

TEST(StatisticsTest, StudentsTIsThatOfTheTables) {
  // Two-sided critical values of printed tables.
  const struct {
    double degrees, t, p;
  } kTable[] = {{1, 12.706, 0.05}, {4, 2.776, 0.05},   {8, 2.306, 0.05},  {8, 5.041, 0.001},
                {30, 2.750, 0.01}, {120, 1.980, 0.05}, {10, 1.0931, 0.30}};
  for (const auto& row : kTable) {
    EXPECT_NEAR(StudentP(row.t, row.degrees), row.p, 0.01 * row.p) << row.degrees;
    EXPECT_DOUBLE_EQ(StudentP(-row.t, row.degrees), StudentP(row.t, row.degrees));
  }
  EXPECT_EQ(StudentP(0, 5), 1);
  // Worked by hand: means 2 and 5, pooled variance 1, so t = 3 / sqrt(2 / 3) on 4 degrees.
  EXPECT_NEAR(StudentTest({1, 2, 3}, {4, 5, 6}), StudentP(std::sqrt(13.5), 4), 1e-12);
  EXPECT_NEAR(StudentTest({1, 2, 3}, {4, 5, 6}), 0.0213, 0.0001);
  EXPECT_EQ(StudentTest({2, 2}, {2, 2}), 1);
  EXPECT_EQ(StudentTest({2, 2}, {3, 3}), 0);
  EXPECT_EQ(StudentTest({}, {3, 3}), 1);
}

TEST(StatisticsTest, TheIntervalOfAShareIsThatOfClopperAndPearson) {
  const struct {
    double found, count, low, high;
  } kTable[] = {{0, 10, 0, 0.3085},  {1, 10, 0.0025, 0.4450},   {5, 10, 0.1871, 0.8129},
                {10, 10, 0.6915, 1}, {3, 1000, 0.0006, 0.0087}, {2000, 10000, 0.1922, 0.2080}};
  for (const auto& row : kTable) {
    const Shift::Interval share = ShareInterval(row.found, row.count);
    EXPECT_NEAR(share.low, row.low, 0.0001) << row.found << " of " << row.count;
    EXPECT_NEAR(share.high, row.high, 0.0001) << row.found << " of " << row.count;
  }
  EXPECT_NEAR(StudentQuantile(0.05, 1), 12.706, 0.001);
  EXPECT_NEAR(StudentQuantile(0.05, 1e6), kNormal95, 0.0001);
}

TEST(StatisticsTest, TheIntervalIsThatOfTheRankTest) {
  // 4 and 4: P(U <= 0) = 1/70, so the smallest and the largest difference bound it.
  const Shift four = ShiftOf({1, 2, 3, 4}, {11, 12, 13, 14});
  EXPECT_DOUBLE_EQ(four.estimate, 10);
  ASSERT_TRUE(four.interval.has_value());
  EXPECT_DOUBLE_EQ(four.interval->low, 7);
  EXPECT_DOUBLE_EQ(four.interval->high, 13);
  // 5 and 5: P(U <= 2) = 4/252 and P(U <= 3) = 7/252 (tables of Mann and Whitney): the third ones.
  const Shift five = ShiftOf({1, 2, 3, 4, 5}, {11, 12, 13, 14, 15});
  ASSERT_TRUE(five.interval.has_value());
  EXPECT_DOUBLE_EQ(five.interval->low, 7);
  EXPECT_DOUBLE_EQ(five.interval->high, 13);
  EXPECT_FALSE(ShiftOf({1, 2, 3}, {4, 5, 6}).interval.has_value());
  EXPECT_FALSE(ShiftOf({}, {4}).interval.has_value());
}

TEST(StatisticsTest, TheIntervalHoldsTheTruthAsOftenAsItSays) {
  std::mt19937_64 random(3);
  std::normal_distribution<double> noise(0, 1);
  int held = 0;
  constexpr int kTries = 2000;
  for (int i = 0; i < kTries; ++i) {
    std::vector<double> a, b;
    for (int k = 0; k < 6; ++k) a.push_back(noise(random));
    for (int k = 0; k < 6; ++k) b.push_back(2 + noise(random));
    const Shift shift = ShiftOf(a, b);
    held += shift.interval->low <= 2 && 2 <= shift.interval->high;
  }
  EXPECT_GE(held, kTries * 0.94);
  EXPECT_LE(held, kTries * 0.99);
}

TEST(StatisticsTest, FewRunsCannotTell) {
  EXPECT_NEAR(LeastP(3, 3), 0.1, 1e-9);
  EXPECT_NEAR(LeastP(4, 4), 2.0 / 70, 1e-9);
  EXPECT_NEAR(LeastP(5, 5), 2.0 / 252, 1e-9);
  EXPECT_EQ(LeastP(0, 5), 1);
  EXPECT_EQ(LeastP(1, 1), 1);
}

TEST(StatisticsTest, ADifferenceIsFoundAmongManyFiguresWithFewRuns) {
  std::mt19937_64 random(5);
  std::normal_distribution<double> noise(0, 0.01);
  std::vector<std::vector<double>> values(60, std::vector<double>(10));
  for (auto& row : values) {
    for (double& value : row) value = noise(random);
  }
  for (size_t i = 5; i < 10; ++i) values[7][i] += std::log(1.08);
  const std::vector<double> p = PermutationTest(values, 5, 5);
  EXPECT_NEAR(p[7], 2.0 / 252, 1e-9);
  int others = 0;
  for (size_t k = 0; k < p.size(); ++k) others += k != 7 && p[k] < 0.05;
  EXPECT_EQ(others, 0);
}

TEST(StatisticsTest, EqualValuesAreNoDifferenceAndConstantOnesThatDifferAre) {
  const std::vector<double> p = PermutationTest(
      {{1, 1, 1, 1, 1, 1, 1, 1}, {1, 1, 1, 1, 2, 2, 2, 2}, {0, 0, 0, 0, 0, 0, 0, 0}}, 4, 4);
  EXPECT_EQ(p[0], 1);
  EXPECT_NEAR(p[1], 2.0 / 70, 1e-9);
  EXPECT_EQ(p[2], 1);
}

TEST(StatisticsTest, FamiliesOfFiguresAlarmSeldom) {
  std::mt19937_64 random(11);
  std::normal_distribution<double> noise(0, 1);
  int alarms = 0;
  constexpr int kFamilies = 400;
  for (int f = 0; f < kFamilies; ++f) {
    std::vector<std::vector<double>> values(30, std::vector<double>(10));
    for (size_t run = 0; run < 10; ++run) {
      const double shared = noise(random);  // figures of one run go together
      for (auto& row : values) row[run] = shared + noise(random);
    }
    const std::vector<double> p = PermutationTest(values, 5, 5);
    alarms += *std::min_element(p.begin(), p.end()) < 0.05;
  }
  EXPECT_LE(alarms, kFamilies * 0.08);  // 5 %, and what chance adds
}

TEST(StatisticsTest, ManyRunsAreTestedByRandomPermutations) {
  std::vector<double> row;
  for (int i = 0; i < 40; ++i) row.push_back(i % 7 + (i >= 20 ? 30 : 0));
  EXPECT_LT(PermutationTest({row}, 20, 20)[0], 0.001);
}

TEST(ChangesTest, ALevelThatChangesIsFoundWhereItDoes) {
  std::mt19937_64 random(7);
  std::normal_distribution<double> noise(0, 1);
  std::vector<double> series;
  for (int i = 0; i < 120; ++i) series.push_back((i < 40 ? 100 : i < 90 ? 92 : 97) + noise(random));
  const std::vector<ChangeAt> changes = ChangesIn(series);
  ASSERT_EQ(changes.size(), 2u);
  EXPECT_NEAR(static_cast<double>(changes[0].index), 40, 1);
  EXPECT_NEAR(static_cast<double>(changes[1].index), 90, 1);
  EXPECT_NEAR(changes[0].mean_before, 100, 1);
  EXPECT_NEAR(changes[0].mean_after, 92, 1);
  EXPECT_LT(changes[1].p_value, 0.001);
}

TEST(ChangesTest, NoiseAndAFewRunsHaveNone) {
  std::mt19937_64 random(9);
  std::normal_distribution<double> noise(0, 1);
  int changes = 0;
  for (int s = 0; s < 50; ++s) {
    std::vector<double> series;
    for (int i = 0; i < 100; ++i) series.push_back(50 + noise(random));
    changes += static_cast<int>(ChangesIn(series).size());
  }
  EXPECT_LE(changes, 5);  // splits are sought, so that p < 0.001 is less than it seems
  EXPECT_TRUE(ChangesIn({}).empty());
  EXPECT_TRUE(ChangesIn({1, 2}).empty());
  EXPECT_TRUE(ChangesIn({1, 1, 9, 9}).empty());
  EXPECT_EQ(ChangesIn({1, 1, 1, 9, 9, 9}).size(), 1u);
}

TEST(MeanMarginTest, IsThatOfATableOfT) {
  // t(0.9875, 4) is 3.495; the standard error of 1…5 is sqrt(2.5 / 5).
  EXPECT_NEAR(MeanMargin({1, 2, 3, 4, 5}), 3.495 * std::sqrt(0.5), 1e-3);
  EXPECT_NEAR(MeanMargin({7, 7, 7}), 0, 1e-12);
  EXPECT_TRUE(std::isinf(MeanMargin({1})));
}

TEST(MeanMarginTest, HoldsTheMeanAlsoWhereOneStopsWhenItIsSmall) {
  std::mt19937_64 random(3);
  for (const double deviation : {0.5, 1.0, 2.0, 3.0}) {
    constexpr int kRuns = 2000;
    int held = 0;
    for (int i = 0; i < kRuns; ++i) {
      std::normal_distribution<double> normal(100, deviation);
      std::vector<double> values{normal(random), normal(random), normal(random)};
      while (MeanMargin(values) > 1) values.push_back(normal(random));
      const double mean =
          std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
      held += std::abs(mean - 100) <= 1;
    }
    EXPECT_GE(held, 0.945 * kRuns) << deviation;
  }
}

TEST(MedianIntervalTest, HoldsTheMedianAsOftenAsItSays) {
  EXPECT_FALSE(MedianInterval({1, 2, 3, 4, 5}));
  std::mt19937_64 random(4);
  for (const size_t count : {6, 9, 20, 90}) {
    constexpr int kRuns = 4000;
    int held = 0;
    for (int i = 0; i < kRuns; ++i) {
      std::exponential_distribution<double> skewed(1);
      std::vector<double> values(count);
      for (double& value : values) value = skewed(random);
      const auto interval = MedianInterval(values);
      ASSERT_TRUE(interval);
      held += interval->low <= std::log(2) && std::log(2) <= interval->high;
    }
    EXPECT_GE(held, 0.945 * kRuns) << count;
    EXPECT_LE(held, 0.985 * kRuns) << count;
  }
}

TEST(KneeTest, ThroughputOverDepthBendsWhereItStopsDoubling) {
  const std::vector<double> depths = {1, 2, 4, 8, 16, 32, 64};
  // Doubles up to 8, then hardly grows.
  EXPECT_EQ(KneeOfGain(depths, {100, 200, 400, 800, 900, 920, 930}), 3u);
  // Comes down after its top.
  EXPECT_EQ(KneeOfGain(depths, {100, 200, 400, 800, 880, 700, 300}), 3u);
  // A plateau ends where the curve ends; what only falls has no knee.
  EXPECT_EQ(KneeOfGain({1, 2, 4, 8, 16, 32}, {945, 1920, 3780, 4975, 4975, 4975}), 3u);
  EXPECT_FALSE(KneeOfGain({1, 2, 4, 8, 16}, {480, 300, 200, 120, 60}));
  // A straight line in these axes has none, nor have too few points, nor what does not change.
  EXPECT_FALSE(KneeOfGain(depths, {1, 2, 3, 4, 5, 6, 7}));
  EXPECT_FALSE(KneeOfGain({1, 2, 4}, {100, 190, 200}));
  EXPECT_FALSE(KneeOfGain(depths, {5, 5, 5, 5, 5, 5, 5}));
  EXPECT_FALSE(KneeOfGain({}, {}));
}

TEST(KneeTest, LatencyOverLoadBendsWhereItBeginsToRise) {
  const std::vector<double> shares = {0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 1.0};
  EXPECT_EQ(KneeOfCost(shares, {1, 1.1, 1.2, 1.4, 1.7, 4, 20}), 4u);
  EXPECT_FALSE(KneeOfCost(shares, {1, 3, 5, 7, 8, 9, 10}));
  // It falls at the end: nothing rises beyond that.
  EXPECT_FALSE(KneeOfCost(shares, {20, 30, 31, 32, 31, 30, 10}));
}

TEST(FairnessTest, TheRangeOverTimeIsOfTheTimeInWhichAllRan) {
  v1::PhaseReport phase;
  phase.add_hosts();
  phase.add_hosts();
  phase.set_interval_seconds(1);
  phase.set_intervals_per_point(1);
  for (const double jain : {0.5, 0.5, 0.98, 0.99, 0.5}) {
    phase.add_jain_by_interval(jain);
    phase.add_iops_by_interval(100);
  }
  phase.set_window_begin_seconds(2);
  phase.set_window_end_seconds(3.9);
  AddJainRange(&phase);
  EXPECT_DOUBLE_EQ(phase.jain_min(), 0.98);
  EXPECT_DOUBLE_EQ(phase.jain_max(), 0.99);
}

}  // namespace
}  // namespace lockstep::controller
