// The answers of a sweep, to scripted figures.

#include "controller/analysis/sweep_conclusion.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "controller/analysis/statistics.h"
#include "gtest/gtest.h"

namespace lockstep::controller {
namespace {

using testing::Test;

// The noise that all points of a round share, and that of each point alone.
constexpr double kShared[] = {1, 0.8, 1.1, 0.7, 0.9, 1.2, 1, 0.85};
constexpr double kOwn[][8] = {{1.01, 1, 0.99, 1, 1.02, 0.98, 1, 1},
                              {1, 0.99, 1.01, 1.02, 0.98, 1, 1.01, 0.99},
                              {0.99, 1.01, 1, 0.98, 1, 1.01, 0.99, 1.02}};

class SweepConclusionTest : public Test {
 protected:
  // Points along one axis.
  void Along(const std::string& field, const std::vector<std::string>& values) {
    load_.add_workloads();
    load_.mutable_sweep()->add_axes()->set_field(field);
    v1::SweepAxisReport* axis = sweep_.add_axes();
    axis->set_field(field);
    for (uint32_t i = 0; i < values.size(); ++i) {
      axis->add_values(values[i]);
      sweep_.add_points()->add_indices(i);
    }
    points_.resize(values.size());
  }
  // Rounds of 4 KiB I/Os around `iops`, whose p99 is 100 ms over the IOPS.
  void Rounds(size_t point, size_t rounds, double iops) {
    for (uint32_t r = 0; r < rounds; ++r) {
      const double value = iops * kShared[r] * kOwn[point % 3][r];
      points_[point].push_back({r, value, value * 4096, 1e12 / value});
    }
    sweep_.mutable_points(static_cast<int>(point))->set_runs(static_cast<uint32_t>(rounds));
  }
  // The points have the medians of their rounds, as a report's points do.
  std::string Sentence() {
    for (size_t p = 0; p < points_.size(); ++p) {
      v1::SweepPointReport* point = sweep_.mutable_points(static_cast<int>(p));
      point->set_iops(MedianOf(p, &RoundFigures::iops));
      point->set_bytes_per_second(MedianOf(p, &RoundFigures::bytes_per_second));
      if (point->p99_ns() == 0) point->set_p99_ns(MedianOf(p, &RoundFigures::p99_ns));
    }
    AddConclusion(load_, points_, &sweep_);
    return sweep_.conclusion().sentence();
  }
  double MedianOf(size_t point, double RoundFigures::*figure) const {
    std::vector<double> values;
    for (const RoundFigures& round : points_[point]) {
      if (std::isfinite(round.*figure)) values.push_back(round.*figure);
    }
    return controller::MedianOf(values);
  }
  const v1::PointComparison& Point(int point) const { return sweep_.points(point).comparison(); }

