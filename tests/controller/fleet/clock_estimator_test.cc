#include "controller/fleet/clock_estimator.h"

#include <cmath>
#include <random>

#include "gtest/gtest.h"

namespace lockstep::controller {
namespace {

TEST(ClockEstimatorTest, KnowsNothingAtFirstAndIgnoresTheImpossible) {
  ClockEstimator estimator;
  EXPECT_FALSE(estimator.At(0).known);
  estimator.Add(100, 50, 40, 200);  // answered before it came
  estimator.Add(100, 50, 60, 90);   // came back before it was sent
  estimator.Add(100, 0, 500, 200);  // longer there than under way
  // what a worker says may not fit into the arithmetic
  estimator.Add(100, -5000000000000000000, 5000000000000000000, 200);
  estimator.Add(100, 9223372036854775807, 9223372036854775807, 200);
  estimator.Add(-100, 9223372036854775807, 9223372036854775807, 200);
  EXPECT_FALSE(estimator.At(0).known);
}

// Random delays, symmetric or not, and drift within what is assumed: the truth lies within the
// bound, always.
TEST(ClockEstimatorTest, TheTruthLiesWithinTheBound) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    std::mt19937_64 random(seed);
    std::exponential_distribution<double> delay(1.0 / 80e3);
    const double skewed = seed % 3 == 0 ? 20 : 1;  // one way 20 times as slow
    const double drift = (static_cast<double>(random() % 200) - 100) * 1e-6;
    const int64_t offset = static_cast<int64_t>(random() % 100000000000000);
    const auto remote = [&](int64_t local) {
      return offset + local + static_cast<int64_t>(drift * static_cast<double>(local));
    };
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
      EXPECT_LE(std::abs(estimate.offset_ns - (remote(now) - now)), estimate.bound_ns)
          << "seed " << seed << " after " << i;
    }
    EXPECT_LT(estimator.At(now).bound_ns, 3000000);
  }
}

// A clock of an injected rate, over links whose two ways differ: the rate is found within its
// bound, and what is said of an instant ahead is far better than the assumed drift alone would
// allow.
TEST(ClockEstimatorTest, DriftIsMeasuredAndUsed) {
  for (const double drift : {-150e-6, -7e-6, 0.0, 30e-6, 100e-6}) {
    std::mt19937_64 random(1);
    std::exponential_distribution<double> delay(1.0 / 40e3);
    const auto remote = [&](int64_t local) {
      return 5000000000000 + local + static_cast<int64_t>(drift * static_cast<double>(local));
    };
    ClockEstimator estimator;
    int64_t now = 1000000000;
    for (int i = 0; i < 60; ++i) {
      const int64_t arrived = now + 30000 + static_cast<int64_t>(3 * delay(random));
      const int64_t t3 = arrived + 30000 + static_cast<int64_t>(delay(random));
      estimator.Add(now, remote(arrived), remote(arrived), t3);
      now = t3 + 1000000000;
    }
    const auto ahead = estimator.At(now + 2000000000);
    EXPECT_LE(std::abs(ahead.drift - drift), ahead.drift_bound) << drift;
    EXPECT_LT(ahead.drift_bound, 10e-6);
    EXPECT_LE(std::abs(ahead.offset_ns - (remote(now + 2000000000) - (now + 2000000000))),
              ahead.bound_ns)
        << drift;
    EXPECT_LT(ahead.bound_ns, 2000000000 * ClockEstimator::kDriftBound / 2);
  }
}

// The least delay of each way counts by itself.
TEST(ClockEstimatorTest, AReplyThatQueuedDoesNotSpoilItsPing) {
  ClockEstimator estimator;
  // quick there, slow back
  estimator.Add(0, 1000 + 10, 1000 + 10, 500000);
  estimator.Add(1000000, 1000000 + 1000 + 500000, 1501000, 1500000 + 10);  // the other way round
  const auto estimate = estimator.At(1600000);
  EXPECT_LE(std::abs(estimate.offset_ns - 1000), estimate.bound_ns);
  EXPECT_LT(estimate.bound_ns, 3000);
}

// A clock that jumps (a machine that was moved or stopped) is believed anew.
TEST(ClockEstimatorTest, AfterAJumpOldExchangesAreForgotten) {
  ClockEstimator estimator;
  int64_t now = 0;
  for (int i = 0; i < 20; ++i, now += 2000000000) {
    estimator.Add(now, now + 1000, now + 1000, now + 20);
  }
  for (int i = 0; i < 3; ++i, now += 2000000000) {
    estimator.Add(now, now + 900000000, now + 900000000, now + 20);
  }
  const auto estimate = estimator.At(now);
  EXPECT_LE(std::abs(estimate.offset_ns - 900000000), estimate.bound_ns);
  EXPECT_LT(estimate.bound_ns, 1000000);
}

// In the middle of a slot the jump once was believed by half, for up to two seconds: four goes in a
// row came too late.
TEST(ClockEstimatorTest, AJumpIsBelievedWithTheFirstExchangeAfterIt) {
  for (const int64_t jump : {4000000000, -4000000000}) {
    ClockEstimator estimator;
    int64_t now = 10000000000;
    for (int i = 0; i < 21; ++i, now += 1000000000) {
      estimator.Add(now, now + 1000, now + 1000, now + 200000);
    }
    estimator.Add(now, now + jump, now + jump, now + 200000);
    const auto estimate = estimator.At(now + 300000);
    EXPECT_LE(std::abs(estimate.offset_ns - jump), estimate.bound_ns) << jump;
    EXPECT_LT(estimate.bound_ns, 1000000) << jump;
  }
}

}  // namespace
}  // namespace lockstep::controller
