#include "controller/analysis/drift.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

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

enum class Tests { kPermutation, kBoth };

// How often of 400 comparisons these tests find a difference.
double FoundIn(const Machine& machine, size_t each, double shift, Tests tests) {
  std::mt19937_64 random(each);
  int found = 0;
  for (int i = 0; i < 400; ++i) {
    const InOrder runs = InSuccession(machine(&random, 2 * each), shift);
    double p = PermutationTest({runs.values}, each, each)[0];
    if (tests == Tests::kBoth) p = std::max(p, DriftTest(runs));
    found += p < 0.05;
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
