// How far apart the hosts started, and the job's limit of it.

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "tests/controller/analysis/stored_phases.h"

namespace lockstep::controller {
namespace {

TEST(SkewTest, StartSkewBeyondTheLimitInvalidates) {
  Stored data = TwoWorkers();
  SetSkewLimit(&data, 1000);
  const v1::Report report = ReportOf(data);
  EXPECT_TRUE(report.phases(0).invalid());
  EXPECT_FALSE(report.expectations_met());
  EXPECT_EQ(report.run().expectations(), "2 of 3 met");
  // 2 µs ± 20 µs: within 5 µs, or not.
  SetSkewLimit(&data, 5000);
  const v1::Report unsure = ReportOf(data);
  EXPECT_FALSE(unsure.phases(0).invalid());
  EXPECT_TRUE(unsure.expectations_met());
  EXPECT_TRUE(absl::StrContains(absl::StrJoin(unsure.phases(0).remarks(), "\n"), "may be beyond"));
  SetSkewLimit(&data, 50000);
  EXPECT_FALSE(
      absl::StrContains(absl::StrJoin(ReportOf(data).phases(0).remarks(), "\n"), "may be beyond"));
}

// One host's doubtful clock widens the bound by its own doubt, once.
TEST(SkewTest, TheSkewsBoundIsOfTwoDifferentHosts) {
  Stored data = TwoWorkers();
  data.phases[0].workers[0].clock.bound_ns = 10000000;
  data.phases[0].workers[1].clock.bound_ns = 10;
  EXPECT_DOUBLE_EQ(ReportOf(data).phases(0).start_skew_ns(), 2000);
  EXPECT_DOUBLE_EQ(ReportOf(data).phases(0).start_skew_bound_ns(), 10000010);
}

// 0 would be a perfect start, and a limit without an expectation is met in silence.
TEST(SkewTest, FewerThanTwoStartsHaveNoSkew) {
  Stored data = TwoWorkers();
  SetSkewLimit(&data, 1000);
  data.phases[0].workers[1].result.set_first_io_ns(0);
  const auto limit_of = [](const v1::PhaseReport& phase) {
    const auto found = std::find_if(phase.expectations().begin(), phase.expectations().end(),
                                    [](const auto& e) { return e.text().starts_with("start"); });
    return found == phase.expectations().end() ? v1::Expectation() : *found;
  };
  const v1::PhaseReport one = ReportOf(data).phases(0);
  EXPECT_FALSE(one.has_start_skew_ns());
  EXPECT_FALSE(one.has_start_skew_bound_ns());
  EXPECT_EQ(one.start_skew_hosts(), 1u);
  EXPECT_TRUE(limit_of(one).met());
  EXPECT_EQ(limit_of(one).found(), "one host began");
  data.phases[0].workers[0].result.set_first_io_ns(0);
  const v1::PhaseReport none = ReportOf(data).phases(0);
  EXPECT_FALSE(limit_of(none).met());
  EXPECT_EQ(limit_of(none).found(), "nothing measured");
  EXPECT_FALSE(none.invalid());
}

}  // namespace
}  // namespace lockstep::controller
