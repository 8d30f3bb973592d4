#include "controller/analysis/silence_rule.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "gtest/gtest.h"

namespace lockstep::controller {
namespace {

using Begins = std::vector<std::pair<double, double>>;

// Begin and end of the outages among these silences, of intervals of 1 s.
Begins OutagesOfSeconds(const Begins& silences, const std::vector<SilencePart>& parts,
                        double end_seconds, const std::vector<double>& ios = {}) {
  std::vector<SilentSpan> spans;
  for (const auto& [begin, end] : silences) spans.push_back({begin, end});
  Begins outages;
  for (const SilentSpan& outage : OutagesAmong(spans, parts, {0, end_seconds}, 1, {0, 1, ios})) {
    outages.emplace_back(outage.begin_seconds, outage.end_seconds);
  }
  return outages;
}

// By the I/Os in each second.
Begins SilencesOf(const std::vector<uint32_t>& seconds) {
  Begins silences;
  for (size_t k = 0; k < seconds.size(); ++k) {
    if (seconds[k] > 0) continue;
    const auto at = static_cast<double>(k);
    if (silences.empty() || silences.back().second != at) silences.emplace_back(at, at);
    silences.back().second = at + 1;
  }
  return silences;
}

Begins OutagesOfCounts(const std::vector<uint32_t>& seconds) {
  const double ios = std::accumulate(seconds.begin(), seconds.end(), 0.0);
  return OutagesOfSeconds(SilencesOf(seconds), {{.ios = ios}}, static_cast<double>(seconds.size()),
                          std::vector<double>(seconds.begin(), seconds.end()));
}

// So many seconds, one after the other, with so many I/Os each.
using Seconds = std::vector<uint32_t>;
Seconds Row(const std::vector<std::pair<size_t, uint32_t>>& parts) {
  Seconds seconds;
  for (const auto& [count, ios] : parts) seconds.insert(seconds.end(), count, ios);
  return seconds;
}

Seconds Joined(const std::vector<Seconds>& parts) {
  Seconds seconds;
  for (const Seconds& part : parts) seconds.insert(seconds.end(), part.begin(), part.end());
  return seconds;
}

// `cycle` so many times.
Seconds Times(size_t count, const Seconds& cycle) {
  return Joined(std::vector<Seconds>(count, cycle));
}

// The I/Os of a Poisson process.
Seconds ByChance(double rate, size_t count, std::mt19937_64* random) {
  std::poisson_distribution<uint32_t> ios(rate);
  Seconds seconds(count);
  for (uint32_t& second : seconds) second = ios(*random);
  return seconds;
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

TEST(SilenceRuleTest, AStretchAtALowerRateIsNoRowOfOutages) {
  const Seconds fast = Row({{60, 1000}});
  for (const Seconds& cycle :
       {Row({{1, 0}, {1, 1}}), Row({{1, 1}, {1, 0}}), Row({{3, 0}, {1, 2}, {2, 1}})}) {
    const Seconds slow = Times(20, cycle);
    EXPECT_EQ(OutagesOfCounts(Joined({fast, slow})), Begins());
    EXPECT_EQ(OutagesOfCounts(Joined({slow, fast})), Begins());
    EXPECT_EQ(OutagesOfCounts(Joined({fast, slow, fast, slow, fast})), Begins());
  }
  // One empty second of a level that has few.
  EXPECT_EQ(OutagesOfCounts(Joined({fast, Row({{20, 3}, {1, 0}, {20, 3}}), fast})), Begins());
}

TEST(SilenceRuleTest, ALowerRateByChanceIsNoRowOfOutages) {
  std::mt19937_64 random(5);
  for (const double rate : {0.05, 0.5, 1.0, 3.0}) {
    int outages = 0;
    for (int round = 0; round < 20; ++round) {
      outages += static_cast<int>(
          OutagesOfCounts(Joined({ByChance(200, 60, &random), ByChance(rate, 600, &random),
                                  ByChance(200, 60, &random)}))
              .size());
    }
    EXPECT_EQ(outages, 0) << rate;
  }
}

TEST(SilenceRuleTest, OutagesThatInterruptAFastLoadStayOutages) {
  const Seconds cycle = Row({{1, 1000}, {5, 0}});
  EXPECT_EQ(OutagesOfCounts(Times(30, cycle)).size(), 30u);
  EXPECT_EQ(
      OutagesOfCounts(Joined({Row({{60, 1000}}), Times(30, cycle), Row({{60, 1000}})})).size(),
      30u);
  // Also those of a load whose outages are not told by a single interval.
  EXPECT_EQ(OutagesOfCounts(Times(10, Row({{20, 4}, {10, 0}}))).size(), 10u);
  EXPECT_EQ(OutagesOfCounts(Row({{100, 1}, {30, 0}, {100, 1}})), (Begins{{100, 130}}));
}

// I/Os that time out together complete together: one burst in each half minute is no rate.
TEST(SilenceRuleTest, BurstsBetweenLongSilencesAreNoLevel) {
  const Seconds row =
      Joined({Row({{60, 1000}}), Times(12, Row({{29, 0}, {1, 32}})), Row({{60, 1000}})});
  EXPECT_EQ(OutagesOfCounts(row).size(), 12u);
}

// Nine I/Os that come back one by one may be an outage that is not over; ten are a level.
TEST(SilenceRuleTest, AFewIosWithinAnOutageAreNoLevel) {
  const auto outages = [](size_t ios) {
    return OutagesOfCounts(
        Joined({Row({{60, 1000}}), Times(ios, Row({{2, 0}, {1, 1}})), Row({{2, 0}, {60, 1000}})}));
  };
  EXPECT_EQ(outages(9).size(), 10u);
  EXPECT_EQ(outages(10), Begins());
}

TEST(SilenceRuleTest, AStretchAtALowerRateHasOutagesOfItsOwn) {
  const Seconds fast = Row({{60, 1000}});
  const Seconds slow = Times(30, Row({{1, 1}, {1, 0}}));
  // Half an I/O a second: 15 are missing in half a minute, and 30 in a minute.
  EXPECT_EQ(OutagesOfCounts(Joined({fast, slow, Row({{29, 0}}), slow, fast})), Begins());
  EXPECT_EQ(OutagesOfCounts(Joined({fast, slow, Row({{59, 0}}), slow, fast})),
            (Begins{{119, 179}}));
  // Between the fast part and the slow one the slow one explains it.
  EXPECT_EQ(OutagesOfCounts(Joined({fast, Row({{3, 0}}), slow, fast})), Begins());
  EXPECT_EQ(OutagesOfCounts(Joined({fast, Row({{60, 0}}), slow, fast})), (Begins{{60, 120}}));
}

// A level that the job ends explains nothing: the next workload should have begun with 1,000.
TEST(SilenceRuleTest, ALevelDoesNotReachBeyondAWorkloadsBegin) {
  const Seconds row = Row({{60, 1}, {10, 0}, {60, 1000}});
  const std::vector<double> ios(row.begin(), row.end());
  const std::vector<SilencePart> parts = {{.ios = 120}, {.begin_seconds = 60, .ios = 59940}};
  EXPECT_EQ(OutagesOfSeconds({{60, 70}}, parts, 130, ios), (Begins{{60, 70}}));
  // Without that begin the level before it does.
  EXPECT_EQ(OutagesOfSeconds({{60, 70}}, {{.ios = 60060}}, 130, ios), Begins());
  // A begin within the silence: it is of both loads.
  const std::vector<SilencePart> within = {{.ios = 120}, {.begin_seconds = 65, .ios = 59940}};
  EXPECT_EQ(OutagesOfSeconds({{60, 70}}, within, 130, ios), (Begins{{60, 70}}));
}

// Long phases keep a point for several intervals, and lost intervals are not known.
TEST(SilenceRuleTest, ALevelIsSeenInCoarsePointsAndNotBeyondLostOnes) {
  const Seconds row = Joined({Row({{64, 1000}}), Times(40, Row({{1, 0}, {1, 1}}))});
  std::vector<SilentSpan> silences;
  for (const auto& [begin, end] : SilencesOf(row)) silences.push_back({begin, end});
  const std::vector<SilencePart> parts = {{.ios = 64040}};
  HostIos coarse{0, 4, std::vector<double>(16, 4000)};
  coarse.ios.resize(36, 2);
  EXPECT_EQ(OutagesAmong(silences, parts, {0, 144}, 1, coarse).size(), 0u);
  coarse.ios.resize(24);
  coarse.ios.resize(36, std::numeric_limits<double>::quiet_NaN());
  EXPECT_EQ(OutagesAmong(silences, parts, {0, 144}, 1, coarse).size(), 40u);
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
