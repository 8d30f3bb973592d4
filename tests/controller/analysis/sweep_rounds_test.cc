// The report of a sweep whose rounds must be steady.

#include "controller/analysis/sweep_rounds.h"

#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "controller/analysis/sweeps.h"
#include "gtest/gtest.h"

namespace lockstep::controller {
namespace {

// A run that is over: rounds of two depths, of which the depth of 4 is tracked. It has these IOPS.
struct RunOfRounds {
  explicit RunOfRounds(const std::vector<double>& iops) {
    data.run.state = measure::RunState::kDone;
    v1::RunPhase* run = data.run.job.add_phases()->mutable_run();
    run->add_workloads();
    run->mutable_expect()->set_steady(true);
    v1::Sweep* sweep = run->mutable_sweep();
    v1::SweepAxis* depth = sweep->add_axes();
    depth->set_field("queue_depth");
    for (const char* value : {"1", "4"}) depth->add_values(value);
    sweep->set_repeat(25);
    v1::SteadyRounds* rule = sweep->mutable_until_steady();
    rule->add_track("queue_depth=4");
    rule->set_window(5);
    rule->set_range_ratio(0.2);
    rule->set_slope_ratio(0.1);
    for (size_t round = 0; round < iops.size(); ++round) {
      Add(10.0 * static_cast<double>(round + 1));
      Add(iops[round]);
    }
  }

  void Add(double iops) {
    measure::PhaseData& phase = data.phases.emplace_back();
    phase.phase.phase = phase.phase.step = static_cast<uint32_t>(data.phases.size() - 1);
    phase.phase.state = measure::PhaseState::kDone;
    phase.phase.spec.mutable_run();
    phase.phase.figures.set_iops(iops);
    v1::PhaseReport* out = report.add_phases();
    out->set_index(phase.phase.phase);
    out->set_state(measure::Text(measure::PhaseState::kDone));
    out->mutable_total()->set_iops(iops);
    out->mutable_total()->set_bytes_per_second(4096 * iops);
  }

  const v1::SweepReport& Sweep() {
    AddSweeps(data, &report);
    return report.sweeps(0);
  }
  const v1::PhaseReport& Last() const { return report.phases(report.phases_size() - 1); }

  measure::RunData data;
  v1::Report report;
};

TEST(SweepRoundsTest, FiguresAreThoseOfTheSteadyRounds) {
  RunOfRounds run({200, 150, 100, 104, 98, 102, 96});
  const v1::SweepReport& sweep = run.Sweep();
  const v1::SteadyRoundsReport& rounds = sweep.steady_rounds();
  EXPECT_TRUE(rounds.steady());
  EXPECT_EQ(rounds.figure(), "IOPS");
  EXPECT_EQ(rounds.unit(), "1/s");
  EXPECT_EQ(rounds.rounds(), 7u);
  EXPECT_EQ(rounds.first_round(), 3u);
  EXPECT_EQ(rounds.last_round(), 7u);
  ASSERT_EQ(rounds.points_size(), 1);
  EXPECT_EQ(rounds.points(0).point(), "queue_depth=4");
  EXPECT_DOUBLE_EQ(rounds.points(0).mean(), 100);
  EXPECT_EQ(rounds.points(0).values_by_round_size(), 7);
  // The depth of 1 has 10, 20, … 70: the median of rounds 3 to 7 is 50.
  ASSERT_EQ(sweep.points_size(), 2);
  EXPECT_EQ(sweep.points(0).iops(), 50);
  EXPECT_EQ(sweep.points(1).iops(), 100);
  for (const v1::SweepPointReport& point : sweep.points()) {
    EXPECT_EQ(point.runs(), 5u);
    EXPECT_EQ(point.phases_size(), 7) << "the others are listed";
  }
  EXPECT_EQ(sweep.ended(),
            "steady from round 3 on: in rounds 3 to 7 the IOPS of queue_depth=4 varied by 8.0 % "
            "(limit 20 %), the fitted line by 4.0 % (limit 10 %); the figures of all points are of "
            "these rounds");
  EXPECT_EQ(run.Last().remarks_size(), 0);
  ASSERT_EQ(run.Last().expectations_size(), 1);
  EXPECT_TRUE(run.Last().expectations(0).met());
  EXPECT_EQ(run.Last().expectations(0).text(), "rounds steady within 20 %, slope 10 %");
  EXPECT_EQ(run.Last().expectations(0).found(), "8.0 %, slope 4.0 %");
}

TEST(SweepRoundsTest, RoundsThatAreNotSteadyAreAWarning) {
  // The last window is 91 to 109: its line rises by 4.5 a round.
  RunOfRounds run({200, 91, 95.5, 100, 104.5, 109});
  const v1::SweepReport& sweep = run.Sweep();
  EXPECT_FALSE(sweep.steady_rounds().steady());
  EXPECT_EQ(sweep.points(1).iops(), 100);
  EXPECT_EQ(sweep.points(1).runs(), 5u);
  EXPECT_EQ(sweep.ended(),
            "not steady after 6 rounds; the figures of all points are of rounds 2 to 6");
  ASSERT_EQ(run.Last().remarks_size(), 1);
  EXPECT_EQ(run.Last().remarks(0),
            "NOT STEADY: in rounds 2 to 6 the IOPS of queue_depth=4 varied by 18.0 % (limit 20 %), "
            "the fitted line by 18.0 % (limit 10 %)");
  ASSERT_EQ(run.Last().expectations_size(), 1);
  EXPECT_FALSE(run.Last().expectations(0).met());
}

TEST(SweepRoundsTest, TooFewRoundsSayNothing) {
  RunOfRounds run({100, 100, 100});
  run.data.phases[3].phase.state = measure::PhaseState::kFailed;
  const v1::SweepReport& sweep = run.Sweep();
  EXPECT_FALSE(sweep.steady_rounds().has_first_round());
  EXPECT_FALSE(sweep.steady_rounds().points(0).has_mean());
  ASSERT_EQ(sweep.steady_rounds().points(0).values_by_round_size(), 3);
  EXPECT_EQ(sweep.steady_rounds().points(0).values_by_round(0), 100);
  EXPECT_TRUE(std::isnan(sweep.steady_rounds().points(0).values_by_round(1)));
  EXPECT_EQ(sweep.points(1).runs(), 3u);
  EXPECT_EQ(sweep.ended(),
            "not known to be steady (3 complete rounds, 5 are needed); the figures are of all "
            "rounds");
  ASSERT_EQ(run.Last().expectations_size(), 1);
  EXPECT_EQ(run.Last().expectations(0).found(), "too few rounds");
  EXPECT_FALSE(run.Last().expectations(0).met());
}

TEST(SweepRoundsTest, ASweepThatGoesOnIsNotJudgedYet) {
  RunOfRounds run({200, 150, 100, 80, 70});
  run.data.run.state = measure::RunState::kRunning;
  EXPECT_FALSE(run.Sweep().steady_rounds().steady());
  EXPECT_EQ(run.Last().remarks_size(), 0);
  EXPECT_EQ(run.Last().expectations_size(), 0);
  RunOfRounds again({200, 150, 100, 80, 70});
  again.data.run.state = measure::RunState::kRunning;
  again.data.run.job.mutable_phases(0)->mutable_run()->mutable_sweep()->set_repeat(5);
  again.Sweep();
  EXPECT_EQ(again.Last().remarks_size(), 1) << "no further round comes";
}

}  // namespace
}  // namespace lockstep::controller
