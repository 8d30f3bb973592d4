#include "controller/fleet/clock_estimator.h"

#include <cmath>
#include <random>

#include "gtest/gtest.h"

namespace lockstep::controller {
namespace {

TEST(ClockEstimatorTest, KnowsNothingAtFirstAndIgnoresTheImpossible) {
  ClockEstimator estimator;
  EXPECT_FALSE(estimator.At(0).known);
  estimator.Add(100, 50, 40, 200);   // answered before it came
  estimator.Add(100, 50, 60, 90);    // came back before it was sent
  estimator.Add(100, 0, 500, 200);   // longer there than under way
  EXPECT_FALSE(estimator.At(0).known);
}

// Random delays, symmetric or not, and drift within what is assumed: the truth lies within the bound, always.
TEST(ClockEstimatorTest, TheTruthLiesWithinTheBound) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    std::mt19937_64 random(seed);
    std::exponential_distribution<double> delay(1.0 / 80e3);
    const double skewed = seed % 3 == 0 ? 20 : 1;  // one way 20 times as slow
    const double drift = (static_cast<double>(random() % 200) - 100) * 1e-6;
    const int64_t offset = static_cast<int64_t>(random() % 100000000000000);
    const auto remote = [&](int64_t local) { return offset + local + static_cast<int64_t>(drift * static_cast<double>(local)); };
    ClockEstimator estimator;
    int64_t now = 1000000000;
    for (int i = 0; i < 40; ++i) {
      const int64_t t0 = now;
      const int64_t arrived = t0 + 20000 + static_cast<int64_t>(skewed * delay(random));
      const int64_t answered = arrived + 5000;
      const int64_t t3 = answered + 20000 + static_cast<int64_t>(delay(random));
      estimator.Add(t0, remote(arrived), remote(answered), t3);
      now = t3 + (i < 12 ? 4000000 : 1000000000);
      const auto estimate = estimator.At(now);
      ASSERT_TRUE(estimate.known);
      EXPECT_LE(std::abs(estimate.offset_ns - (remote(now) - now)), estimate.bound_ns) << "seed " << seed << " after " << i;
    }
    EXPECT_LT(estimator.At(now).bound_ns, 3000000);
  }
}

TEST(ClockEstimatorTest, TheShortestExchangeCountsUntilItIsTooOld) {
  ClockEstimator estimator;
  estimator.Add(0, 1005, 1005, 10);
  estimator.Add(1000000, 1000000 + 1000 + 90000, 1000000 + 1000 + 90000, 1000000 + 180000);
  EXPECT_EQ(estimator.At(1200000).round_trip_ns, 10);
  EXPECT_EQ(estimator.At(10000000000).round_trip_ns, 10 + 0);
  estimator.Add(20000000000, 20000000000 + 1050, 20000000000 + 1050, 20000000100);
  EXPECT_EQ(estimator.At(20000000200).round_trip_ns, 100);
}

}  // namespace
}  // namespace lockstep::controller
