// The verdict of a run, and how grave it is.

#include "controller/report/verdict.h"

#include "absl/strings/match.h"
#include "controller/report/markdown.h"
#include "gtest/gtest.h"

namespace lockstep::controller {
namespace {

// A run of two loads that is done.
v1::Report Done() {
  v1::Report report;
  report.mutable_run()->set_state("done");
  report.set_expectations_met(true);
  for (const char* name : {"share=50 %", "share=110 %"}) {
    v1::PhaseReport* phase = report.add_phases();
    phase->set_name(name);
    phase->set_state("done");
    phase->add_workloads();
  }
  return report;
}

TEST(VerdictTest, ALoadThatStaysBehindItsRateIsNoGoodEnd) {
  v1::Report report = Done();
  EXPECT_EQ(VerdictOf(report).word, measure::VerdictWord::kDone);
  EXPECT_EQ(VerdictOf(report).severity, VerdictSeverity::kGood);
  report.mutable_phases(1)->mutable_workloads(0)->set_has_backlog(true);
  const Verdict verdict = VerdictOf(report);
  EXPECT_EQ(verdict.word, measure::VerdictWord::kBacklog);
  EXPECT_EQ(verdict.severity, VerdictSeverity::kWarning);
  EXPECT_FALSE(verdict.good);
  ASSERT_EQ(verdict.reasons.size(), 1u);
  EXPECT_EQ(verdict.reasons[0], "the load stayed behind the rate that was due: share=110 %");
  // A job that expects something says itself which rate it needs.
  report.mutable_phases(0)->add_expectations()->set_met(true);
  EXPECT_EQ(VerdictOf(report).word, measure::VerdictWord::kPassed);
}

TEST(VerdictTest, EachWordHasItsSeverity) {
  v1::Report report = Done();
  report.mutable_run()->set_state("cancelled");
  EXPECT_EQ(VerdictOf(report).severity, VerdictSeverity::kUnknown);
  EXPECT_FALSE(absl::StrContains(RenderMarkdown(report), "❌"));
  report.mutable_run()->set_state("failed");
  EXPECT_EQ(VerdictOf(report).severity, VerdictSeverity::kBad);
  EXPECT_TRUE(absl::StrContains(RenderMarkdown(report), "❌"));
  report.mutable_run()->set_state("running");
  EXPECT_EQ(VerdictOf(report).severity, VerdictSeverity::kUnknown);
  report.mutable_run()->set_state("done");
  report.mutable_run()->set_degraded(true);
  EXPECT_EQ(VerdictOf(report).severity, VerdictSeverity::kWarning);
  EXPECT_TRUE(absl::StrContains(RenderMarkdown(report), "⚠"));
  report.set_expectations_met(false);
  EXPECT_EQ(VerdictOf(report).severity, VerdictSeverity::kBad);
}

}  // namespace
}  // namespace lockstep::controller
