// The knee of a curve is a step that is served.

#include "controller/analysis/curves.h"

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "gtest/gtest.h"

namespace lockstep::controller {
namespace {

// A step at a share of 1,000 IOPS: the part of the due rate that is done, and the p99.
struct ServedStep {
  double share, served, p99_ms;
};

// `beside`: IOPS of another workload, which has no rate.
v1::CurveReport CurveOf(const std::vector<ServedStep>& steps, double beside = 0) {
  measure::RunData data;
  v1::RunPhase* run = data.run.job.add_phases()->mutable_run();
  run->mutable_curve();
  v1::Report report;
  for (uint32_t i = 0; i < steps.size(); ++i) {
    run->mutable_curve()->add_share_ratio(steps[i].share);
    measure::PhaseData& phase = data.phases.emplace_back();
    phase.phase.phase = i;
    phase.phase.step = i;
    v1::PhaseReport* out = report.add_phases();
    const double due = 1000 * steps[i].share;
    v1::WorkloadReport* open = out->add_workloads();
    open->set_due_per_second(due);
    open->mutable_total()->set_iops(due * steps[i].served);
    out->add_workloads()->mutable_total()->set_iops(beside);
    out->mutable_total()->set_iops(due * steps[i].served + beside);
    if (!(steps[i].p99_ms > 0)) continue;
    v1::Percentile* p99 = out->mutable_total()->add_percentiles();
    p99->set_percent(99);
    p99->set_latency_ns(1e6 * steps[i].p99_ms);
  }
  AddCurve(data, 0, &report);
  return report.curves(0);
}

TEST(CurvesTest, ARateThatIsNotServedIsNoKnee) {
  // By its form alone the knee would be at 100 %: beside 900 ms even 80 ms look flat.
  const v1::CurveReport curve =
      CurveOf({{0.25, 1, 1}, {0.5, 1, 1.5}, {0.75, 0.99, 3}, {1, 0.9, 80}, {1.5, 0.6, 900}});
  ASSERT_TRUE(curve.has_knee()) << curve.without_knee();
  EXPECT_EQ(curve.knee().value(), "75 %");
  EXPECT_EQ(curve.knee().p99_ns(), 3e6);
  EXPECT_EQ(curve.knee().reason(),
            "up to 75 % of the load (743 IOPS) the p99 is 3 ms; beyond it rises to 80 ms at 100 %, "
            "of which 90 % is served");
  EXPECT_EQ(curve.points_size(), 5);
  EXPECT_EQ(curve.points(3).offered(), 1000);
  EXPECT_EQ(curve.points(3).achieved(), 900);
}

TEST(CurvesTest, StepsBeyondTheFirstThatIsNotServedAreNone) {
  const v1::CurveReport curve =
      CurveOf({{0.25, 1, 1}, {0.5, 1, 1.5}, {1, 0.9, 80}, {1.5, 0.6, 900}});
  EXPECT_FALSE(curve.has_knee()) << curve.knee().reason();
  EXPECT_EQ(curve.without_knee(),
            "no knee: 3 steps up to 100 %, the first that is not served, are too few, 4 are "
            "needed; 50 % is the last that is served");
  // Nor does a step without a p99, which nobody needs.
  EXPECT_EQ(
      CurveOf({{0.1, 1, 1}, {0.5, 1, 1}, {0.9, 1, 2}, {1, 0.9, 80}, {9, 0.1, 0}}).knee().value(),
      "90 %");
}

TEST(CurvesTest, WhereNothingIsServedThereIsNoKnee) {
  const v1::CurveReport curve =
      CurveOf({{0.4, 0.5, 80}, {0.6, 0.4, 90}, {0.8, 0.3, 100}, {1, 0.2, 900}}, 5000);
  EXPECT_EQ(curve.without_knee(), "no knee: not even 40 % of the load is served: 200 of 400 IOPS");
}

TEST(CurvesTest, WhereAllIsServedTheLatencyDecides) {
  const std::vector<ServedStep> steps{{1, 0.98, 20}, {0.25, 1, 1}, {0.75, 1, 2}, {0.5, 1, 1.5}};
  const v1::CurveReport curve = CurveOf(steps, 5000);
  EXPECT_EQ(curve.knee().value(), "75 %") << curve.without_knee();
  EXPECT_TRUE(absl::StrContains(curve.knee().reason(), "beyond it rises to 20 ms"));
  EXPECT_FALSE(absl::StrContains(curve.knee().reason(), "is served"));
  EXPECT_EQ(CurveOf({{0.5, 1, 1}, {0.75, 1, 2}, {1, 1, 20}}).without_knee(),
            "no knee: 3 steps are too few, 4 are needed");
  EXPECT_EQ(CurveOf({{0.25, 1, 1}, {0.5, 1, 2}, {0.75, 1, 3}, {1, 1, 4}}).without_knee(),
            "no knee: the p99 does not clearly bend");
  EXPECT_EQ(CurveOf({{0.25, 1, 1}, {0.5, 1, 0}, {0.75, 1, 3}, {1, 1, 4}}).without_knee(),
            "no knee: some steps have too few I/Os for a p99");
}

// A share may be run several times: it is one step, of the medians.
TEST(CurvesTest, StepsOfOneShareAreOne) {
  const v1::CurveReport curve =
      CurveOf({{0.25, 1, 1}, {0.5, 1, 1.4}, {0.75, 1, 2}, {0.5, 1, 1.6}, {1, 0.98, 20}});
  EXPECT_EQ(curve.knee().value(), "75 %") << curve.without_knee();
  EXPECT_EQ(curve.points_size(), 5);
  EXPECT_EQ(CurveOf({{0.5, 1, 1}, {0.5, 1, 1}, {0.75, 1, 2}, {1, 1, 20}}).without_knee(),
            "no knee: 3 steps are too few, 4 are needed");
}

}  // namespace
}  // namespace lockstep::controller
