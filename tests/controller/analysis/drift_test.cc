#include "controller/analysis/drift.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <random>
#include <utility>

#include "controller/analysis/statistics.h"
#include "gtest/gtest.h"

namespace lockstep::controller {
namespace {

// Values of two sides of `each`, one after the other, of which the second is higher by `shift`.
InOrder InSuccession(const std::vector<double>& values, double shift) {
  InOrder runs;
  for (size_t i = 0; i < values.size(); ++i) {
    runs.is_second.push_back(i >= values.size() / 2);
    runs.values.push_back(values[i] + (runs.is_second.back() ? shift : 0));
  }
  return runs;
}

using Machine = std::function<std::vector<double>(std::mt19937_64*, size_t)>;

double Normal(std::mt19937_64* random) { return std::normal_distribution<double>(0, 1)(*random); }

// A machine with a deviation of 1 whose level follows `level` of the run's number.
Machine Along(std::function<double(double run, double chance)> level) {
  return [level = std::move(level)](std::mt19937_64* random, size_t count) {
    const double chance = std::uniform_real_distribution<double>(0, 1)(*random);
    std::vector<double> values;
    for (size_t i = 0; i < count; ++i) {
      values.push_back(level(static_cast<double>(i), chance) + Normal(random));
    }
    return values;
  };
}

// Each value has so much of the one before it.
Machine Correlated(double share) {
  return [share](std::mt19937_64* random, size_t count) {
    std::vector<double> values;
    double level = Normal(random);
    for (size_t i = 0; i < count; ++i) {
      level = share * level + std::sqrt(1 - share * share) * Normal(random);
      values.push_back(level);
    }
    return values;
  };
}

// One step of `size` deviations, not exactly between the sets.
Machine StepsElsewhere(double size) {
  return [size](std::mt19937_64* random, size_t count) {
    size_t at = 1 + (*random)() % (count - 2);
    at += at >= count / 2;
    std::vector<double> values;
    for (size_t i = 0; i < count; ++i) values.push_back((i >= at ? size : 0) + Normal(random));
    return values;
  };
}

enum class Tests { kPermutation, kBoth };

// How often of 400 comparisons these tests find a difference.
double FoundIn(const Machine& machine, size_t each, double shift, Tests tests) {
  std::mt19937_64 random(each);
  int found = 0;
  for (int i = 0; i < 400; ++i) {
    const InOrder runs = InSuccession(machine(&random, 2 * each), shift);
    // The quick one first: where it finds nothing, the other need not be made.
    if (tests == Tests::kBoth && DriftTest(runs) >= 0.05) continue;
    found += PermutationTest({runs.values}, each, each)[0] < 0.05;
  }
  return found / 400.0;
}

std::vector<double> Drifts(std::mt19937_64* random, size_t count) {
  std::vector<double> values;
  for (size_t i = 0; i < count; ++i)
    values.push_back(0.5 * static_cast<double>(i) + Normal(random));
  return values;
}

std::vector<double> Wanders(std::mt19937_64* random, size_t count) {
  std::vector<double> values;
  double level = Normal(random);
  for (size_t i = 0; i < count; ++i) {
    level = 0.8 * level + 0.6 * Normal(random);
    values.push_back(level);
  }
  return values;
}

std::vector<double> Steps(std::mt19937_64* random, size_t count) {
  std::vector<double> values;
  const size_t at = 1 + (*random)() % (count - 1);
  for (size_t i = 0; i < count; ++i) values.push_back((i >= at ? 3 : 0) + Normal(random));
  return values;
}

std::vector<double> Holds(std::mt19937_64* random, size_t count) {
  std::vector<double> values;
  for (size_t i = 0; i < count; ++i) values.push_back(Normal(random));
  return values;
}

TEST(DriftTest, AMachineThatDriftsIsNoDifference) {
  for (const size_t each : {4, 6, 8}) {
    EXPECT_LE(FoundIn(&Drifts, each, 0, Tests::kBoth), 0.06) << each;
    EXPECT_LE(FoundIn(&Wanders, each, 0, Tests::kBoth), 0.06) << each;
    EXPECT_LE(FoundIn(&Steps, each, 0, Tests::kBoth), 0.10) << each;
    EXPECT_LE(FoundIn(&Holds, each, 0, Tests::kBoth), 0.05) << each;
  }
  // Without it they alarm: the situations are what they should be.
  EXPECT_GE(FoundIn(&Drifts, 8, 0, Tests::kPermutation), 0.9);
  EXPECT_GE(FoundIn(&Wanders, 8, 0, Tests::kPermutation), 0.3);
}

// 400 cases have a standard error of 1.1 % where the rate is 5 %.
TEST(DriftTest, NoKindOfDriftIsADifference) {
  constexpr double kAtMost = 0.075;
  for (const size_t each : {5, 8, 12}) {
    for (const double slope : {0.1, 1.0, 3.0}) {
      const Machine line = Along([=](double run, double) { return slope * run; });
      EXPECT_LE(FoundIn(line, each, 0, Tests::kBoth), kAtMost) << each << ", line " << slope;
    }
    for (const double share : {0.3, 0.6, 0.9}) {
      EXPECT_LE(FoundIn(Correlated(share), each, 0, Tests::kBoth), kAtMost)
          << each << ", correlation " << share;
    }
    for (const double size : {2.0, 3.0, 10.0}) {
      EXPECT_LE(FoundIn(StepsElsewhere(size), each, 0, Tests::kBoth), kAtMost)
          << each << ", step " << size;
    }
    // A day of so many runs, begun at any hour.
    for (const double day : {16.0, 24.0, 96.0}) {
      const Machine sine = Along([=](double run, double chance) {
        return 3 * std::sin(2 * std::numbers::pi * (run / day + chance));
      });
      EXPECT_LE(FoundIn(sine, each, 0, Tests::kBoth), kAtMost) << each << ", day of " << day;
    }
  }
}

// Figures that share a drift and have noise of their own are as many chances of an alarm.
TEST(DriftTest, NoneOfSeveralFiguresDiffersBesideADrift) {
  constexpr size_t kFigures = 5;
  for (const size_t each : {5, 8}) {
    std::mt19937_64 random(each);
    int alarms = 0;
    for (int i = 0; i < 400; ++i) {
      std::vector<std::vector<double>> figures(kFigures);
      for (std::vector<double>& figure : figures) figure = Drifts(&random, 2 * each);
      const std::vector<bool> is_second = InSuccession(figures[0], 0).is_second;
      const std::vector<double> p = DriftTests(figures, is_second);
      alarms += *std::min_element(p.begin(), p.end()) < 0.05;
    }
    EXPECT_LE(alarms / 400.0, 0.075) << each;
  }
}

TEST(DriftTest, AFigureInOtherUnitsIsNoFurtherChance) {
  std::mt19937_64 random(1);
  const InOrder runs = InSuccession(Holds(&random, 16), 4);
  std::vector<double> doubled;
  std::vector<double> negative;
  for (const double value : runs.values) {
    doubled.push_back(2 * value + 7);
    negative.push_back(-value);
  }
  const double alone = DriftTest(runs);
  for (const double p : DriftTests({runs.values, doubled, negative}, runs.is_second)) {
    EXPECT_NEAR(p, alone, 1e-9);
  }
  const std::vector<double> p =
      DriftTests({Holds(&random, 16), runs.values, Holds(&random, 16)}, runs.is_second);
  EXPECT_NEAR(p[1], std::min(3 * alone, std::max(p[0], p[2])), 1e-9);
  EXPECT_TRUE(DriftTests({}, {}).empty());
}

// A change before the last run of the first set did not come from the second.
TEST(DriftTest, AStepAtAnotherTimeIsNoDifference) {
  InOrder runs = InSuccession({0.1, -0.1, 0.2, 9.9, 10, 10.1, 9.8, 10.2}, 0);
  EXPECT_EQ(DriftTest(runs), 1);
  runs = InSuccession({0.1, -0.1, 0.2, 0, 10, 10.1, 9.8, 10.2}, 0);
  EXPECT_LT(DriftTest(runs), 0.01);
}

TEST(DriftTest, AClearDifferenceIsFoundNevertheless) {
  EXPECT_GE(FoundIn(&Holds, 4, 10, Tests::kBoth), 0.9);
  EXPECT_GE(FoundIn(&Holds, 8, 6, Tests::kBoth), 0.85);
}

TEST(DriftTest, SuccessionIsWhatTheOrderSays) {
  EXPECT_NEAR(SuccessionOf({false, true, true, false, false, true, true, false}), 0, 0.01);
  EXPECT_GT(SuccessionOf({false, false, false, false, true, true, true, true}), 0.85);
  EXPECT_EQ(SuccessionOf({}), 0);
  EXPECT_EQ(SuccessionOf({true, true, true}), 0);
  EXPECT_EQ(DriftTest({{1, 2}, {false, true}}), 1);
  EXPECT_EQ(DriftTest({{1, 1, 1, 1}, {false, false, true, true}}), 1);
}

}  // namespace
}  // namespace lockstep::controller
