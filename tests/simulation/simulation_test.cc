// A few hundred seeds in every test run; tools/simulate does as many as one likes.

#include "gtest/gtest.h"
#include "tests/simulation/safeguard_names.h"
#include "tests/simulation/world.h"

namespace lockstep::simulation {
namespace {

TEST(SimulationTest, NothingThatMustHoldIsViolated) {
  const uint64_t seeds = getenv("LOCKSTEP_LONG") != nullptr ? 100000 : 1500;
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    const Outcome outcome = Simulate({.seed = seed});
    for (const std::string& violation : outcome.violations) {
      ADD_FAILURE() << "seed " << seed << " (tools/simulate --seed " << seed << "): " << violation;
    }
    if (testing::Test::HasFailure()) return;
  }
}

TEST(SimulationTest, TheSameSeedGivesTheSameHistory) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    const Outcome first = Simulate({.seed = seed});
    const Outcome second = Simulate({.seed = seed});
    EXPECT_EQ(first.history, second.history) << seed;
    EXPECT_EQ(first.events, second.events) << seed;
    EXPECT_NE(first.history, Simulate({.seed = seed + 1000}).history);
  }
}

// Every safeguard is needed: without it some seed of the first ten thousand goes wrong.
class SafeguardTest : public testing::TestWithParam<size_t> {};

TEST_P(SafeguardTest, IsMissedWithinTenThousandSeeds) {
  for (uint64_t seed = 1; seed <= 10000; ++seed) {
    if (!Simulate({.seed = seed,
                   .safeguards = common::Safeguards::Without(kSafeguards[GetParam()].safeguard)})
             .violations.empty()) {
      return;
    }
  }
  ADD_FAILURE() << "a fleet without the safeguard " << kSafeguards[GetParam()].name
                << " does no wrong in 10,000 seeds";
}

INSTANTIATE_TEST_SUITE_P(EachSafeguard, SafeguardTest,
                         testing::Range<size_t>(0, std::size(kSafeguards)), [](const auto& info) {
                           std::string name = kSafeguards[info.param].name;
                           for (char& c : name) c = c == '-' ? '_' : c;
                           return name;
                         });

}  // namespace
}  // namespace lockstep::simulation
