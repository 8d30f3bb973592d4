#include "controller/analysis/comparison.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "controller/analysis/comparison_words.h"
#include "controller/report/comparison_text.h"
#include "gtest/gtest.h"
#include "tests/controller/analysis/compared_runs.h"

namespace lockstep::controller {
namespace {

TEST(ComparisonTest, ASlowdownOfEightPercentInFiveRunsIsFound) {
  int found = 0;
  int in_succession = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    ComparedRuns runs(seed);
    const std::vector<RunSet> sets = {runs.Set("before", 5), runs.Set("after", 5, 0.08)};
    const v1::Comparison c = Compare(sets, 0.05);
    ASSERT_TRUE(c.can_tell(0));
    in_succession += c.regressions() > 0;
    found += Compare(InTurn(sets), 0.05).regressions() > 0;
  }
  EXPECT_EQ(found, 20);
  // Four standard deviations, of some 50 figures: a drift explains it in some cases.
  EXPECT_GE(in_succession, 12);
}

TEST(ComparisonTest, TwoHundredComparisonsOfTheSameAlarmInFivePercentAtMost) {
  int alarms = 0;
  int differences = 0;
  for (uint64_t seed = 100; seed < 300; ++seed) {
    ComparedRuns runs(seed);
    const v1::Comparison c = Compare({runs.Set("a", 5), runs.Set("b", 5)}, 0.05);
    alarms += c.regressions() > 0;
    bool any = false;
    for (const auto& figure : c.figures()) {
      any = any || figure.values(1).verdict() == v1::CHANGE_WORSE ||
            figure.values(1).verdict() == v1::CHANGE_BETTER;
    }
    differences += any;
  }
  EXPECT_LE(alarms, 10);
  EXPECT_LE(differences, 16);  // without a threshold: 5 %, and what chance adds
}

TEST(ComparisonTest, WithTooFewRunsItSaysSo) {
  ComparedRuns runs(1);
  const v1::Comparison c = Compare({runs.Set("a", 3), runs.Set("b", 3, 0.5)}, 0.05);
  EXPECT_FALSE(c.can_tell(0));
  EXPECT_EQ(c.regressions(), 0u);
  EXPECT_EQ(c.figures(0).values(1).verdict(), v1::CHANGE_UNKNOWN);
  EXPECT_NEAR(c.figures(0).values(1).change(), -0.5, 0.05);
  EXPECT_FALSE(c.figures(0).values(1).has_interval());
  EXPECT_FALSE(c.figures(0).values(1).has_change_low());
  EXPECT_EQ(c.fewest_runs(), 4u);
  EXPECT_NE(c.conclusions(0).find("with 3 and 3 runs that may be chance; run each 4 times or more: "
                                  "lockstep rerun run1, lockstep rerun run4"),
            std::string::npos)
      << c.conclusions(0);
  // It is said once.
  const std::string text = RenderComparison(c, {});
  EXPECT_EQ(text.find("run each 4 times"), text.rfind("run each 4 times")) << text;
  EXPECT_EQ(text.find("cannot tell"), std::string::npos) << text;
}

TEST(ComparisonTest, ThreeSetsAreHeldToOneErrorTogether) {
  ComparedRuns runs(2);
  const v1::Comparison c =
      Compare({runs.Set("a", 5), runs.Set("b", 5), runs.Set("c", 5, 0.2)}, 0.05);
  EXPECT_EQ(c.figures(0).values(1).verdict(), v1::CHANGE_NONE);
  EXPECT_EQ(c.figures(0).values(2).verdict(), v1::CHANGE_WORSE);
  EXPECT_NEAR(c.figures(0).values(2).p_value(), 4.0 / 252, 1e-9);
}

TEST(ComparisonTest, WhatCannotBeComparedIsLeftOutWithItsReason) {
  ComparedRuns runs(3);
  RunSet a = runs.Set("a", 6);
  RunSet b = runs.Set("b", 6);
  a.runs[0].mutable_run()->set_state("failed");
  a.runs[1].mutable_phases(2)->set_invalid(true);
  b.runs[0].mutable_run()->set_degraded(true);
  b.runs[1].clear_phases();
  (*b.runs[3].mutable_environment())["kernel"] = "6.2";
  b.runs[4].set_job(R"({"hosts": {"names": ["a"]}})");
  const v1::Comparison c = Compare({a, b}, std::nullopt);
  EXPECT_EQ(c.sets(0).runs_size(), 4);
  EXPECT_EQ(c.sets(1).runs_size(), 4);
  std::string all;
  for (const std::string& warning : c.warnings()) absl::StrAppend(&all, warning, "\n");
  for (const char* words :
       {"it is failed", "p2 is invalid", "lost hosts", "no phase with load",
        "kernel differs: 6.1 in a, 6.1 or 6.2 in b", "the runs of b are of 2 different jobs"}) {
    EXPECT_NE(all.find(words), std::string::npos) << words << " in\n" << all;
  }
}

TEST(ComparisonTest, FieldsInWhichTheJobsDifferAreNamed) {
  ComparedRuns runs(1);
  RunSet a = runs.Set("a", 2);
  RunSet b = runs.Set("b", 2);
  const auto job = [](int depth, const char* end) {
    return absl::StrCat(R"({"phases": [{"name": "mix", "run": {"workloads": [{"name": "w", )",
                        R"("queueDepth": )", depth, R"(, "blockSizeBytes": "8192", )", end,
                        "}]}}]}");
  };
  for (v1::RunFigures& run : a.runs) run.set_job(job(16, R"("readRatio": 0.7)"));
  for (v1::RunFigures& run : b.runs) run.set_job(job(8, R"("threads": 2, "readRatio": 0.7)"));
  const v1::Comparison c = Compare({a, b}, std::nullopt);
  const std::string all = absl::StrJoin(c.warnings(), "\n");
  EXPECT_NE(all.find("the jobs of a and b differ: phases.mix.run.workloads.w.queue_depth: 16 → 8, "
                     "phases.mix.run.workloads.w.threads: - → 2"),
            std::string::npos)
      << all;
}

TEST(ComparisonTest, BetterAndWorseGoByTheFigure) {
  ComparedRuns runs(4);
  const v1::Comparison c = Compare({runs.Set("slow", 5, 0.3), runs.Set("fast", 5)}, 0.05);
  for (const auto& figure : c.figures()) {
    if (figure.workload().empty() && figure.figure() != "jain") {
      EXPECT_EQ(figure.values(1).verdict(), v1::CHANGE_BETTER) << figure.figure();
    }
  }
  EXPECT_EQ(c.regressions(), 0u);
}

TEST(ComparisonTest, StorageThatFailsWhollyIsARegression) {
  ComparedRuns runs(8);
  const RunSet good = runs.Set("good", 4);
  RunSet failed = runs.Set("failed", 4);
  for (v1::RunFigures& run : failed.runs) {
    for (v1::FigureRow& row : *run.mutable_phases(0)->mutable_rows()) {
      const std::string kind = row.operation().kind();
      row.mutable_operation()->Clear();
      row.mutable_operation()->set_kind(kind);
      row.mutable_operation()->set_iops(0);
      row.mutable_operation()->set_bytes_per_second(0);
      row.mutable_operation()->set_errors(197);
    }
  }
  const v1::Comparison c = Compare({good, failed}, 0.05);
  EXPECT_GT(c.regressions(), 0u);
  EXPECT_GT(c.missing(), 0u);  // it has no latency
  for (const auto& figure : c.figures()) {
    if (figure.phase() != "p0" || !figure.workload().empty()) continue;
    const v1::ComparedValue& value = figure.values(1);
    if (figure.figure() == "iops") {
      EXPECT_TRUE(value.regression());
      EXPECT_NEAR(value.change(), -1, 0.05);
    } else if (figure.figure() == "errors") {
      EXPECT_TRUE(value.regression());
      EXPECT_FALSE(value.has_change());
      EXPECT_EQ(value.median(), 1);
    } else if (figure.figure() == "mean") {
      EXPECT_EQ(value.runs(), 0u);
      EXPECT_FALSE(value.has_p_value());
    }
  }
  const std::string junit = RenderJUnit(c);
  EXPECT_NE(junit.find("no value in failed"), std::string::npos);
  EXPECT_EQ(junit.find("errors=\"0\""), std::string::npos);
}

TEST(ComparisonTest, ErrorsOfLessThanHalfOfTheRunsAreWorseNotBetter) {
  ComparedRuns runs(10);
  const RunSet good = runs.Set("good", 20);
  RunSet some = runs.Set("some", 20);
  for (size_t i = 0; i < 9; ++i) {
    for (v1::FigureRow& row : *some.runs[i].mutable_phases(0)->mutable_rows()) {
      row.mutable_operation()->set_errors(10000);
    }
  }
  const v1::Comparison c = Compare(InTurn({good, some}), 0.05);
  bool found = false;
  for (const auto& figure : c.figures()) {
    if (figure.figure() != "errors") continue;
    found = true;
    EXPECT_EQ(figure.values(1).verdict(), v1::CHANGE_WORSE);
    EXPECT_TRUE(figure.values(1).regression());
  }
  EXPECT_TRUE(found);
}

TEST(ComparisonTest, APhaseOfOneSideAloneIsMissedAndNamed) {
  ComparedRuns runs(9);
  const RunSet a = runs.Set("a", 5);
  RunSet b = runs.Set("b", 5);
  for (v1::RunFigures& run : b.runs) run.mutable_phases(1)->set_name("other");
  const v1::Comparison c = Compare({a, b}, 0.05);
  EXPECT_EQ(c.regressions(), 0u);
  EXPECT_GT(c.missing(), 0u);
  std::string all;
  for (const std::string& warning : c.warnings()) absl::StrAppend(&all, warning, "\n");
  EXPECT_NE(all.find("b has not, and a has: p1 iops, p1 mean"), std::string::npos) << all;
  EXPECT_NE(all.find("of phase other"), std::string::npos) << all;
  // The case of each figure for which the gate fails is an error, and no other.
  EXPECT_NE(RenderJUnit(c).find(absl::StrCat("errors=\"", c.missing(), "\"")), std::string::npos);
}

TEST(ComparisonTest, TextAndJUnitSayWhatWasFoundAndNothingForeignIsMarkup) {
  ComparedRuns runs(5);
  RunSet a = runs.Set("a<b>&\"", 5);
  RunSet b = runs.Set("b", 5, 0.2);
  const v1::Comparison c = Compare({a, b}, 0.05);
  const std::string text = RenderComparison(c, {});
  EXPECT_NE(text.find("REGRESSION"), std::string::npos) << text;
  EXPECT_NE(text.find("against b: 5 runs"), std::string::npos);
  const std::string junit = RenderJUnit(c);
  EXPECT_NE(junit.find("<failure message="), std::string::npos);
  EXPECT_EQ(junit.find("a<b>"), std::string::npos);
  EXPECT_NE(junit.find(absl::StrCat("failures=\"", c.regressions(), "\"")), std::string::npos);
}

// Two medians beside a change that is not theirs look like an error, unless it says what it is of.
TEST(ComparisonTest, AChangeSaysThatItIsTheMedianOfPairs) {
  ComparedRuns runs(5);
  RunSet a = runs.Set("a", 4);
  RunSet b = runs.Set("b", 5, 0.2);
  const v1::Comparison c = Compare({a, b}, 0.05);
  const std::string note = "The change is the median over all pairs of a run";
  for (const std::string& text : {RenderComparison(c, {}), RenderMarkdown(c)}) {
    EXPECT_NE(text.find("change of 20 pairs [95 %]"), std::string::npos) << text;
    EXPECT_NE(text.find(note), std::string::npos) << text;
  }
  const std::string junit = RenderJUnit(c);
  EXPECT_NE(junit.find(": median of 20 pairs of runs "), std::string::npos) << junit;
  // A change that is too small for its digits has no sign.
  ComparedRuns other(6);
  const RunSet same = other.Set("e", 1);
  RunSet again = same;
  again.name = "f";
  again.runs[0].mutable_run()->set_run_id("again");
  const v1::Comparison none = Compare({same, again}, std::nullopt);
  EXPECT_EQ(none.conclusions(0).find("+0.0 %"), std::string::npos) << none.conclusions(0);
  EXPECT_NE(none.conclusions(0).find("0.0 % IOPS"), std::string::npos) << none.conclusions(0);
  EXPECT_EQ(RenderComparison(none, {}).find("+0.0 %"), std::string::npos);
  // One run of each is one pair, whose change is that of the two values.
  const v1::Comparison one = Compare({runs.Set("c", 1), runs.Set("d", 1)}, std::nullopt);
  for (const std::string& text : {RenderComparison(one, {}), RenderMarkdown(one)}) {
    EXPECT_EQ(text.find("pairs"), std::string::npos) << text;
  }
}

void SetLabel(const std::string& name, const std::string& value, RunSet* set) {
  for (v1::RunFigures& run : set->runs) (*run.mutable_run()->mutable_labels())[name] = value;
}

TEST(ComparisonTest, TheConclusionSaysWhatIsFasterAndByHowMuch) {
  ComparedRuns runs(7);
  RunSet before = runs.Set("a", 5);
  RunSet after = runs.Set("b", 5, 0.2);
  const v1::Comparison slower = Compare({before, after}, std::nullopt);
  ASSERT_EQ(slower.conclusions_size(), 1);
  const std::string& said = slower.conclusions(0);
  EXPECT_EQ(said.rfind("b is slower than a in p0: −", 0), 0u) << said;
  EXPECT_NE(said.find(" % IOPS (−"), std::string::npos) << said;
  EXPECT_NE(said.find("p50 +"), std::string::npos) << said;
  EXPECT_NE(said.find("; by chance with p = 0.0"), std::string::npos) << said;
  EXPECT_NE(said.find("; 3 more phases differ"), std::string::npos) << said;
  const v1::Comparison same = Compare({before, runs.Set("c", 5)}, std::nullopt);
  EXPECT_EQ(same.conclusions(0).rfind("no difference found between a and c in p0: ", 0), 0u)
      << same.conclusions(0);
}

TEST(ComparisonTest, AFigureThatMayBeDriftIsNotSaidToBeChance) {
  v1::Comparison comparison;
  for (const char* title : {"a", "b"}) {
    v1::ComparedSet* set = comparison.add_sets();
    set->set_title(title);
    set->add_runs("run");
  }
  comparison.add_can_tell(true);
  for (const char* name : {"iops", "p50"}) {
    v1::ComparedFigure* figure = comparison.add_figures();
    figure->set_phase("mix");
    figure->set_figure(name);
    figure->set_judged(true);
    figure->add_values();
    v1::ComparedValue* value = figure->add_values();
    value->set_has_interval(true);
    value->set_change(0.5);
    value->set_change_low(0.4);
    value->set_change_high(0.6);
    value->set_p_value(0.029);
    value->set_verdict(std::string(name) == "p50" ? v1::CHANGE_WORSE : v1::CHANGE_NONE);
  }
  const auto said = [&] {
    comparison.clear_conclusions();
    AddConclusions(&comparison);
    return comparison.conclusions(0);
  };
  EXPECT_NE(said().find("+50 % IOPS (+40 % to +60 %, may be chance), p50"), std::string::npos)
      << said();
  comparison.mutable_figures(0)->mutable_values(1)->set_may_be_drift(true);
  EXPECT_NE(said().find("+50 % IOPS (+40 % to +60 %, may be drift), p50"), std::string::npos)
      << said();
}

TEST(ComparisonTest, OneRunOfEachProvesNothing) {
  ComparedRuns runs(8);
  const v1::Comparison c = Compare({runs.Set("a", 1), runs.Set("b", 1)}, std::nullopt);
  EXPECT_NE(c.conclusions(0).find(": one run each proves nothing; run each 4 times or more: "),
            std::string::npos)
      << c.conclusions(0);
  const v1::Comparison none = Compare({runs.Set("a", 1), runs.Set("b", 0)}, std::nullopt);
  EXPECT_EQ(none.conclusions(0), "no run of b can be compared");
}

TEST(ComparisonTest, SetsAreNamedByTheLabelsInWhichTheyDiffer) {
  ComparedRuns runs(9);
  RunSet a = runs.Set("3f2a91bc", 2);
  RunSet b = runs.Set("9b1cdd01", 2);
  SetLabel("array", "a7", &a);
  SetLabel("array", "a7", &b);
  SetLabel("firmware", "1.2", &a);
  SetLabel("firmware", "1.3", &b);
  for (v1::RunFigures& run : b.runs) {
    run.set_job(R"({"interval_ns": "500000000"})");
    (*run.mutable_environment())["kernel"] = "6.2";
  }
  const v1::Comparison c = Compare({a, b}, std::nullopt);
  EXPECT_EQ(c.sets(0).name(), "3f2a91bc");
  EXPECT_EQ(c.sets(0).title(), "firmware=1.2");
  EXPECT_EQ(c.sets(1).title(), "firmware=1.3");
  ASSERT_EQ(c.differences_size(), 3) << c.DebugString();
  EXPECT_EQ(c.differences(0).kind(), "label");
  EXPECT_EQ(c.differences(0).name(), "firmware");
  EXPECT_EQ(c.differences(0).values(1), "1.3");
  EXPECT_EQ(c.differences(1).kind(), "job");
  EXPECT_EQ(c.differences(1).name(), "interval");
  EXPECT_EQ(c.differences(2).name(), "kernel");
  EXPECT_EQ(c.differences(2).values(0), "6.1");
  const std::string text = RenderComparison(c, {});
  EXPECT_NE(text.find("against firmware=1.3 (9b1cdd01): 2 runs\nlabels that differ: firmware 1.2 → "
                      "1.3\n"),
            std::string::npos)
      << text;
  // A name that is a label stays, and labels that all sets share say nothing.
  a.name = "site=x";
  EXPECT_EQ(Compare({a, b}, std::nullopt).sets(0).title(), "site=x");
  SetLabel("firmware", "1.2", &b);
  EXPECT_EQ(Compare({a, b}, std::nullopt).sets(1).title(), "9b1cdd01");
}

TEST(ComparisonTest, MarkdownHasTheConclusionAndNoMarkupOfOthers) {
  ComparedRuns runs(10);
  const v1::Comparison c = Compare({runs.Set("@all", 5), runs.Set("b|c", 5, 0.2)}, std::nullopt);
  const std::string text = RenderMarkdown(c);
  EXPECT_EQ(text.rfind("### &#64;all and b\\|c compared\n\n**b\\|c is slower than &#64;all", 0), 0u)
      << text;
  EXPECT_NE(text.find("| p0 | iops | "), std::string::npos) << text;
  EXPECT_NE(text.find("\n\n&#64;all&#58; 5 runs against b\\|c&#58; 5 runs\n\n"), std::string::npos)
      << text;
  EXPECT_EQ(text.find('@'), std::string::npos) << text;
}

}  // namespace
}  // namespace lockstep::controller
