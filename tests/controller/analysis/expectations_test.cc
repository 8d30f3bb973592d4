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

TEST(LimitsTest, NothingIsRequiredOfALoadWithoutExpectations) {
  EXPECT_TRUE(LimitsOf(v1::RunPhase()).empty());
}

}  // namespace
}  // namespace lockstep::controller
