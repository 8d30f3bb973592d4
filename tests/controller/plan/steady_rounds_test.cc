// Rounds of a sweep that end once they are steady. The figures are those of SNIA's rule, by hand.

#include "controller/plan/steady_rounds.h"

#include <string>
#include <vector>

#include "controller/plan/settle.h"
#include "controller/plan/validate.h"
#include "gtest/gtest.h"

namespace lockstep::controller {
namespace {

// Two depths in at most 25 rounds, until the depth of 4 is steady.
v1::JobSpec InRounds() {
  v1::JobSpec job;
  v1::PhaseSpec* phase = job.add_phases();
  phase->set_name("load");
  v1::RunPhase* run = phase->mutable_run();
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
  return job;
}

v1::Sweep* SweepOf(v1::JobSpec* job) {
  return job->mutable_phases(0)->mutable_run()->mutable_sweep();
}

// The results of whole rounds: of the depth of 1 always another one, of the depth of 4 these.
std::vector<StepResult> Results(const std::vector<double>& iops) {
  std::vector<StepResult> results;
  for (size_t round = 0; round < iops.size(); ++round) {
    for (const double value : {10.0 * static_cast<double>(round + 1), iops[round]}) {
      StepResult result{.step = static_cast<uint32_t>(results.size()), .done = true};
      result.figures.set_iops(value);
      result.figures.set_mean_ns(1e9 / value);
      result.figures.set_workers(2);
      results.push_back(result);
    }
  }
  return results;
}

RoundsState StateOf(v1::JobSpec job, const std::vector<double>& iops) {
  return StateOfRounds(*SweepOf(&job), Results(iops));
}

TEST(SteadyRoundsTest, TheFirstWindowWithinBothLimitsIsSteady) {
  // Rounds 1 to 5 have a range of 102 around 130.4, rounds 2 to 6 one of 52 around 110.8. Rounds 3
  // to 7 have the mean 100, the range 8, and the sum of distance from the middle times value
  // -200 - 104 + 0 + 102 + 192 = -10: the line falls by 10 / 10 a round, 4 from end to end.
  const RoundsState state = StateOf(InRounds(), {200, 150, 100, 104, 98, 102, 96, 500});
  EXPECT_TRUE(state.steady);
  EXPECT_EQ(state.rounds, 8u);
  ASSERT_TRUE(state.window);
  EXPECT_EQ(state.window->first, 2u);
  EXPECT_EQ(state.window->last, 6u);
  ASSERT_EQ(state.tracked.size(), 1u);
  EXPECT_EQ(state.tracked[0].point, "queue_depth=4");
  EXPECT_DOUBLE_EQ(state.tracked[0].variation.mean, 100);
  EXPECT_DOUBLE_EQ(state.tracked[0].variation.range, 0.08);
  EXPECT_NEAR(state.tracked[0].variation.slope, 0.04, 1e-12);
  EXPECT_EQ(state.tracked[0].values.size(), 8u);
  EXPECT_FALSE(StateOf(InRounds(), {200, 150, 100, 104, 98, 102}).steady);
}

TEST(SteadyRoundsTest, EachLimitHoldsByItself) {
  // Mean 100, range 18, and a line that rises by 4.5 a round: 18 from end to end.
  RoundsState state = StateOf(InRounds(), {91, 95.5, 100, 104.5, 109});
  EXPECT_FALSE(state.steady);
  EXPECT_NEAR(state.tracked[0].variation.range, 0.18, 1e-12);
  EXPECT_NEAR(state.tracked[0].variation.slope, 0.18, 1e-12);
  // Mean 100, range 22. The sum -200 - 111 + 0 + 89 + 200 = -22 is a fall of 8.8 from end to end.
  state = StateOf(InRounds(), {100, 111, 100, 89, 100});
  EXPECT_FALSE(state.steady);
  EXPECT_NEAR(state.tracked[0].variation.range, 0.22, 1e-12);
  EXPECT_NEAR(state.tracked[0].variation.slope, 0.088, 1e-12);
  ASSERT_TRUE(state.window) << "the last window has figures, steady or not";
  EXPECT_EQ(state.window->last, 4u);
}

TEST(SteadyRoundsTest, WithoutATrackEveryPointMustBeSteady) {
  v1::JobSpec job = InRounds();
  SweepOf(&job)->mutable_until_steady()->clear_track();
  const RoundsState state = StateOf(job, {100, 100, 100, 100, 100, 100});
  EXPECT_FALSE(state.steady) << "the depth of 1 grows from round to round";
  ASSERT_EQ(state.tracked.size(), 2u);
  EXPECT_EQ(state.tracked[0].point, "queue_depth=1");
  EXPECT_FALSE(state.tracked[0].steady);
  EXPECT_TRUE(state.tracked[1].steady);
}

TEST(SteadyRoundsTest, ARunWithoutItsValueIsInNoWindow) {
  v1::JobSpec job = InRounds();
  const std::vector<double> iops(9, 100);
  std::vector<StepResult> results = Results(iops);
  results[2 * 3 + 1].figures.set_workers(1);  // a host was lost
  RoundsState state = StateOfRounds(*SweepOf(&job), results);
  ASSERT_TRUE(state.steady);
  EXPECT_EQ(state.window->first, 4u);
  EXPECT_EQ(state.tracked[0].values[3], 0);
  results[2 * 4 + 1].done = false;
  state = StateOfRounds(*SweepOf(&job), results);
  EXPECT_FALSE(state.window);
  EXPECT_EQ(state.rounds, 9u);
  // A load that does nothing is not steady, though it does not vary.
  EXPECT_FALSE(StateOf(job, std::vector<double>(9, 0)).window);
}

TEST(SteadyRoundsTest, ARoundCountsOnceAllItsPointsHaveRun) {
  v1::JobSpec job = InRounds();
  std::vector<StepResult> results = Results(std::vector<double>(5, 100));
  EXPECT_EQ(StateOfRounds(*SweepOf(&job), results).rounds, 5u);
  results.pop_back();
  const RoundsState state = StateOfRounds(*SweepOf(&job), results);
  EXPECT_EQ(state.rounds, 4u);
  EXPECT_FALSE(state.window);
  EXPECT_EQ(StateOfRounds(*SweepOf(&job), {}).rounds, 0u);
}

TEST(SteadyRoundsTest, RoundsThatWarmUpAreInNoWindow) {
  v1::JobSpec job = InRounds();
  SweepOf(&job)->set_warm_up(2);
  const RoundsState state = StateOf(job, std::vector<double>(7, 100));
  ASSERT_TRUE(state.window);
  EXPECT_EQ(state.rounds, 5u);
  EXPECT_EQ(state.window->first, 2u);
  EXPECT_EQ(state.window->last, 6u);
}

// The number of steps that run if the rounds have these IOPS, the last of them for good.
size_t StepsUntilEnd(const v1::JobSpec& job, std::vector<double> iops) {
  iops.resize(25, iops.back());
  const std::vector<StepResult> all = Results(iops);
  std::vector<StepResult> results;
  while (true) {
    const auto next = NextPhase(job, results, Remaining::kAll);
    EXPECT_TRUE(next.ok());
    if (!next.ok() || !next->has_value() || results.size() == all.size()) return results.size();
    EXPECT_FALSE((*next)->spec.run().expect().steady()) << "of rounds, not of a point";
    results.push_back(all[results.size()]);
  }
}

TEST(SteadyRoundsTest, TheSweepEndsWithTheSteadyRound) {
  EXPECT_EQ(StepsUntilEnd(InRounds(), {200, 150, 100, 104, 98, 102, 96}), 14u);
  v1::JobSpec job = InRounds();
  SweepOf(&job)->mutable_until_steady()->clear_track();
  EXPECT_EQ(StepsUntilEnd(job, {100}), 50u) << "never steady: all 25 rounds";
  SweepOf(&job)->mutable_until_steady()->add_track("queue_depth=4");
  SweepOf(&job)->mutable_until_steady()->set_figure(v1::REPEAT_FIGURE_MEAN);
  EXPECT_EQ(StepsUntilEnd(job, {100}), 10u);
  SweepOf(&job)->mutable_until_steady()->set_figure(v1::REPEAT_FIGURE_P99);
  EXPECT_EQ(StepsUntilEnd(job, {100}), 50u) << "too few I/Os for a p99";
}

std::string AllProblemsOf(v1::JobSpec job) {
  FillJob(&job);
  std::string all;
  for (const v1::Problem& problem : Validate(job)) {
    all += problem.path() + ": " + problem.message() + "\n";
  }
  return all;
}

bool Says(const v1::JobSpec& job, const std::string& text) {
  return AllProblemsOf(job).find(text) != std::string::npos;
}

TEST(SteadyRoundsTest, WhatCannotBeIsRefused) {
  const v1::JobSpec good = InRounds();
  EXPECT_FALSE(Says(good, "until_steady")) << AllProblemsOf(good);
  EXPECT_FALSE(Says(good, "expect.steady")) << AllProblemsOf(good);
  v1::JobSpec job = good;
  SweepOf(&job)->set_warm_up(21);
  EXPECT_TRUE(Says(job, "until_steady: cannot be reached: its window has 5 rounds beside 21"))
      << AllProblemsOf(job);
  job = good;
  SweepOf(&job)->mutable_until()->set_within_ratio(0.1);
  EXPECT_TRUE(Says(job, "and `until` both end the repetitions")) << AllProblemsOf(job);
  job = good;
  job.mutable_phases(0)->mutable_run()->mutable_until_steady();
  EXPECT_TRUE(Says(job, "is for rounds over all points")) << AllProblemsOf(job);
  job = good;
  SweepOf(&job)->mutable_until_steady()->add_track("queue_depth=8");
  SweepOf(&job)->mutable_until_steady()->add_track("queue_depth=4");
  EXPECT_TRUE(Says(job,
                   "track[1]: 'queue_depth=8' is no point of the sweep; one is "
                   "'queue_depth=1'"))
      << AllProblemsOf(job);
  EXPECT_TRUE(Says(job, "track[2]: 'queue_depth=4' is there twice")) << AllProblemsOf(job);
}

}  // namespace
}  // namespace lockstep::controller