  v1::RunPhase load_;
  v1::SweepReport sweep_;
  std::vector<std::vector<RoundFigures>> points_;
};

TEST_F(SweepConclusionTest, AClearWinnerIsNamed) {
  Along("environment.scheduler", {"none", "mq-deadline", "kyber"});
  Rounds(0, 8, 8000);
  Rounds(1, 8, 10000);
  Rounds(2, 8, 5000);
  const std::string sentence = Sentence();
  EXPECT_EQ(sentence,
            "environment.scheduler=mq-deadline reaches 9,410 IOPS, more than every other point (8 "
            "rounds, ±1.8 %); environment.scheduler=none is 20 % slower; "
            "environment.scheduler=kyber is 50 % slower.");
  EXPECT_EQ(Point(1).standing(), v1::STANDING_BEST);
  EXPECT_FALSE(Point(1).has_ratio());
  EXPECT_EQ(Point(0).standing(), v1::STANDING_WORSE);
  EXPECT_NEAR(Point(0).ratio(), 0.8, 0.01);
  EXPECT_LT(Point(0).ratio_high(), 1);
  EXPECT_LT(Point(0).p_value(), 0.001);
  // The interval for drawing has what varies from round to round, too.
  EXPECT_LT(Point(0).low(), 0.9 * Point(0).mean());
  EXPECT_GT(Point(0).high(), 1.1 * Point(0).mean());
  EXPECT_EQ(sweep_.conclusion().figure(), "IOPS");
  EXPECT_TRUE(sweep_.conclusion().higher_is_better());
  EXPECT_EQ(sweep_.conclusion().rounds(), 8u);
  EXPECT_FALSE(sweep_.conclusion().has_more_rounds());
  EXPECT_EQ(sweep_.conclusion().leading(), 1u);
}

TEST_F(SweepConclusionTest, WhatCannotBeToldFromTheBestIsNamedToo) {
  Along("environment.scheduler", {"none", "mq-deadline", "kyber"});
  Rounds(0, 8, 9950);
  Rounds(1, 8, 10000);
  Rounds(2, 8, 8100);
  const double jain[] = {0.98, 0.99, 0.71};
  for (int p = 0; p < 3; ++p) sweep_.mutable_points(p)->set_thread_jain(jain[p]);
  const std::string sentence = Sentence();
  EXPECT_EQ(
      sentence,
      "environment.scheduler=mq-deadline reaches 9,410 IOPS; environment.scheduler=none is not "
      "distinguishable from it (8 rounds, ±1.8 %); about 65 more rounds would tell them apart; "
      "environment.scheduler=kyber is 19 % slower; fairness of threads 0.99, 0.98, 0.71.");
  EXPECT_EQ(Point(0).standing(), v1::STANDING_NOT_DISTINGUISHABLE);
  EXPECT_LT(Point(0).ratio_low(), 1);
  EXPECT_GT(Point(0).ratio_high(), 1);
}

TEST_F(SweepConclusionTest, TooFewRoundsNameNoWinner) {
  Along("queue_depth", {"1", "2"});
  Rounds(0, 1, 1000);
  Rounds(1, 1, 2000);
  EXPECT_EQ(Sentence(), "No point can be called best after 1 round: at least 2 more are needed.");
  EXPECT_EQ(sweep_.conclusion().more_rounds(), 2u);
  EXPECT_EQ(sweep_.conclusion().leading(), 1u);
  EXPECT_EQ(Point(1).standing(), v1::STANDING_TOO_FEW_ROUNDS);
  EXPECT_NEAR(Point(1).mean(), 2000, 1);
  EXPECT_FALSE(Point(1).has_low());
  points_.assign(2, {});
  Rounds(0, 2, 1000);
  Rounds(1, 2, 2000);
  EXPECT_EQ(Sentence(), "No point can be called best after 2 rounds: at least 1 more is needed.");
}

TEST_F(SweepConclusionTest, FewNoisyRoundsSayHowManyMoreAreNeeded) {
  Along("queue_depth", {"1", "2"});
  const double first[] = {1000, 1100, 900};
  const double second[] = {1040, 1000, 1030};
  for (uint32_t r = 0; r < 3; ++r) {
    points_[0].push_back({r, first[r], first[r] * 4096, 1e6});
    points_[1].push_back({r, second[r], second[r] * 4096, 1e6});
  }
  const std::string sentence = Sentence();
  EXPECT_EQ(sentence,
            "queue_depth=2 reaches 1,030 IOPS; queue_depth=1 is not distinguishable from it (3 "
            "rounds, ±33 %); about 74 more rounds would tell them apart.");
  EXPECT_EQ(sweep_.conclusion().more_rounds(), Point(0).more_rounds());
}

// The mean decides which point leads. The report's table below the sentence has medians.
TEST_F(SweepConclusionTest, AHigherMedianThanTheLeadingPointsIsNamed) {
  Along("queue_depth", {"1", "2"});
  const double steady[] = {1000, 1000, 1000};
  const double mixed[] = {1200, 300, 1100};
  for (uint32_t r = 0; r < 3; ++r) {
    points_[0].push_back({r, steady[r], steady[r] * 4096, 1e6});
    points_[1].push_back({r, mixed[r], mixed[r] * 4096, 1e6});
  }
  const std::string sentence = Sentence();
  EXPECT_TRUE(sentence.starts_with("queue_depth=1 reaches 1,000 IOPS; queue_depth=2 is not "))
      << sentence;
  EXPECT_TRUE(absl::StrContains(
      sentence, "; queue_depth=2 has the higher median, 1,100 IOPS, but not the higher mean; "))
      << sentence;
}

TEST_F(SweepConclusionTest, PointsThatAreBehindEachOtherHaveNoBest) {
  Along("queue_depth", {"1", "2", "4"});
  // Each of them missed the rounds in which the next one was behind the one after that.
  for (uint32_t r = 0; r < 12; ++r) {
    const uint32_t ahead = r / 4;
    for (const auto& [point, iops] : {std::pair(ahead, 2000.0), std::pair((ahead + 1) % 3, 1000.0)})
      points_[point].push_back({r, iops, iops * 4096, 1e6});
  }
  EXPECT_EQ(Sentence(),
            "No point can be called best: with rounds missing, every compared point is behind "
            "another one.");
  EXPECT_FALSE(sweep_.conclusion().has_more_rounds());
  for (int p = 0; p < 3; ++p) {
    EXPECT_EQ(Point(p).standing(), v1::STANDING_UNSPECIFIED);
    EXPECT_TRUE(Point(p).has_mean());
    EXPECT_FALSE(Point(p).reason().empty());
  }
}

TEST_F(SweepConclusionTest, APointWithoutAWholeRoundIsNotCompared) {
  Along("environment.scheduler", {"none", "mq-deadline", "kyber", "bfq"});
  Rounds(0, 8, 8000);
  Rounds(1, 8, 10000);
  // Aborted in its first round, and after two.
  Rounds(3, 2, 20000);
  const std::string sentence = Sentence();
  EXPECT_EQ(
      sentence,
      "environment.scheduler=mq-deadline reaches 9,410 IOPS, more than every other compared point "
      "(8 rounds, ±1.8 %); environment.scheduler=none is 20 % slower; "
      "environment.scheduler=kyber is not compared: it has no whole round; "
      "environment.scheduler=bfq is not compared: it shares 2 rounds with the best point.");
  EXPECT_EQ(Point(1).standing(), v1::STANDING_BEST);
  EXPECT_EQ(Point(2).standing(), v1::STANDING_UNSPECIFIED);
  EXPECT_EQ(Point(2).reason(), "it has no whole round");
  EXPECT_FALSE(Point(2).has_mean());
  EXPECT_EQ(Point(3).standing(), v1::STANDING_TOO_FEW_ROUNDS);
}

TEST_F(SweepConclusionTest, ASinglePointHasNothingToBeComparedWith) {
  Along("threads", {"4"});
  Rounds(0, 8, 1000);
  const std::string sentence = Sentence();
  EXPECT_EQ(
      sentence,
      "threads=4 reaches 959 IOPS (8 rounds, ±15 %); there is no other point to compare it with.");
  EXPECT_EQ(Point(0).standing(), v1::STANDING_ALONE);
  // Repetitions without an axis.
  load_.mutable_sweep()->clear_axes();
  sweep_.clear_axes();
  sweep_.mutable_points(0)->clear_indices();
  EXPECT_EQ(Sentence(), "The load reaches 959 IOPS (8 rounds, ±15 %).");
  points_[0].resize(1);
  EXPECT_EQ(Sentence(), "The load reaches 1,010 IOPS (1 round).");
}

TEST_F(SweepConclusionTest, RatesOfZeroOrNoneAreNotCompared) {
  Along("threads", {"1", "2", "4", "8"});
  Rounds(0, 4, 1000);
  Rounds(1, 4, 2000);
  Rounds(2, 4, 9000);
  Rounds(3, 4, 9000);
  points_[2][1] = {1, 0, 0, 0};
  for (RoundFigures& figures : points_[3]) {
    figures.iops = std::numeric_limits<double>::quiet_NaN();
  }
  const std::string sentence = Sentence();
  EXPECT_EQ(
      sentence,
      "threads=2 reaches 1,792 IOPS, more than every other compared point (4 rounds, ±2.8 %); "
      "threads=1 is 50 % slower; threads=4 is not compared: no I/O completed in 1 of its 4 "
      "rounds; threads=8 is not compared: its throughput is not known.");
  EXPECT_EQ(Point(3).reason(), "its throughput is not known");
  EXPECT_EQ(Point(2).reason(), "no I/O completed in 1 of its 4 rounds");
  EXPECT_EQ(Point(1).standing(), v1::STANDING_BEST);
  // None at all.
  for (auto& point : points_) point.clear();
  sweep_.clear_conclusion();
  EXPECT_EQ(Sentence(),
            "No point can be called best; threads=1 is not compared: it has no whole round; "
            "threads=2 is not compared: it has no whole round; threads=4 is not compared: it has "
            "no whole round; 1 more is not compared.");
}

TEST_F(SweepConclusionTest, SizesThatDifferAreComparedByThroughput) {
  Along("block_size", {"4KiB", "64KiB"});
  Rounds(0, 4, 1000);
  Rounds(1, 4, 500);
  for (RoundFigures& figures : points_[1]) figures.bytes_per_second = figures.iops * 65536;
  EXPECT_EQ(Sentence(),
            "block_size=64KiB reaches 28.0 MiB/s, more than every other point (4 rounds, ±2.8 %); "
            "block_size=4KiB is 88 % slower.");
  EXPECT_EQ(sweep_.conclusion().figure(), "throughput");
  EXPECT_EQ(Point(1).standing(), v1::STANDING_BEST);
  // A rate of four digits is in a larger unit.
  for (RoundFigures& figures : points_[1]) figures.bytes_per_second *= 50;
  sweep_.clear_conclusion();
  const std::string sentence = Sentence();
  EXPECT_NE(sentence.find(" GiB/s, more than every other point"), std::string::npos) << sentence;
}

TEST_F(SweepConclusionTest, WhereTheRateIsGivenTheLatencyDecides) {
  Along("environment.scheduler", {"none", "kyber", "bfq"});
  for (size_t p = 0; p < 3; ++p) Rounds(p, 4, 1000);
  for (RoundFigures& figures : points_[1]) figures.p99_ns *= 1.25;
  for (RoundFigures& figures : points_[2]) figures.p99_ns *= 4;
  load_.mutable_workloads(0)->mutable_open_loop();
  EXPECT_EQ(Sentence(),
            "environment.scheduler=none has the lowest p99, 1.12 s (4 rounds, ±2.8 %); the p99 of "
            "environment.scheduler=kyber is 24 % higher; the p99 of environment.scheduler=bfq is "
            "4.0 times as high.");
  EXPECT_EQ(sweep_.conclusion().figure(), "p99");
  EXPECT_FALSE(sweep_.conclusion().higher_is_better());
  // A limit that is not reached lets the IOPS differ.
  load_.mutable_workloads(0)->clear_open_loop();
  load_.mutable_workloads(0)->set_max_iops(1000);
  Sentence();
  EXPECT_EQ(sweep_.conclusion().figure(), "IOPS");
  load_.mutable_workloads(0)->set_max_iops(600);
  Sentence();
  EXPECT_EQ(sweep_.conclusion().figure(), "p99");
}

v1::KneeReport* AddKnee(const std::string& of, const std::string& value, v1::SweepReport* sweep) {
  v1::KneeReport* knee = sweep->add_knees();
  knee->set_of(of);
  knee->set_value(value);
  knee->set_p99_ns(1e6);
  return knee;
}

TEST_F(SweepConclusionTest, TheKneeIsSaidByWhatMoreOfItAdds) {
  Along("queue_depth", {"1", "4", "16", "64"});
  const double iops[] = {1000, 4000, 10000, 10010};
  for (size_t p = 0; p < 4; ++p) Rounds(p, 8, iops[p]);
  for (int p = 0; p < 4; ++p) sweep_.mutable_points(p)->set_p99_ns(p < 3 ? 1e6 : 6e6);
  AddKnee("queue_depth", "16", &sweep_);
  EXPECT_EQ(
      Sentence(),
      "queue_depth=64 reaches 9,600 IOPS; queue_depth=16 is not distinguishable from it (8 rounds, "
      "±1.7 %); even 100 rounds would hardly tell them apart; queue_depth=4 is 60 % slower; "
      "queue_depth=1 is 90 % slower; queue_depth beyond 16 adds nothing but latency.");
  // The knee has less than the best point.
  sweep_.mutable_knees(0)->set_value("4");
  EXPECT_TRUE(absl::StrContains(Sentence(), "queue_depth beyond 4 adds at most 15"))
      << sweep_.conclusion().sentence();
  // After one round it is only said where it is.
  for (auto& point : points_) point.resize(1);
  EXPECT_EQ(Sentence(),
            "No point can be called best after 1 round: at least 2 more are needed; so far, the "
            "knee is at queue_depth=4.");
}

TEST_F(SweepConclusionTest, FewNoisyRoundsDoNotSayThatMoreAddsNothing) {
  Along("queue_depth", {"1", "2", "4"});
  const double kIops[][3] = {{100, 100, 100}, {1000, 1100, 900}, {1040, 1000, 1030}};
  const auto sentence = [&](size_t second, size_t third) {
    points_.assign(3, {});
    for (uint32_t r = 0; r < 3; ++r) {
      for (const auto& [point, from] : {std::pair<size_t, size_t>(0, 0), {1, second}, {2, third}}) {
        points_[point].push_back({r, kIops[from][r], kIops[from][r] * 4096, 1e6});
      }
    }
    return Sentence();
  };
  AddKnee("queue_depth", "2", &sweep_);
  // The best point is after the knee, or the knee itself.
  EXPECT_TRUE(absl::StrContains(sentence(1, 2), "queue_depth beyond 2 adds at most 37 % to the"))
      << sweep_.conclusion().sentence();
  EXPECT_TRUE(absl::StrContains(sentence(2, 1), "queue_depth beyond 2 adds at most 30 % to the"))
      << sweep_.conclusion().sentence();
}

TEST_F(SweepConclusionTest, ALastServedRateIsSaidAsSuch) {
  Along("open_loop.rate", {"1k", "2k"});
  Rounds(0, 4, 1000);
  Rounds(1, 4, 500);
  AddKnee("open_loop.rate", "1k", &sweep_)->set_is_last_served_rate(true);
  EXPECT_EQ(Sentence(),
            "open_loop.rate=1k has the lowest p99, 1.12 s (4 rounds, ±2.8 %); the p99 of "
            "open_loop.rate=2k is 99 % higher; open_loop.rate=1k is the last rate that is served.");
}

TEST_F(SweepConclusionTest, OfSeveralAxesTheKneeIsThatOfTheBestRow) {
  Along("engine", {"sync", "io_uring"});
  load_.mutable_sweep()->add_axes()->set_field("queue_depth");
  v1::SweepAxisReport* depth = sweep_.add_axes();
  depth->set_field("queue_depth");
  sweep_.clear_points();
  points_.clear();
  points_.resize(4);
  for (uint32_t p = 0; p < 4; ++p) {
    if (p < 2) depth->add_values(p == 0 ? "1" : "8");
    v1::SweepPointReport* point = sweep_.add_points();
    point->add_indices(p / 2);
    point->add_indices(p % 2);
  }
  const double iops[] = {1000, 1200, 2000, 6000};
  for (size_t p = 0; p < 4; ++p) Rounds(p, 8, iops[p]);
  AddKnee("queue_depth", "8", &sweep_)->set_at("engine=sync");
  AddKnee("queue_depth", "1", &sweep_)->set_at("engine=io_uring");
  EXPECT_EQ(Sentence(),
            "engine=io_uring queue_depth=8 reaches 5,754 IOPS, more than every other point (8 "
            "rounds, ±2.4 %); engine=io_uring queue_depth=1 is 67 % slower; engine=sync "
            "queue_depth=8 is 80 % slower; engine=sync queue_depth=1 is 83 % slower; queue_depth "
            "beyond 1 adds at most 200 % to the IOPS.");
}

TEST_F(SweepConclusionTest, ManyPointsAreCountedNotNamed) {
  std::vector<std::string> values;
  for (int i = 0; i < 40; ++i) values.push_back(absl::StrCat(i));
  Along("think_time", values);
  for (size_t p = 0; p < 40; ++p) Rounds(p, 8, p < 12 ? 10000 : p < 36 ? 5000.0 - 100 * p : 0);
  const std::string sentence = Sentence();
  EXPECT_EQ(
      sentence,
      "think_time=0 reaches 9,590 IOPS; think_time=3, think_time=6, think_time=9, think_time=1, "
      "think_time=2, think_time=4 and 5 more are not distinguishable from it (8 rounds, ±4.5 %); "
      "even 100 rounds would hardly tell all of them apart; think_time=12 is 62 % slower; "
      "think_time=13 "
      "is 63 % slower; think_time=14 is 64 % slower; 21 more points are slower still; "
      "think_time=36 is not compared: no I/O completed in 8 of its 8 rounds; think_time=37 is not "
      "compared: no I/O completed in 8 of its 8 rounds; think_time=38 is not compared: no I/O "
      "completed in 8 of its 8 rounds; 1 more is not compared.");
  EXPECT_LT(sentence.size(), 1000u);
}

TEST_F(SweepConclusionTest, AStopByTheMarginTakesAStricterLevel) {
  Along("threads", {"1", "2"});
  Rounds(0, 8, 10000);
  Rounds(1, 8, 9815);
  Sentence();
  const double p = Point(1).p_value();
  ASSERT_GT(p, 0.025);
  ASSERT_LT(p, 0.05);
  EXPECT_EQ(Point(1).standing(), v1::STANDING_WORSE);
  load_.mutable_sweep()->mutable_until();
  Sentence();
  EXPECT_EQ(Point(1).standing(), v1::STANDING_NOT_DISTINGUISHABLE);
}

}  // namespace
}  // namespace lockstep::controller
