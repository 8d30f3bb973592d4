// Figures of a comparison that nobody judges unless asked: where the time went, and what limited.

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "controller/analysis/comparison.h"
#include "controller/analysis/comparison_words.h"
#include "controller/analysis/trends.h"
#include "controller/report/comparison_text.h"
#include "gtest/gtest.h"
#include "tests/controller/analysis/compared_runs.h"

namespace lockstep::controller {
namespace {

// The first phase took `factor` times as much CPU for each I/O as 12 µs.
void SpendTime(RunSet* set, double factor, const std::string& limit) {
  for (size_t i = 0; i < set->runs.size(); ++i) {
    v1::PhaseOfRun* phase = set->runs[i].mutable_phases(0);
    // To and fro: a course would be a change of its own.
    phase->mutable_time_spent()->set_cpu_ns_per_io(12000 * factor * (i % 2 == 0 ? 1 : 1.001));
    phase->mutable_time_spent()->set_wait_ratio(0.9);
    phase->mutable_time_spent()->set_fsync_ratio(0);
    phase->set_limited_by(limit);
  }
}

const v1::ComparedFigure* FigureOf(const v1::Comparison& c, const std::string& name) {
  for (const auto& figure : c.figures()) {
    if (figure.figure() == name && figure.phase() == "p0" && figure.workload().empty()) {
      return &figure;
    }
  }
  return nullptr;
}

TEST(ComparedTimesTest, WhereTheTimeWentIsShownAndNotJudged) {
  ComparedRuns runs(11);
  RunSet a = runs.Set("a", 5);
  RunSet b = runs.Set("b", 5);
  const v1::Comparison without = Compare({a, b}, 0.05);
  SpendTime(&a, 1, "device");
  SpendTime(&b, 2, "generator CPU");
  b.runs[0].mutable_phases(0)->clear_time_spent();  // of a store that is older
  const v1::Comparison c = Compare({a, b}, 0.05);
  EXPECT_EQ(c.regressions(), without.regressions());
  EXPECT_EQ(c.missing(), without.missing());
  const v1::ComparedFigure* cpu = FigureOf(c, "cpu_per_io");
  ASSERT_NE(cpu, nullptr);
  EXPECT_FALSE(cpu->judged());
  EXPECT_EQ(cpu->direction(), v1::DIRECTION_LOWER_IS_BETTER);
  EXPECT_EQ(cpu->values(0).runs(), 5u);
  EXPECT_EQ(cpu->values(1).runs(), 4u);
  EXPECT_NE(RenderComparison(c, {}).find(" (4 of 5 runs)"), std::string::npos);
  EXPECT_NEAR(cpu->values(1).change(), 1, 0.01);
  EXPECT_EQ(cpu->values(1).verdict(), v1::CHANGE_UNSPECIFIED);
  EXPECT_FALSE(cpu->values(1).has_p_value());
  // 0 in all runs, and not known.
  EXPECT_EQ(FigureOf(c, "fsync_ratio"), nullptr);
  EXPECT_EQ(FigureOf(c, "amplification"), nullptr);
  // The others are told apart as well as without it.
  const v1::ComparedFigure* iops = FigureOf(c, "iops");
  ASSERT_NE(iops, nullptr);
  EXPECT_TRUE(iops->judged());
  EXPECT_EQ(iops->values(1).p_value(), FigureOf(without, "iops")->values(1).p_value());
  ASSERT_EQ(c.limits_size(), 1);
  EXPECT_EQ(c.limits(0).phase(), "p0");
  EXPECT_EQ(absl::StrJoin(c.limits(0).values(), " | "), "device | generator CPU");
  const std::string text = RenderComparison(c, {});
  EXPECT_NE(text.find("not judged"), std::string::npos) << text;
  EXPECT_NE(text.find("another"), std::string::npos) << text;
  const std::string markdown = RenderMarkdown(c);
  EXPECT_NE(markdown.find("| p0 | limited by | device | generator CPU | - | - | another |\n"),
            std::string::npos)
      << markdown;
  EXPECT_EQ(RenderJUnit(c).find("cpu_per_io"), std::string::npos);
}

TEST(ComparedTimesTest, OneRunOfEachSideIsEnoughToShowIt) {
  ComparedRuns runs(12);
  RunSet a = runs.Set("a", 1);
  RunSet b = runs.Set("b", 1);
  SpendTime(&a, 1, "device");
  SpendTime(&b, 3, "device");
  const v1::Comparison c = Compare({a, b}, std::nullopt);
  const v1::ComparedFigure* cpu = FigureOf(c, "cpu_per_io");
  ASSERT_NE(cpu, nullptr);
  EXPECT_NEAR(cpu->values(1).change(), 2, 1e-9);
  EXPECT_NE(RenderComparison(c, {}).find("the same"), std::string::npos);
  EXPECT_NE(RenderMarkdown(c).find("| device | device | - | - | the same |\n"), std::string::npos);
}

TEST(ComparedTimesTest, AFigureIsJudgedOnRequest) {
  ComparedRuns runs(13);
  RunSet a = runs.Set("a", 5);
  RunSet b = runs.Set("b", 5);
  SpendTime(&a, 1, "");
  SpendTime(&b, 2, "");
  const v1::Comparison c = Compare({a, b}, 0.05, {"cpu_per_io"});
  const v1::ComparedFigure* cpu = FigureOf(c, "cpu_per_io");
  ASSERT_NE(cpu, nullptr);
  EXPECT_TRUE(cpu->judged());
  EXPECT_EQ(cpu->values(1).verdict(), v1::CHANGE_WORSE);
  EXPECT_TRUE(cpu->values(1).regression());
  EXPECT_GE(c.regressions(), 1u);
  EXPECT_EQ(c.missing(), 0u);
  EXPECT_FALSE(FigureOf(c, "wait_ratio")->judged());
  EXPECT_NE(RenderJUnit(c).find("cpu_per_io"), std::string::npos);
  EXPECT_EQ(c.limits_size(), 0);  // no run knows its limit
  // Less of it is better.
  EXPECT_EQ(FigureOf(Compare({b, a}, 0.05, {"cpu_per_io"}), "cpu_per_io")->values(1).verdict(),
            v1::CHANGE_BETTER);
}

TEST(ComparedTimesTest, ARequestedFigureThatIsNotKnownDoesNotPass) {
  ComparedRuns runs(14);
  RunSet a = runs.Set("a", 5);
  RunSet b = runs.Set("b", 5);
  const v1::Comparison nobody = Compare({a, b}, 0.05, {"amplification"});
  EXPECT_EQ(nobody.missing(), 1u);
  EXPECT_NE(absl::StrJoin(nobody.warnings(), "\n").find("amplification"), std::string::npos);
  SpendTime(&a, 1, "");
  const v1::Comparison gone = Compare({a, b}, 0.05, {"cpu_per_io"});
  EXPECT_EQ(gone.missing(), 1u);
  EXPECT_NE(absl::StrJoin(gone.warnings(), "\n").find("p0 cpu_per_io"), std::string::npos);
  for (const std::string& name : JudgedOnRequest()) {
    EXPECT_NE(name, "wait_ratio") << "neither more nor less of it is better";
  }
  EXPECT_EQ(JudgedOnRequest().size(), 6u);
}

TEST(TrendsTest, TimeAndLimitsAreSeriesToo) {
  ComparedRuns runs(15);
  RunSet before = runs.Set("", 12);
  RunSet after = runs.Set("", 12);
  SpendTime(&before, 1, "device");
  SpendTime(&after, 2, "generator CPU");
  std::vector<v1::RunFigures> all = before.runs;
  all.insert(all.end(), after.runs.begin(), after.runs.end());
  v1::TrendsReply reply;
  std::map<std::string, v1::Trend> found;
  for (const v1::Trend& trend : TrendsOf(all)) {
    *reply.add_trends() = trend;
    if (trend.phase() == "p0" && trend.workload().empty()) found[trend.figure()] = trend;
  }
  ASSERT_EQ(found["cpu_per_io"].changes_size(), 1);
  EXPECT_EQ(found["cpu_per_io"].changes(0).index(), 12u);
  EXPECT_EQ(found["wait_ratio"].direction(), v1::DIRECTION_NEITHER);
  EXPECT_FALSE(found.contains("fsync_ratio"));  // which is 0 in all runs
  EXPECT_EQ(found["iops"].points(11).limited_by(), "device");
  EXPECT_EQ(found["iops"].points(12).limited_by(), "generator CPU");
  EXPECT_EQ(found["p99"].points(0).limited_by(), "");
  const std::string text = RenderTrends(reply, {false, 200});
  EXPECT_NE(text.find("generator CPU from run run13"), std::string::npos) << text;
  EXPECT_NE(text.find("WORSE +100"), std::string::npos) << text;
}

TEST(TrendsTest, AChangeIsMarkedAtTheRunThatBroughtIt) {
  ComparedRuns runs(6);
  std::vector<v1::RunFigures> all = runs.Set("", 15).runs;
  for (const v1::RunFigures& run : runs.Set("", 15, 0.15).runs) all.push_back(run);
  all[20].mutable_run()->set_state("aborted");  // not among the points
  const std::vector<v1::Trend> trends = TrendsOf(all);
  ASSERT_FALSE(trends.empty());
  EXPECT_EQ(trends[0].job(), "nightly");
  EXPECT_EQ(trends[0].figure(), "iops");
  EXPECT_EQ(trends[0].points_size(), 29);
  ASSERT_EQ(trends[0].changes_size(), 1);
  EXPECT_EQ(trends[0].changes(0).index(), 15u);
  v1::TrendsReply reply;
  for (const v1::Trend& trend : trends) *reply.add_trends() = trend;
  EXPECT_NE(RenderTrends(reply, {false, 200}).find("WORSE -1"), std::string::npos);
  EXPECT_TRUE(TrendsOf({all[0]}).empty());
}

void LoseP99(v1::RunFigures* run) {
  for (v1::FigureRow& row : *run->mutable_phases(0)->mutable_rows()) {
    auto* all = row.mutable_operation()->mutable_percentiles();
    all->erase(std::remove_if(all->begin(), all->end(),
                              [](const v1::Percentile& p) { return p.percent() == 99; }),
               all->end());
  }
}

// A gate that passes for want of a p99 would pass what nobody knows.
TEST(ComparedTimesTest, AP99ThatNoRunCanGiveIsMissing) {
  ComparedRuns runs(15);
  const RunSet a = runs.Set("a", 5);
  RunSet b = runs.Set("b", 5);
  LoseP99(&b.runs[0]);
  const v1::Comparison some = Compare({a, b}, 0.05);
  EXPECT_EQ(some.missing(), 0u);
  EXPECT_NE(absl::StrJoin(some.warnings(), "\n")
                .find("only some runs of b have it: p0 p99 (missing in 1 of 5)"),
            std::string::npos);
  for (v1::RunFigures& run : b.runs) LoseP99(&run);
  const v1::Comparison none = Compare({a, b}, 0.05);
  EXPECT_GT(none.missing(), 0u);
  EXPECT_NE(absl::StrJoin(none.warnings(), "\n").find("b has not, and a has: p0 p99"),
            std::string::npos);
}

// A baseline of 9,000 I/Os has no p99.9. Its other figures can still be judged.
TEST(ComparedTimesTest, APercentileThatTheBaselineLacksIsLeftOutUnlessItIsNamed) {
  ComparedRuns runs(16);
  RunSet a = runs.Set("a", 5);
  const RunSet b = runs.Set("b", 5);
  LoseP99(&a.runs[0]);
  const v1::Comparison some = Compare({a, b}, 0.05);
  EXPECT_EQ(some.missing(), 0u);
  EXPECT_NE(absl::StrJoin(some.warnings(), "\n")
                .find("only some runs of a have it: p0 p99 (missing in 1 of 5)"),
            std::string::npos);
  EXPECT_EQ(FigureOf(some, "p99")->values(0).partial_runs(), 4u);
  EXPECT_FALSE(FigureOf(some, "p99")->values(0).has_median());
  EXPECT_NE(RenderJUnit(some).find("<skipped message=\"in only 4 of 5 runs of a, "),
            std::string::npos);
  // Named, it is a figure that nobody knows, and no test that is skipped.
  const v1::Comparison known = Compare({a, b}, 0.05, {"p99"});
  EXPECT_GT(known.missing(), 0u);
  EXPECT_NE(RenderJUnit(known).find("<error message=\"in only 4 of 5 runs of a, "),
            std::string::npos);
  for (v1::RunFigures& run : a.runs) LoseP99(&run);
  const v1::Comparison none = Compare({a, b}, 0.05);
  EXPECT_EQ(none.missing(), 0u);
  EXPECT_NE(absl::StrJoin(none.warnings(), "\n")
                .find("not judged, because no run of a has it: p0 p99; too few I/Os (p99 needs "
                      "1,000, p99.9 needs 10,000), or none took longer"),
            std::string::npos)
      << absl::StrJoin(none.warnings(), "\n");
  // A figure that is not judged is no test that failed.
  EXPECT_NE(RenderJUnit(none).find("errors=\"0\""), std::string::npos);
  // The user asked for it by name.
  const v1::Comparison named = Compare({a, b}, 0.05, {"p99"});
  EXPECT_GT(named.missing(), 0u);
  EXPECT_NE(absl::StrJoin(named.warnings(), "\n").find("a has not, and b has: p0 p99"),
            std::string::npos);
  EXPECT_NE(RenderJUnit(named).find("<error message=\"no value in a, "), std::string::npos);
  RunSet c = b;
  for (v1::RunFigures& run : c.runs) LoseP99(&run);
  EXPECT_GT(Compare({a, c}, 0.05, {"p99"}).missing(), 0u) << "neither side has it";
  // A phase without a single I/O in the baseline.
  for (v1::RunFigures& run : a.runs) {
    for (v1::FigureRow& row : *run.mutable_phases(0)->mutable_rows()) {
      row.mutable_operation()->clear_iops();
      row.mutable_operation()->clear_bytes_per_second();
      row.mutable_operation()->clear_latency_avg_ns();
      row.mutable_operation()->clear_percentiles();
    }
  }
  EXPECT_NE(absl::StrJoin(Compare({a, b}, 0.05).warnings(), "\n")
                .find("a has not, and b has: p0 iops, p0 mean"),
            std::string::npos);
  // A phase that the baseline does not have at all is new.
  for (v1::RunFigures& run : a.runs) run.mutable_phases()->DeleteSubrange(0, 1);
  EXPECT_EQ(Compare({a, b}, 0.05).missing(), 0u);
}

// What neither set has stands in no table. A reader must still learn that it was not judged.
TEST(ComparedTimesTest, APercentileThatNeitherSetHasIsNamed) {
  ComparedRuns runs(18);
  RunSet a = runs.Set("a", 5);
  RunSet b = runs.Set("b", 5);
  for (RunSet* set : {&a, &b}) {
    for (v1::RunFigures& run : set->runs) {
      for (v1::PhaseOfRun& phase : *run.mutable_phases()) {
        for (v1::FigureRow& row : *phase.mutable_rows())
          row.mutable_operation()->set_operations(5000);
      }
    }
  }
  const v1::Comparison c = Compare({a, b}, 0.05);
  EXPECT_EQ(c.missing(), 0u);
  EXPECT_EQ(FigureOf(c, "p99.9"), nullptr);
  EXPECT_NE(FigureOf(c, "p99"), nullptr);
  const std::string all = absl::StrJoin(c.warnings(), "\n");
  EXPECT_NE(all.find("not judged, because no run of a and none of b has it: p0 p99.9, p1 p99.9, p2 "
                     "p99.9, p3 p99.9; too few I/Os"),
            std::string::npos)
      << all;
  EXPECT_EQ(Compare({a, b}, 0.05, {"p99.9"}).missing(), 1u);
  EXPECT_EQ(Compare({a, b}, 0.05, {"p99"}).missing(), 0u);
}

// One run of each set has no I/O in the phase: its figures stand in no table.
TEST(ComparedTimesTest, FiguresOfOnlySomeRunsOfBothSetsDoNotPass) {
  ComparedRuns runs(19);
  RunSet a = runs.Set("a", 5);
  RunSet b = runs.Set("b", 5);
  for (RunSet* set : {&a, &b}) {
    for (v1::FigureRow& row : *set->runs[2].mutable_phases(0)->mutable_rows()) {
      const std::string kind = row.operation().kind();
      row.mutable_operation()->Clear();
      row.mutable_operation()->set_kind(kind);
    }
  }
  const v1::Comparison c = Compare({a, b}, 0.05);
  EXPECT_GT(c.missing(), 0u);
  const std::string all = absl::StrJoin(c.warnings(), "\n");
  for (const char* set : {"a", "b"}) {
    EXPECT_NE(all.find(absl::StrCat("only some runs of ", set,
                                    " have it: p0 iops (missing in 1 of 5), p0 mean (missing in 1 "
                                    "of 5)")),
              std::string::npos)
        << all;
  }
}

// The row of the baseline's only part repeats the whole, and is compared as the whole. What the new
// job has beside it is new.
TEST(ComparedTimesTest, APartThatOnlyTheNewRunsHaveIsNew) {
  ComparedRuns runs(17);
  RunSet a = runs.Set("a", 5);
  for (v1::RunFigures& run : a.runs) {
    for (v1::PhaseOfRun& phase : *run.mutable_phases()) phase.mutable_rows()->RemoveLast();
  }
  const v1::Comparison c = Compare({a, runs.Set("b", 5)}, 0.05);
  EXPECT_EQ(c.missing(), 0u) << absl::StrJoin(c.warnings(), "\n");
}

TEST(ComparedTimesTest, FromNothingThereIsNoShareButARate) {
  ComparedRuns runs(16);
  RunSet none = runs.Set("none", 5);
  for (v1::RunFigures& run : none.runs) {
    run.mutable_phases()->DeleteSubrange(1, run.phases_size() - 1);
    run.mutable_phases(0)->clear_jain();
    for (v1::FigureRow& row : *run.mutable_phases(0)->mutable_rows()) {
      const std::string kind = row.operation().kind();
      row.mutable_operation()->Clear();
      row.mutable_operation()->set_kind(kind);
      row.mutable_operation()->set_iops(0);
      row.mutable_operation()->set_bytes_per_second(0);
    }
  }
  const v1::Comparison c = Compare({none, runs.Set("some", 5)}, 0.05);
  EXPECT_NE(c.conclusions(0).find("from 0 to "), std::string::npos) << c.conclusions(0);
}

}  // namespace
}  // namespace lockstep::controller
