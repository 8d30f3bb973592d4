#include "controller/analysis/point_comparison.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>

#include "controller/analysis/statistics.h"
#include "gtest/gtest.h"

namespace lockstep::controller {
namespace {

using Values = std::vector<std::vector<std::optional<double>>>;

// Draws of the normal distribution (G. E. P. Box, M. E. Muller, 1958); the same on every machine.
class RandomNoise {
 public:
  double operator()() {
    const double radius = std::sqrt(-2 * std::log(1 - Uniform()));
    return radius * std::cos(2 * std::numbers::pi * Uniform());
  }

 private:
  double Uniform() { return static_cast<double>(random_() >> 11) * 0x1p-53; }
  std::mt19937_64 random_{1};
};

bool AnyIsWorse(const std::vector<PointStanding>& points) {
  for (const PointStanding& point : points) {
    if (point.standing == Standing::kWorse) return true;
  }
  return false;
}

// Points that are equal, but for what varies from round to round (20 %, the same for all points)
// and within a round (5 %; with `uneven`, 1 % to so many percent as there are points).
Values EqualPoints(size_t points, size_t rounds, bool uneven, RandomNoise* noise) {
  Values values(points);
  for (size_t round = 0; round < rounds; ++round) {
    const double shared = 0.2 * (*noise)();
    for (size_t p = 0; p < points; ++p) {
      const double scatter = uneven ? 0.01 * static_cast<double>(p + 1) : 0.05;
      values[p].push_back(1000 * std::exp(shared + scatter * (*noise)()));
    }
  }
  return values;
}

double WrongShare(size_t points, size_t rounds, bool uneven) {
  constexpr int kSweeps = 2000;
  RandomNoise noise;
  int wrong = 0;
  for (int i = 0; i < kSweeps; ++i) {
    const Values values = EqualPoints(points, rounds, uneven, &noise);
    wrong += AnyIsWorse(ComparePoints(values, Better::kHigher, 0.05));
  }
  return static_cast<double>(wrong) / kSweeps;
}

TEST(PointComparisonTest, OneOfEqualPointsIsRarelyCalledWorse) {
  for (const size_t points : {3, 5, 10}) {
    for (const size_t rounds : {3, 5, 8}) {
      EXPECT_LE(WrongShare(points, rounds, /*uneven=*/false), 0.05)
          << points << " points, " << rounds;
      EXPECT_LE(WrongShare(points, rounds, /*uneven=*/true), 0.05)
          << points << " points, " << rounds;
    }
  }
  // Two points have one pair, for which 5 % are the expected share: 2,000 sweeps have it ±1 %.
  EXPECT_LE(WrongShare(2, 5, /*uneven=*/false), 0.06);
}

// Why the correction counts all pairs: the best point is the one with the luckiest rounds.
TEST(PointComparisonTest, OnlyThePairsOfTheBestPointWouldBeTooFew) {
  constexpr int kSweeps = 1000;
  constexpr double kPairsOfTheBest = 9;
  RandomNoise noise;
  int wrong = 0;
  for (int i = 0; i < kSweeps; ++i) {
    const Values values = EqualPoints(10, 8, /*uneven=*/false, &noise);
    double least = 1;
    for (const PointStanding& point : ComparePoints(values, Better::kHigher, 0.05)) {
      least = std::min(least, point.standing == Standing::kBest ? 1 : point.p_value);
    }
    // The smallest p of a pair was multiplied by 45, the number of all pairs.
    wrong += least / 45 * kPairsOfTheBest <= 0.05;
  }
  EXPECT_GT(wrong, kSweeps / 12);
}

// The rounds go on until the mean of each point is known to 5 %, as with `until`.
TEST(PointComparisonTest, AStopByTheMarginNeedsAStricterLevel) {
  constexpr int kSweeps = 1500;
  RandomNoise noise;
  int wrong = 0;
  int wrong_at_5 = 0;
  for (int i = 0; i < kSweeps; ++i) {
    Values values(2);
    std::vector<std::vector<double>> plain(2);
    double margin = 1;
    while (plain[0].size() < 30 && (plain[0].size() < 3 || margin > 0.05)) {
      margin = 0;
      for (size_t p = 0; p < 2; ++p) {
        plain[p].push_back(1 + 0.05 * noise());
        values[p].push_back(plain[p].back());
        margin = std::max(margin, MeanMargin(plain[p]));
      }
    }
    wrong += AnyIsWorse(ComparePoints(values, Better::kHigher, 0.025));
    wrong_at_5 += AnyIsWorse(ComparePoints(values, Better::kHigher, 0.05));
  }
  EXPECT_LE(wrong, 0.05 * kSweeps);
  EXPECT_GT(wrong_at_5, wrong);
}

TEST(PointComparisonTest, WhatAllPointsOfARoundShareCancelsOut) {
  // The device gets slower by a third in each round, and one point is 10 % slower than the other.
  Values values(2);
  double level = 1000;
  for (const double noise : {1.0, 1.005, 0.995, 1.002}) {
    values[0].push_back(level);
    values[1].push_back(0.9 * level * noise);
    level *= 0.67;
  }
  const auto points = ComparePoints(values, Better::kHigher, 0.05);
  EXPECT_EQ(points[0].standing, Standing::kBest);
  EXPECT_EQ(points[1].standing, Standing::kWorse);
  EXPECT_NEAR(points[1].ratio, 0.9, 0.001);
  EXPECT_EQ(points[1].rounds, 4u);
  // The smaller one of two latencies is better.
  const auto latencies = ComparePoints(values, Better::kLower, 0.05);
  EXPECT_EQ(latencies[1].standing, Standing::kBest);
  EXPECT_EQ(latencies[0].standing, Standing::kWorse);
  EXPECT_NEAR(latencies[0].ratio, 1 / 0.9, 0.001);
}

TEST(PointComparisonTest, TheIntervalAgreesWithTheDecision) {
  RandomNoise noise;
  for (int i = 0; i < 300; ++i) {
    Values values = EqualPoints(4, 5, /*uneven=*/false, &noise);
    for (auto& value : values[3]) value = *value * 0.85;
    for (const PointStanding& point : ComparePoints(values, Better::kHigher, 0.05)) {
      if (point.standing == Standing::kBest) continue;
      const bool encloses_1 =
          point.ratio * std::exp(-point.margin) <= 1 && point.ratio * std::exp(point.margin) >= 1;
      EXPECT_EQ(encloses_1, point.standing == Standing::kNotDistinguishable);
      EXPECT_EQ(point.p_value > 0.05, point.standing == Standing::kNotDistinguishable);
    }
  }
}

TEST(PointComparisonTest, ThreeRoundsAreTheLeast) {
  for (const size_t rounds : {1, 2}) {
    Values values = {std::vector<std::optional<double>>(rounds, 100),
                     std::vector<std::optional<double>>(rounds, 1)};
    for (const PointStanding& point : ComparePoints(values, Better::kHigher, 0.05)) {
      EXPECT_EQ(point.standing, Standing::kTooFewRounds);
      EXPECT_EQ(point.rounds, rounds);
    }
  }
}

TEST(PointComparisonTest, WithoutAnyScatterADifferenceIsOne) {
  const auto points =
      ComparePoints({{200, 200, 200}, {100, 100, 100}, {200, 200, 200}}, Better::kHigher, 0.05);
  EXPECT_EQ(points[0].standing, Standing::kBest);
  EXPECT_EQ(points[1].standing, Standing::kWorse);
  EXPECT_EQ(points[1].p_value, 0);
  EXPECT_EQ(points[2].standing, Standing::kNotDistinguishable);
  EXPECT_EQ(points[2].p_value, 1);
  EXPECT_FALSE(points[2].more_rounds.has_value()) << "equal ones stay equal";
}

TEST(PointComparisonTest, TheRoundsThatAreMissingTellThePointsApart) {
  // One is 3 % slower on average, and that varies by 5 %.
  Values values(2);
  const auto add = [&](size_t rounds) {
    for (size_t i = 0; i < rounds; ++i) {
      values[0].push_back(1000);
      values[1].push_back(1000 * std::exp(-0.03 + (i % 2 == 0 ? 0.05 : -0.05)));
    }
  };
  add(6);
  auto points = ComparePoints(values, Better::kHigher, 0.05);
  ASSERT_EQ(points[1].standing, Standing::kNotDistinguishable);
  ASSERT_TRUE(points[1].more_rounds.has_value());
  EXPECT_GT(*points[1].more_rounds, 5u);
  add(*points[1].more_rounds);
  points = ComparePoints(values, Better::kHigher, 0.05);
  EXPECT_EQ(points[1].standing, Standing::kWorse);
}

TEST(PointComparisonTest, PointsAreComparedInTheRoundsThatTheyShare) {
  // The device gets slower. The second point missed the fast rounds, and its mean is the smaller
  // one, although it is ahead in every round that both have.
  const Values values = {{1000, 900, 505, 402, 300, 201},
                         {std::nullopt, std::nullopt, 550, 440, 331, 220},
                         {std::nullopt, std::nullopt, std::nullopt, std::nullopt, 150, 100}};
  const auto points = ComparePoints(values, Better::kHigher, 0.05);
  EXPECT_EQ(points[1].standing, Standing::kBest);
  EXPECT_EQ(points[1].rounds, 4u);
  EXPECT_EQ(points[0].standing, Standing::kWorse);
  EXPECT_EQ(points[0].rounds, 4u);
  EXPECT_EQ(points[2].standing, Standing::kTooFewRounds);
  EXPECT_EQ(points[2].rounds, 2u);
}

TEST(PointComparisonTest, APointThatAnotherOneBeatsIsNotTheBest) {
  constexpr auto kNone = std::nullopt;
  // The first point was far ahead of the third one, in rounds that the second one missed. The
  // second one was ahead of it in each of the rounds that they share.
  const Values values = {{1000, 1000, 1000, 1000, 1000, 1000, kNone, kNone, kNone},
                         {1010, 1010, 1010, kNone, kNone, kNone, 110, 110, 110},
                         {kNone, kNone, kNone, 100, 100, 100, 100, 100, 100}};
  auto points = ComparePoints(values, Better::kHigher, 0.05);
  EXPECT_EQ(points[1].standing, Standing::kBest);
  EXPECT_EQ(points[0].standing, Standing::kWorse);
  EXPECT_NEAR(points[0].ratio, 1 / 1.01, 1e-9);
  EXPECT_EQ(points[2].standing, Standing::kWorse);
  // The third one of the latencies is the smallest in all rounds.
  points = ComparePoints(values, Better::kLower, 0.05);
  EXPECT_EQ(points[2].standing, Standing::kBest);
  EXPECT_EQ(points[0].standing, Standing::kWorse);
  EXPECT_EQ(points[1].standing, Standing::kWorse);
}

TEST(PointComparisonTest, WhereEachPointIsBeatenNoneIsBest) {
  constexpr auto kNone = std::nullopt;
  const Values values = {{2, 2, 2, kNone, kNone, kNone, 1, 1, 1, kNone},
                         {1, 1, 1, 2, 2, 2, kNone, kNone, kNone, kNone},
                         {kNone, kNone, kNone, 1, 1, 1, 2, 2, 2, kNone},
                         {kNone, kNone, kNone, kNone, kNone, kNone, kNone, kNone, kNone, 9}};
  const auto points = ComparePoints(values, Better::kHigher, 0.05);
  for (int p = 0; p < 3; ++p) EXPECT_EQ(points[p].standing, Standing::kNoOrder) << p;
  EXPECT_EQ(points[0].rounds, 6u);
  EXPECT_EQ(points[3].standing, Standing::kTooFewRounds);
}

TEST(PointComparisonTest, APointIsAloneWhereNoOtherHasValues) {
  auto points = ComparePoints({{1, 2}, {std::nullopt, std::nullopt}}, Better::kHigher, 0.05);
  EXPECT_EQ(points[0].standing, Standing::kAlone);
  EXPECT_EQ(points[0].rounds, 2u);
  EXPECT_EQ(points[1].standing, Standing::kNoValue);
  points = ComparePoints({{5}}, Better::kHigher, 0.05);
  EXPECT_EQ(points[0].standing, Standing::kAlone);
  EXPECT_TRUE(ComparePoints({}, Better::kHigher, 0.05).empty());
}

TEST(PointComparisonTest, TheGeometricMeanHasAnIntervalFromThreeValuesOn) {
  const GeometricMean two = GeometricMeanOf({100, 400});
  EXPECT_NEAR(two.mean, 200, 1e-9);
  EXPECT_FALSE(two.low.has_value());
  // Logarithms 0, 1, 2: deviation 1, t of two degrees of freedom 4.303.
  const GeometricMean three = GeometricMeanOf({1, std::exp(1), std::exp(2)});
  EXPECT_NEAR(three.mean, std::exp(1), 1e-9);
  EXPECT_NEAR(std::log(*three.high), 1 + 4.3027 / std::sqrt(3), 1e-3);
  EXPECT_NEAR(std::log(*three.low), 1 - 4.3027 / std::sqrt(3), 1e-3);
}

}  // namespace
}  // namespace lockstep::controller
