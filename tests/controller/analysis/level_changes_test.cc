#include "controller/analysis/level_changes.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "controller/analysis/phase_view.h"
#include "gtest/gtest.h"
#include "tests/controller/analysis/stored_phases.h"

namespace lockstep::controller {
namespace {

// Around 1 with a standard deviation of 15 %; neighbours are correlated by `correlation`.
std::vector<double> Noise(std::mt19937_64* random, size_t count, double correlation) {
  std::normal_distribution<double> normal(0, 0.15);
  std::vector<double> series;
  double left = normal(*random);
  for (size_t i = 0; i < count; ++i) {
    left = correlation * left + std::sqrt(1 - correlation * correlation) * normal(*random);
    series.push_back(1 + left);
  }
  return series;
}

TEST(LevelChangesTest, NoiseHasNoneAlsoWhereNeighboursResembleEachOther) {
  std::mt19937_64 random(7);
  // A level that wanders by itself cannot always be told from one that changes.
  for (const auto& [correlation, most] : {std::pair(0.0, 5), {0.5, 10}, {0.8, 30}}) {
    int alarms = 0;
    for (int i = 0; i < 1000; ++i) {
      alarms += !LevelChangesIn(Noise(&random, 16 + random() % 200, correlation), 0.2).empty();
    }
    EXPECT_LE(alarms, most) << correlation;
  }
}

TEST(LevelChangesTest, ALevelThatFallsIsFoundWhereItDoes) {
  std::mt19937_64 random(8);
  for (const auto& [count, least] : {std::pair(size_t{12}, 60), {40, 95}, {300, 95}, {5000, 95}}) {
    int found = 0;
    for (int i = 0; i < 100; ++i) {
      std::vector<double> series = Noise(&random, count, 0.2);
      for (size_t k = count / 2; k < count; ++k) series[k] *= 0.3;
      const auto changes = LevelChangesIn(series, 0.2);
      if (changes.size() != 1) continue;
      // Values are judged by 50 means.
      const double off =
          std::abs(static_cast<double>(changes[0].index) - static_cast<double>(count) / 2);
      if (off > std::max(1.0, static_cast<double>(count) / 25)) continue;
      EXPECT_NEAR(changes[0].mean_after / changes[0].mean_before, 0.3, 0.15);
      ++found;
    }
    EXPECT_GE(found, least) << count;
  }
}

TEST(LevelChangesTest, ASmallChangeIsNoise) {
  std::vector<double> series(40, 100.0);
  for (size_t i = 20; i < 40; ++i) series[i] = 85;
  EXPECT_TRUE(LevelChangesIn(series, 0.2).empty());
  EXPECT_EQ(LevelChangesIn(series, 0.1).size(), 1U);
  EXPECT_TRUE(LevelChangesIn({}, 0.2).empty());
  EXPECT_TRUE(LevelChangesIn({1, 2}, 0.2).empty());
}

// Four I/Os, one in each of the first four seconds, and none after that.
TEST(LevelChangesTest, AFewIosAreNoLevel) {
  std::vector<double> series(12, 0);
  std::fill_n(series.begin(), 4, 1);
  EXPECT_EQ(LevelChangesIn(series, 0.2).size(), 1U) << "nothing varies";
  EXPECT_TRUE(LevelChangesIn(series, 0.2, 1).empty());
  std::fill_n(series.begin(), 4, 100);
  EXPECT_EQ(LevelChangesIn(series, 0.2, 1).size(), 1U);
  EXPECT_TRUE(LevelChangesIn(series, 0.2, 0.01).empty()) << "one I/O in each value";
}

// Empty seconds are a part of the level of rare I/Os, and pauses of threads are none.
TEST(LevelChangesTest, EmptySecondsOfALowRateMakeNoChange) {
  std::mt19937_64 random(3);
  int alarms = 0;
  for (int round = 0; round < 200; ++round) {
    std::poisson_distribution<uint64_t> ios(0.2);
    alarms += ReportOf(FourHosts([&](uint32_t, uint32_t) { return ios(random); }, 500000, 60))
                  .phases(0)
                  .level_changes_size();
  }
  EXPECT_LE(alarms, 1);
  Stored data =
      FourHosts([](uint32_t, uint32_t k) { return k / 6 % 2 == 0 ? 1000 : 0; }, 500000, 24);
  for (v1::PhaseSpec* spec : {data.run.job.mutable_phases(0), &data.phases[0].phase.spec}) {
    spec->mutable_run()->mutable_workloads(0)->set_think_time_ns(6000000000);
  }
  EXPECT_EQ(ReportOf(data).phases(0).level_changes_size(), 0);
}

TEST(LevelChangesTest, APhaseSaysWhenItsRateFell) {
  v1::PhaseReport phase =
      ReportOf(FourHosts([](uint32_t, uint32_t k) { return k < 6 ? 200 : 70; })).phases(0);
  ASSERT_EQ(phase.level_changes_size(), 1);
  EXPECT_EQ(phase.level_changes(0).sentence(), "IOPS fell from 800 to 280 at 6 s");
  EXPECT_EQ(phase.level_changes(0).at_seconds(), 6);
  phase = ReportOf(FourHosts([](uint32_t, uint32_t) { return 200; })).phases(0);
  EXPECT_EQ(phase.level_changes_size(), 0);
}

// The I/O of a lost host is in no figure of the phase, so its end is no change of these.
TEST(LevelChangesTest, AHostThatIsLostIsNoChange) {
  const auto without_node3 = [](const std::function<uint64_t(uint32_t, uint32_t)>& iops) {
    Stored data = FourHosts(iops);
    data.phases[0].workers[3].has_result = false;
    data.phases[0].workers[3].result.Clear();
    data.intervals[3].resize(5);
    return ReportOf(data).phases(0);
  };
  v1::PhaseReport phase = without_node3([](uint32_t, uint32_t) { return 200; });
  ASSERT_TRUE(phase.hosts(3).lost());
  EXPECT_EQ(phase.iops_by_interval(2), 600) << "of the hosts that are in the figures";
  EXPECT_EQ(phase.level_changes_size(), 0) << phase.level_changes(0).sentence();
  phase = without_node3([](uint32_t, uint32_t k) { return k < 6 ? 200 : 70; });
  ASSERT_EQ(phase.level_changes_size(), 1);
  EXPECT_EQ(phase.level_changes(0).sentence(), "IOPS fell from 600 to 210 at 6 s");
}

TEST(LevelChangesTest, AHostThatLacksIntervalsIsNoChange) {
  const auto with_gap = [](const std::function<uint64_t(uint32_t, uint32_t)>& iops) {
    Stored gap = FourHosts(iops);
    gap.intervals[1].erase(gap.intervals[1].begin() + 2, gap.intervals[1].begin() + 4);
    return ReportOf(gap).phases(0);
  };
  v1::PhaseReport phase = with_gap([](uint32_t, uint32_t) { return 200; });
  EXPECT_EQ(phase.iops_by_interval(1), 800);
  EXPECT_TRUE(std::isnan(phase.iops_by_interval(2)) && std::isnan(phase.iops_by_interval(3)));
  EXPECT_EQ(phase.iops_by_interval(4), 800);
  EXPECT_EQ(phase.level_changes_size(), 0) << phase.level_changes(0).sentence();
  // A change of the others' time is found where it is.
  phase = with_gap([](uint32_t, uint32_t k) { return k < 6 ? 200 : 70; });
  ASSERT_EQ(phase.level_changes_size(), 1);
  EXPECT_EQ(phase.level_changes(0).sentence(), "IOPS fell from 800 to 280 at 6 s");
  // One whose measured time begins later has no gap.
  Stored late = FourHosts([](uint32_t, uint32_t) { return 200; });
  for (uint32_t k = 0; k < 3; ++k) {
    late.intervals[1][k].set_interval_class(v1::INTERVAL_CLASS_RAMP);
  }
  phase = ReportOf(late).phases(0);
  EXPECT_EQ(phase.window_begin_seconds(), 3);
  EXPECT_TRUE(std::isnan(phase.iops_by_interval(2)));
  EXPECT_EQ(phase.iops_by_interval(3), 800);
  EXPECT_EQ(phase.level_changes_size(), 0) << phase.level_changes(0).sentence();
}

// A second workload, which does 500 I/Os per second on each host until it ends by itself.
void AddShortWorkload(double seconds, Stored* data) {
  for (v1::PhaseSpec* spec : {data->run.job.mutable_phases(0), &data->phases[0].phase.spec}) {
    v1::RunPhase* run = spec->mutable_run();
    *run->add_workloads() = run->workloads(0);
    run->mutable_workloads(1)->set_name("short");
  }
  for (uint32_t h = 0; h < 4; ++h) {
    std::vector<uint64_t> all;
    for (uint32_t k = 0; k < seconds; ++k) {
      const double part = std::min(1.0, seconds - k);
      const std::vector<uint64_t> latencies(static_cast<size_t>(500 * part), 500000);
      v1::WorkloadSample* sample = data->intervals[h][k].add_workloads();
      sample->set_workload(1);
      *sample->add_operations() = Counters(v1::OPERATION_KIND_READ, latencies);
      all.insert(all.end(), latencies.begin(), latencies.end());
    }
    v1::WorkloadResult* result = data->phases[0].workers[h].result.add_workloads();
    result->set_workload(1);
    result->set_ended_ns(static_cast<int64_t>(seconds * 1e9));
    *result->add_measured() = Counters(v1::OPERATION_KIND_READ, all);
  }
}

TEST(LevelChangesTest, TheLoadIsSearchedToItsEndAlsoAfterTheEndOfAWorkload) {
  const auto beside = [](double seconds, const std::function<uint64_t(uint32_t, uint32_t)>& iops) {
    Stored data = FourHosts(iops);
    AddShortWorkload(seconds, &data);
    return ReportOf(data).phases(0);
  };
  v1::PhaseReport phase = beside(0.6, [](uint32_t, uint32_t k) { return k < 6 ? 200 : 70; });
  EXPECT_EQ(phase.window_end_seconds(), 0.6);
  ASSERT_EQ(phase.level_changes_size(), 1);
  EXPECT_EQ(phase.level_changes(0).sentence(), "IOPS fell from 800 to 280 at 6 s");
  EXPECT_NE(absl::StrJoin(phase.remarks(), "\n").find(phase.level_changes(0).sentence()),
            std::string::npos);
  // The end of a workload is none: 2,800 before it, 800 after it.
  for (const double seconds : {4.0, 4.5}) {
    phase = beside(seconds, [](uint32_t, uint32_t) { return 200; });
    EXPECT_EQ(phase.level_changes_size(), 0) << phase.level_changes(0).sentence();
  }
  phase = beside(3.5, [](uint32_t, uint32_t k) { return k < 7 ? 200 : 70; });
  ASSERT_EQ(phase.level_changes_size(), 1);
  EXPECT_EQ(phase.level_changes(0).sentence(), "IOPS fell from 800 to 280 at 7 s");
}

// A point stands for two intervals, and the host's measured time begins with the second of a point.
TEST(LevelChangesTest, AHostThatBeginsWithinAPointKeepsItsSeries) {
  const Stored data = FourHosts([](uint32_t, uint32_t) { return 200; });
  const measure::PhaseSeries series{measure::PhaseSeries::Options()};
  const PhaseView view(data, data.phases[0], series);
  measure::WorkerSeries late;
  late.first_measured_seconds = 3;
  late.last_measured_seconds = 10;
  measure::RateSeries rates;
  rates.Thin();
  for (const double rate : {100, 100, 200, 200, 300, 300, 300}) rates.Append(rate);
  const std::vector<double> points = view.PointsOf(late, rates, 0);
  ASSERT_EQ(points.size(), 5u);
  EXPECT_TRUE(std::isnan(points[0]) && std::isnan(points[1]));
  EXPECT_EQ(points[2], 150);
  EXPECT_EQ(points[3], 250);
  EXPECT_EQ(points[4], 300);
}

void ExpectSteady(double range, Stored* data) {
  for (v1::RunPhase* run :
       {data->run.job.mutable_phases(0)->mutable_run(), data->phases[0].phase.spec.mutable_run()}) {
    v1::SteadyState* rule = run->mutable_until_steady();
    rule->set_figure(v1::STEADY_FIGURE_IOPS);
    rule->set_round_ns(1000000000);
    rule->set_window(3);
    rule->set_range_ratio(range);
    rule->set_slope_ratio(0.1);
    rule->set_only_tell(true);
    run->mutable_expect()->set_steady(true);
  }
}

TEST(LevelChangesTest, SteadyIsHeldAgainstWhatCameAfterTheEndOfAWorkload) {
  const auto beside = [](double seconds, const std::function<uint64_t(uint32_t, uint32_t)>& iops) {
    Stored data = FourHosts(iops);
    ExpectSteady(0.2, &data);
    AddShortWorkload(seconds, &data);
    return ReportOf(data).phases(0);
  };
  v1::PhaseReport phase = beside(0.6, [](uint32_t, uint32_t k) { return k < 7 ? 200 : 70; });
  EXPECT_EQ(phase.steady().begin_seconds(), 1);
  EXPECT_FALSE(phase.steady().steady());
  EXPECT_EQ(phase.steady().changed_at_seconds(), 7);
  // Too short for a change of level. The rounds are of the load that was steady.
  phase = beside(0.6, [](uint32_t, uint32_t k) { return k < 8 ? 200 : 70; });
  EXPECT_FALSE(phase.steady().steady());
  EXPECT_EQ(phase.steady().changed_at_seconds(), 8);
  // One that ends after the steady window takes its own I/Os with it.
  phase = beside(5.5, [](uint32_t, uint32_t) { return 200; });
  EXPECT_TRUE(phase.steady().steady());
  EXPECT_NE(absl::StrJoin(phase.remarks(), "\n")
                .find("the load was steady until 5.5 s, when a workload began or ended on a host"),
            std::string::npos)
      << absl::StrJoin(phase.remarks(), "\n");
  phase = beside(3.5, [](uint32_t, uint32_t k) { return k < 7 ? 200 : 70; });
  EXPECT_FALSE(phase.steady().steady());
  EXPECT_EQ(phase.steady().changed_at_seconds(), 7);
}

// The window of three rounds in which it is found has two from before the end of a workload.
TEST(LevelChangesTest, SteadyIsHeldAgainstTheRoundsBeforeTheEndOfAWorkload) {
  Stored data = FourHosts([](uint32_t, uint32_t k) { return k < 5 ? 200 : 40; });
  ExpectSteady(0.2, &data);
  AddShortWorkload(7.2, &data);
  const v1::PhaseReport phase = ReportOf(data).phases(0);
  EXPECT_FALSE(phase.steady().steady());
  EXPECT_EQ(phase.steady().changed_at_seconds(), 5);
  EXPECT_NE(absl::StrJoin(phase.remarks(), "\n").find("then 2 rounds in a row had IOPS of"),
            std::string::npos)
      << absl::StrJoin(phase.remarks(), "\n");
}

TEST(LevelChangesTest, ALoadThatWasSteadyAndFellIsNotSteady) {
  double range = 0.2;
  const auto steady = [&](const std::function<uint64_t(uint32_t, uint32_t)>& iops) {
    Stored data = FourHosts(iops);
    ExpectSteady(range, &data);
    return ReportOf(data).phases(0);
  };
  v1::PhaseReport phase = steady([](uint32_t, uint32_t) { return 200; });
  EXPECT_TRUE(phase.steady().steady());
  EXPECT_FALSE(phase.steady().has_changed_at_seconds());
  // The last two seconds are too short for a change of level. The others tell nothing of them.
  phase = steady([](uint32_t, uint32_t k) { return k < 8 ? 200 : 70; });
  EXPECT_EQ(phase.level_changes_size(), 0);
  EXPECT_FALSE(phase.steady().steady());
  EXPECT_EQ(phase.steady().changed_at_seconds(), 8);
  EXPECT_NE(
      absl::StrJoin(phase.remarks(), "\n")
          .find("STEADY ONLY UNTIL 8 s: the load was steady from 0 s on, then 3 rounds in a row "
                "had IOPS of 627 in place of 800 on average"),
      std::string::npos);
  phase = steady([](uint32_t, uint32_t k) { return k < 9 ? 200 : 0; });
  EXPECT_NE(absl::StrJoin(phase.remarks(), "\n")
                .find("STEADY ONLY UNTIL 9 s: the load was steady from 0 s on, then a round "
                      "completed no I/O"),
            std::string::npos)
      << absl::StrJoin(phase.remarks(), "\n");
  phase = steady([](uint32_t, uint32_t k) { return k < 6 ? 200 : 70; });
  EXPECT_FALSE(phase.steady().steady());
  EXPECT_EQ(phase.steady().changed_at_seconds(), 6);
  bool met = true;
  for (const v1::Expectation& e : phase.expectations()) {
    if (e.text().find("steady") != std::string::npos) met = e.met();
  }
  EXPECT_FALSE(met);
  // A fall within the rule's own range is not against it.
  range = 0.8;
  EXPECT_TRUE(steady([](uint32_t, uint32_t k) { return k < 6 ? 200 : 70; }).steady().steady());
  range = 0.2;
  // The job waits because of its work before the window.
  phase = steady([](uint32_t, uint32_t k) { return k < 4 ? 400 - 50 * k : 200; });
  EXPECT_TRUE(phase.steady().steady());
}

}  // namespace
}  // namespace lockstep::controller
