#include "controller/analysis/silence_rule.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "gtest/gtest.h"

namespace lockstep::controller {
namespace {

using Begins = std::vector<std::pair<double, double>>;

// Begin and end of the outages among these silences, of intervals of 1 s.
Begins OutagesOfSeconds(const Begins& silences, const std::vector<SilencePart>& parts,
                        double end_seconds) {
  std::vector<SilentSpan> spans;
  for (const auto& [begin, end] : silences) spans.push_back({begin, end});
  Begins outages;
  for (const SilentSpan& outage : OutagesAmong(spans, parts, {0, end_seconds}, 1)) {
    outages.emplace_back(outage.begin_seconds, outage.end_seconds);
  }
  return outages;
}

// By the I/Os in each second.
Begins OutagesOfCounts(const std::vector<uint32_t>& seconds) {
  Begins silences;
  double ios = 0;
  for (size_t k = 0; k < seconds.size(); ++k) {
    ios += seconds[k];
    if (seconds[k] > 0) continue;
    const auto at = static_cast<double>(k);
    if (silences.empty() || silences.back().second != at) silences.emplace_back(at, at);
    silences.back().second = at + 1;
  }
  return OutagesOfSeconds(silences, {{.ios = ios}}, static_cast<double>(seconds.size()));
}

TEST(SilenceRuleTest, ASilenceThatLacksEnoughIosIsAnOutageAlsoAtALowRate) {
  // Eight I/Os a second, each interval too few to tell, and 30 of 120 s without one.
  EXPECT_EQ(OutagesOfSeconds({{40, 70}}, {{.ios = 720}}, 120), (Begins{{40, 70}}));
  EXPECT_EQ(OutagesOfSeconds({{40, 41}}, {{.ios = 720}}, 120), Begins());
  EXPECT_EQ(OutagesOfSeconds({{40, 41}}, {{.ios = 72000}}, 120), (Begins{{40, 41}}));
}

// The more I/Os, the more often is one of their distances long by chance.
TEST(SilenceRuleTest, OfManyIosASilenceMustLackMore) {
  EXPECT_EQ(OutagesOfSeconds({{10, 24}}, {{.ios = 26}}, 40), (Begins{{10, 24}}));
  EXPECT_EQ(OutagesOfSeconds({{10, 24}}, {{.ios = 100000}}, 100014), Begins());
}

TEST(SilenceRuleTest, AHostThatStandsStillForMostOfTheTimeIsKnownByTheRest) {
  Begins silences;
  for (int k = 0; k < 10; ++k) silences.emplace_back(3 * k + 1, 3 * k + 3);
  EXPECT_EQ(OutagesOfSeconds(silences, {{.ios = 1000}}, 30), silences);
}

// One I/O in 100 s, at distances as those of a Poisson process: nearly all of the time is silent.
TEST(SilenceRuleTest, TheDistancesOfRareIosAreNoOutages) {
  Begins silences;
  double at = 0;
  for (int k = 0; k < 100; ++k) {
    const double distance = std::ceil(-100 * std::log((k + 0.5) / 100));
    silences.emplace_back(at, at + distance);
    at += distance + 1;
  }
  EXPECT_EQ(OutagesOfSeconds(silences, {{.ios = 100}}, at), Begins());
  silences.emplace_back(at, at + 5000);
  EXPECT_EQ(OutagesOfSeconds(silences, {{.ios = 100}}, at + 5000), (Begins{{at, at + 5000}}));
}

// Intervals of 1 s with the I/Os of a Poisson process: none of its silences is an outage, and one
// that lacks 40 I/Os always is.
TEST(SilenceRuleTest, IosByChanceMakeNoOutagesAndHideNone) {
  std::mt19937_64 random(11);
  constexpr uint32_t kSeconds = 5000;
  constexpr int kRounds = 20;
  for (const double rate : {0.02, 0.2, 1.0, 3.0, 9.0, 12.0}) {
    int alarms = 0;
    int found = 0;
    for (int round = 0; round < kRounds; ++round) {
      std::vector<uint32_t> seconds(kSeconds);
      std::exponential_distribution<double> distance(rate);
      for (double at = distance(random); at < kSeconds; at += distance(random)) {
        ++seconds[static_cast<size_t>(at)];
      }
      alarms += OutagesOfCounts(seconds).empty() ? 0 : 1;
      const auto begin = seconds.begin() + kSeconds / 3;
      const auto end = begin + static_cast<ptrdiff_t>(std::ceil(40 / rate));
      std::fill(begin, end, 0);
      const Begins outages = OutagesOfCounts(seconds);
      found += outages.size() == 1 &&
                       outages[0].first <= static_cast<double>(begin - seconds.begin()) &&
                       outages[0].second >= static_cast<double>(end - seconds.begin())
                   ? 1
                   : 0;
    }
    EXPECT_EQ(alarms, 0) << rate;
    EXPECT_EQ(found, kRounds) << rate;
  }
}

TEST(SilenceRuleTest, PausesOfTheThreadsAreNoOutagesAndLongerSilencesAre) {
  v1::Workload workload;
  EXPECT_EQ(PauseSeconds(workload, 1e6), 0);
  workload.set_think_time_ns(1000000);
  EXPECT_DOUBLE_EQ(PauseSeconds(workload, 1e6), 0.022);
  // A line of the access pattern may pause for longer.
  workload.add_access();
  workload.add_access()->set_delay_ns(5000000000);
  EXPECT_DOUBLE_EQ(PauseSeconds(workload, 1e6), 10.02);
  workload.clear_think_time_ns();
  EXPECT_DOUBLE_EQ(PauseSeconds(workload, 1e6), 10.02);
  SilencePart part{.ios = 4000, .pause_seconds = 0.022};
  const Begins silences = {{5, 10}, {15, 20}};
  EXPECT_EQ(OutagesOfSeconds(silences, {part}, 30), silences);
  part.pause_seconds = 6;
  EXPECT_EQ(OutagesOfSeconds(silences, {part}, 30), Begins());
  // A workload beside it does not pause.
  EXPECT_EQ(OutagesOfSeconds(silences, {part, {.ios = 4000}}, 30), silences);
}

TEST(SilenceRuleTest, WorkloadsAreJudgedByTheTimeInWhichTheyRun) {
  const SilencePart ended{.end_seconds = 0.6, .ios = 9000};
  EXPECT_EQ(OutagesOfSeconds({{20, 25}}, {ended, {.ios = 550}}, 60), (Begins{{20, 25}}));
  // The rate of the one that has ended says nothing of the other.
  EXPECT_EQ(OutagesOfSeconds({{20, 25}}, {ended, {.ios = 110}}, 60), Begins());
  const SilencePart late{.begin_seconds = 30, .ios = 3000};
  EXPECT_EQ(OutagesOfSeconds({{10, 15}}, {{.ios = 5500}, late}, 60), (Begins{{10, 15}}));
  // Before its begin, and after the other one's end, nothing is due. What is left of the interval
  // in which one begins is no whole one.
  const SilencePart first{.end_seconds = 12.3, .ios = 1000};
  const SilencePart second{.begin_seconds = 19.5, .ios = 3500};
  EXPECT_EQ(OutagesOfSeconds({{13, 20}}, {first, second}, 60), Begins());
  EXPECT_EQ(OutagesOfSeconds({{10, 25}}, {first, second}, 60), (Begins{{10, 12}, {20, 25}}));
}

TEST(SilenceRuleTest, WithoutAnIoOfItsOwnTheExpectedRateJudges) {
  EXPECT_EQ(OutagesOfSeconds({{0, 60}}, {SilencePart{}}, 60), Begins());
  EXPECT_EQ(OutagesOfSeconds({{0, 60}}, {{.expected_rate = 1}}, 60), (Begins{{0, 60}}));
  EXPECT_EQ(OutagesOfSeconds({{0, 60}}, {{.expected_rate = 0.1}}, 60), Begins());
}

// An open loop that begins with 1 % of its last rate may complete nothing in its first seconds.
TEST(SilenceRuleTest, ARateThatChangesIsTakenForItsLowest) {
  v1::Workload workload;
  EXPECT_EQ(LeastShare(workload), 1);
  workload.mutable_open_loop()->set_ramp_to_ratio(0.5);
  EXPECT_DOUBLE_EQ(LeastShare(workload), 0.5 / 0.75);
  workload.mutable_open_loop()->set_ramp_to_ratio(100);
  EXPECT_DOUBLE_EQ(LeastShare(workload), 1 / 50.5);
  const SilencePart part{.ios = 1000, .min_share = LeastShare(workload)};
  EXPECT_EQ(OutagesOfSeconds({{0, 2}}, {part}, 20), Begins());
  EXPECT_EQ(OutagesOfSeconds({{0, 2}}, {{.ios = 1000}}, 20), (Begins{{0, 2}}));
}

// Of storage that is stuck from the start, all is expected.
TEST(SilenceRuleTest, WhatIsExpectedInAnyCaseNeedsNoShare) {
  v1::Workload workload;
  workload.mutable_open_loop()->set_ramp_to_ratio(0);
  const SilencePart part{.min_share = LeastShare(workload),
                         .expected_rate = std::numeric_limits<double>::infinity()};
  EXPECT_EQ(OutagesOfSeconds({{0, 2}}, {part}, 2), (Begins{{0, 2}}));
}

TEST(SilenceRuleTest, TheOthersSayWhatIsExpected) {
  const v1::Workload plain;
  v1::Workload limited;
  limited.set_max_iops(1);
  MeanRates rates;
  EXPECT_EQ(rates.Expected(0, plain), 0);
  rates.Add(1, 100, 10);
  rates.Add(1, 300, 10);
  rates.Add(1, 0, 10);  // one that did nothing, either
  rates.Add(2, 7, 10);
  EXPECT_DOUBLE_EQ(rates.Expected(1, limited), 20);
  EXPECT_DOUBLE_EQ(rates.Expected(0, plain), 0.7) << "no other host has it";
  EXPECT_EQ(rates.Expected(0, limited), 0);
}

}  // namespace
}  // namespace lockstep::controller
