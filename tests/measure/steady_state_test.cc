#include "measure/steady_state.h"

#include <cmath>

#include "gtest/gtest.h"

namespace lockstep::measure {
namespace {

constexpr int64_t kSecondNs = 1000000000;

v1::SteadyState Rule() {
  v1::SteadyState rule;
  rule.set_figure(v1::STEADY_FIGURE_IOPS);
  rule.set_percent(99);
  rule.set_round_ns(kSecondNs);
  rule.set_window(5);
  rule.set_range_ratio(0.2);
  rule.set_slope_ratio(0.1);
  return rule;
}

MergedInterval Interval(uint32_t number, const std::vector<double>& iops) {
  MergedInterval merged;
  merged.interval = number;
  merged.interval_class = v1::INTERVAL_CLASS_MEASURED;
  merged.whole = true;
  for (size_t worker = 0; worker < iops.size(); ++worker) {
    MergedInterval::Part& part = merged.workers[static_cast<uint32_t>(worker)];
    part.begin_seconds = number;
    part.seconds = 1;
    part.operations = static_cast<uint64_t>(iops[worker]);
    part.bytes = part.operations * 4096;
    part.latency_sum_ns = iops[worker] * 1000;
  }
  return merged;
}

SteadyState Fed(const v1::SteadyState& rule, const std::vector<double>& iops) {
  SteadyState steady(rule, kSecondNs);
  for (size_t i = 0; i < iops.size(); ++i) {
    steady.Add(Interval(static_cast<uint32_t>(i), {iops[i]}));
  }
  return steady;
}

TEST(VariationTest, IsThatOfATableWorkedOutByHand) {
  // Mean 100; range (102 - 98) / 100. Positions -2 to 2: the sum of position * value is
  // -200 - 102 + 0 + 101 + 198 = -3, the sum of squared positions 10: the line falls by 0.3 a
  // round, 1.2 over the four from the first to the last.
  const Variation v = VariationOf({100, 102, 98, 101, 99});
  EXPECT_DOUBLE_EQ(v.mean, 100);
  EXPECT_DOUBLE_EQ(v.range, 0.04);
  EXPECT_NEAR(v.slope, 0.012, 1e-12);
  // A line that rises by 3 a round: its excursion is its range.
  const Variation line = VariationOf({94, 97, 100, 103, 106});
  EXPECT_DOUBLE_EQ(line.range, 0.12);
  EXPECT_NEAR(line.slope, 0.12, 1e-12);
  // As fio has it: the slope of a sample, of which 10 % over the window are 10 / (n - 1) %.
  EXPECT_NEAR(line.slope / 4, 0.03, 1e-12);
  EXPECT_EQ(VariationOf({5}).mean, 0);
  EXPECT_EQ(VariationOf({0, 0, 0}).range, 0);
}

TEST(SteadyStateTest, ADriftOfTwelvePercentAndASwingOfTwentyFiveAreRefused) {
  EXPECT_FALSE(Fed(Rule(), {94, 97, 100, 103, 106}).verdict().steady);
  EXPECT_TRUE(Fed(Rule(), {95.5, 97.5, 100, 102.5, 104.5}).verdict().steady);  // 9 %
  EXPECT_FALSE(Fed(Rule(), {100, 112, 87, 112, 100}).verdict().steady);        // 25 % apart
  EXPECT_TRUE(Fed(Rule(), {100, 109, 91, 109, 100}).verdict().steady);         // 18 %
}

TEST(SteadyStateTest, ItTellsTheFirstWindowThatWasSteady) {
  const SteadyState steady =
      Fed(Rule(), {400, 300, 200, 120, 100, 101, 99, 100, 100, 500, 500, 500});
  EXPECT_TRUE(steady.verdict().steady);
  EXPECT_EQ(steady.verdict().rounds, 9u);
  EXPECT_DOUBLE_EQ(steady.verdict().begin_seconds, 4);
  EXPECT_DOUBLE_EQ(steady.verdict().end_seconds, 9);
  EXPECT_DOUBLE_EQ(steady.verdict().fleet.mean, 100);
}

TEST(SteadyStateTest, ItTellsALaterWindowThatLeftTheRange) {
  const auto departure = [](const std::vector<double>& later) {
    std::vector<double> iops = {400, 100, 101, 99, 100, 100};
    iops.insert(iops.end(), later.begin(), later.end());
    return Fed(Rule(), iops).verdict().departure;
  };
  EXPECT_FALSE(departure({}));
  EXPECT_FALSE(departure({109, 91, 109, 100, 91, 109, 118, 85}));
  // Half less in one of five rounds is a tenth less of their mean.
  EXPECT_FALSE(departure({100, 50, 100, 100, 100, 100, 50}));
  // The last two rounds have no I/O.
  ASSERT_TRUE(departure({100, 100, 100, 0, 0}));
  EXPECT_DOUBLE_EQ(departure({100, 100, 100, 0, 0})->at_seconds, 9);
  EXPECT_DOUBLE_EQ(departure({100, 100, 100, 0, 0})->end_seconds, 10);
  EXPECT_DOUBLE_EQ(departure({100, 100, 100, 0, 0})->mean, 0);
  EXPECT_DOUBLE_EQ(departure({100, 100, 100, 0, 0})->steady_mean, 100);
  // A load that comes back was away all the same.
  EXPECT_TRUE(departure({40, 40, 40, 100, 100, 100, 100, 100}));
  // A drift of 3 % a round, in which no two neighbours differ.
  std::vector<double> drift;
  for (int i = 1; i <= 10; ++i) drift.push_back(100 - 3 * i);
  EXPECT_TRUE(departure(drift));
}

TEST(SteadyStateTest, ARoundWithoutAnIoIsADepartureWhateverTheRangeAllows) {
  const auto departure = [](double range) {
    v1::SteadyState rule = Rule();
    rule.set_range_ratio(range);
    rule.set_slope_ratio(range);
    return Fed(rule, {100, 101, 99, 100, 100, 130, 130, 130, 130, 0}).verdict().departure;
  };
  // The mean of the last five rounds is 104.
  ASSERT_TRUE(departure(0.6));
  EXPECT_DOUBLE_EQ(departure(0.6)->at_seconds, 9);
  EXPECT_DOUBLE_EQ(departure(0.6)->mean, 0);
  ASSERT_TRUE(departure(1));
  EXPECT_DOUBLE_EQ(departure(1)->at_seconds, 9);
}

TEST(SteadyStateTest, ARoundWithoutAnIoIsInNoSteadyWindow) {
  // As a rule of another version may be: a plan refuses a range of the whole mean.
  v1::SteadyState rule = Rule();
  rule.set_range_ratio(10);
  rule.set_slope_ratio(10);
  EXPECT_TRUE(Fed(rule, {100, 100, 1, 100, 100}).verdict().steady);
  EXPECT_FALSE(Fed(rule, {100, 100, 0, 100, 100}).verdict().steady);
  rule.set_figure(v1::STEADY_FIGURE_THROUGHPUT);
  EXPECT_FALSE(Fed(rule, {100, 100, 0, 100, 100}).verdict().steady);
  // Of hosts that must each be steady, none may stand still.
  rule.set_each_host(true);
  SteadyState steady(rule, kSecondNs);
  for (uint32_t i = 0; i < 5; ++i) steady.Add(Interval(i, {100, i == 2 ? 0.0 : 100.0}));
  EXPECT_FALSE(steady.verdict().steady);
}

// No round without an I/O has a latency, so that no window with it has a mean.
TEST(SteadyStateTest, ARoundWithoutAnIoEndsASteadyLatency) {
  v1::SteadyState rule = Rule();
  for (const v1::SteadyFigure figure : {v1::STEADY_FIGURE_MEAN, v1::STEADY_FIGURE_PERCENTILE}) {
    rule.set_figure(figure);
    rule.set_percent(50);
    SteadyState steady(rule, kSecondNs);
    for (uint32_t number = 0; number < 8; ++number) {
      MergedInterval merged = Interval(number, {number < 6 ? 100.0 : 0.0});
      if (number < 6) merged.workers[0].latencies = {{500, 98}, {600, 2}};
      steady.Add(merged);
    }
    EXPECT_TRUE(steady.verdict().steady);
    ASSERT_TRUE(steady.verdict().departure);
    EXPECT_DOUBLE_EQ(steady.verdict().departure->at_seconds, 6);
    EXPECT_DOUBLE_EQ(steady.verdict().departure->mean, 0);
  }
}

TEST(SteadyStateTest, AHostThatIsGoneIsNoDeparture) {
  SteadyState steady(Rule(), kSecondNs);
  for (uint32_t number = 0; number < 12; ++number) {
    steady.Add(number < 6 ? Interval(number, {100, 100}) : Interval(number, {100}));
  }
  EXPECT_TRUE(steady.verdict().steady);
  EXPECT_FALSE(steady.verdict().departure.has_value());
}

TEST(SteadyStateTest, AHostThatLeftTheRangeIsToldWhereEachCounts) {
  v1::SteadyState rule = Rule();
  for (const bool each : {false, true}) {
    rule.set_each_host(each);
    SteadyState steady(rule, kSecondNs);
    for (uint32_t number = 0; number < 12; ++number) {
      steady.Add(Interval(number, {900, number < 7 ? 100.0 : 20.0}));
    }
    EXPECT_TRUE(steady.verdict().steady);
    ASSERT_EQ(steady.verdict().departure.has_value(), each);
    if (!each) continue;
    EXPECT_EQ(steady.verdict().departure->worker, 1u);
    EXPECT_DOUBLE_EQ(steady.verdict().departure->at_seconds, 7);
  }
}

TEST(SteadyStateTest, FewRoundsAndNoIoAreNotSteady) {
  EXPECT_FALSE(Fed(Rule(), {100, 100, 100, 100}).verdict().steady);
  EXPECT_EQ(Fed(Rule(), {100, 100, 100, 100}).verdict().rounds, 4u);
  EXPECT_FALSE(Fed(Rule(), {0, 0, 0, 0, 0, 0}).verdict().steady);
}

TEST(SteadyStateTest, ARoundHasSeveralIntervals) {
  v1::SteadyState rule = Rule();
  rule.set_round_ns(2 * kSecondNs);
  // Every second halves and doubles; every two are equal.
  EXPECT_TRUE(Fed(rule, {50, 150, 50, 150, 50, 150, 50, 150, 50, 150}).verdict().steady);
  EXPECT_FALSE(Fed(Rule(), {50, 150, 50, 150, 50, 150, 50, 150, 50, 150}).verdict().steady);
}

TEST(SteadyStateTest, AGapBreaksTheWindow) {
  SteadyState steady(Rule(), kSecondNs);
  for (const uint32_t number : {0, 1, 2, 4, 5, 6}) steady.Add(Interval(number, {100}));
  EXPECT_FALSE(steady.verdict().steady);
  for (const uint32_t number : {7, 8}) steady.Add(Interval(number, {100}));
  EXPECT_TRUE(steady.verdict().steady);
  EXPECT_DOUBLE_EQ(steady.verdict().begin_seconds, 4);
}

TEST(SteadyStateTest, RampDrainAndPartsOfTheFleetDoNotCount) {
  SteadyState steady(Rule(), kSecondNs);
  for (uint32_t number = 0; number < 6; ++number) {
    MergedInterval merged = Interval(number, {100});
    if (number == 0) merged.interval_class = v1::INTERVAL_CLASS_RAMP;
    if (number == 3) merged.whole = false;
    steady.Add(merged);
  }
  EXPECT_FALSE(steady.verdict().steady);
}

TEST(SteadyStateTest, EveryHostMustBeWhereTheRuleSaysSo) {
  v1::SteadyState rule = Rule();
  SteadyState fleet(rule, kSecondNs);
  rule.set_each_host(true);
  SteadyState each(rule, kSecondNs);
  for (uint32_t number = 0; number < 6; ++number) {
    // One gains what the other loses.
    const std::vector<double> iops = {100.0 + 20 * number, 300.0 - 20 * number};
    fleet.Add(Interval(number, iops));
    each.Add(Interval(number, iops));
  }
  EXPECT_TRUE(fleet.verdict().steady);
  EXPECT_FALSE(each.verdict().steady);
  EXPECT_EQ(each.verdict().worst_worker, 0u);
  EXPECT_GT(each.verdict().worst.range, 0.4);
}

TEST(SteadyStateTest, AHostThatIsGoneIsWaitedForNoLonger) {
  v1::SteadyState rule = Rule();
  rule.set_each_host(true);
  SteadyState steady(rule, kSecondNs);
  steady.Add(Interval(0, {100, 400}));
  steady.Add(Interval(1, {100, 900}));
  for (uint32_t number = 2; number < 8; ++number) steady.Add(Interval(number, {100}));
  EXPECT_TRUE(steady.verdict().steady);
}

TEST(SteadyStateTest, LatenciesAreOfTheRoundsMergedHistograms) {
  v1::SteadyState rule = Rule();
  rule.set_figure(v1::STEADY_FIGURE_PERCENTILE);
  SteadyState steady(rule, kSecondNs);
  for (uint32_t number = 0; number < 5; ++number) {
    MergedInterval merged = Interval(number, {100});
    merged.workers[0].latencies = {{500, 98},
                                   {600 + number * 100, 2}};  // the tail doubles again and again
    steady.Add(merged);
  }
  EXPECT_FALSE(steady.verdict().steady);
  EXPECT_EQ(steady.verdict().rounds, 5u);
  rule.set_percent(50);
  SteadyState median(rule, kSecondNs);
  rule.set_figure(v1::STEADY_FIGURE_MEAN);
  SteadyState mean(rule, kSecondNs);
  for (uint32_t number = 0; number < 5; ++number) {
    MergedInterval merged = Interval(number, {100});
    merged.workers[0].latencies = {{500, 98}, {600 + number * 100, 2}};
    median.Add(merged);
    mean.Add(merged);
  }
  EXPECT_TRUE(median.verdict().steady);
  EXPECT_TRUE(mean.verdict().steady);
  EXPECT_DOUBLE_EQ(mean.verdict().fleet.mean, 1000);
}

TEST(SteadyStateTest, RoundsWithTooFewIosHaveNoPercentile) {
  v1::SteadyState rule = Rule();
  rule.set_figure(v1::STEADY_FIGURE_PERCENTILE);
  const auto fed = [&](uint64_t ios) {
    SteadyState steady(rule, kSecondNs);
    for (uint32_t number = 0; number < 5; ++number) {
      MergedInterval merged = Interval(number, {static_cast<double>(ios)});
      merged.workers[0].latencies = {{500, ios}};
      steady.Add(merged);
    }
    return steady;
  };
  EXPECT_TRUE(fed(100000).verdict().steady);
  // The p99 of 99 I/Os would be the largest of them, and steady by chance.
  EXPECT_FALSE(fed(99).verdict().steady);
  EXPECT_EQ(fed(99).verdict().rounds, 5u);
  EXPECT_EQ(fed(99).verdict().fleet.mean, 0);
}

}  // namespace
}  // namespace lockstep::measure
