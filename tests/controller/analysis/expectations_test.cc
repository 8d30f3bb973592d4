// The limits that a live page holds a phase against.

#include "controller/analysis/expectations.h"

#include <map>
#include <string>
#include <utility>

#include "gtest/gtest.h"

namespace lockstep::controller {
namespace {

TEST(LimitsTest, CountsAndFairnessAreLimitsToo) {
  v1::RunPhase load;
  load.mutable_expect()->set_iops(5000);
  load.mutable_expect()->set_errors(0);
  load.mutable_expect()->set_fairness(0.9);
  load.mutable_abort_if()->set_errors(1000);
  std::map<std::string, std::pair<std::string, double>> found;
  for (const v1::FigureLimit& limit : LimitsOf(load)) {
    found[limit.text()] = {limit.figure(), limit.value()};
  }
  const std::map<std::string, std::pair<std::string, double>> expected = {
      {"iops >= 5,000", {"iops", 5000}},
      {"errors <= 0", {"errors", 0}},
      {"fairness over hosts >= 0.900", {"fairness", 0.9}},
      {"abort_if errors >= 1,000", {"errors", 1000}},
  };
  EXPECT_EQ(found, expected);
}

// A host alone is fair to nobody, and a load without measured time has no rate.
TEST(ExpectationsTest, WhatIsNotKnownIsNotMet) {
  v1::Expect expect;
  expect.set_fairness(0);
  expect.set_iops(0);
  expect.set_throughput_bytes_per_second(0);
  v1::PhaseReport phase;
  phase.mutable_total()->set_operations(100);
  phase.add_fairness()->set_count(1);
  CheckExpectations(expect, PhaseResults::kComplete, &phase);
  ASSERT_EQ(phase.expectations_size(), 3);
  for (const v1::Expectation& e : phase.expectations()) {
    EXPECT_FALSE(e.met()) << e.text();
    EXPECT_FALSE(e.has_value()) << e.text();
    EXPECT_TRUE(e.found().starts_with("not known")) << e.found();
  }
  EXPECT_EQ(phase.expectations(2).found(),
            "not known: one host did I/O, with nobody to share with");
  phase.clear_expectations();
  phase.mutable_total()->set_iops(0);
  phase.mutable_total()->set_bytes_per_second(0);
  phase.mutable_fairness(0)->set_count(2);
  phase.mutable_fairness(0)->set_jain(0.5);
  CheckExpectations(expect, PhaseResults::kComplete, &phase);
  for (const v1::Expectation& e : phase.expectations()) EXPECT_TRUE(e.met()) << e.text();
}

TEST(ExpectationsTest, AThroughputThatIsMissedNarrowlyIsNotWrittenAsTheRequiredOne) {
  v1::Expect expect;
  expect.set_throughput_bytes_per_second(100 << 20);
  v1::PhaseReport phase;
  phase.mutable_total()->set_operations(100);
  phase.mutable_total()->set_bytes_per_second((100 << 20) - 1024);
  CheckExpectations(expect, PhaseResults::kComplete, &phase);
  ASSERT_EQ(phase.expectations_size(), 1);
  EXPECT_FALSE(phase.expectations(0).met());
  EXPECT_EQ(phase.expectations(0).text(), "throughput >= 100 MiB/s (105 MB/s)");
  EXPECT_EQ(phase.expectations(0).found(), "100 MiB/s (105 MB/s) (104856576 B/s)");
}

TEST(LimitsTest, NothingIsRequiredOfALoadWithoutExpectations) {
  EXPECT_TRUE(LimitsOf(v1::RunPhase()).empty());
}

}  // namespace
}  // namespace lockstep::controller
