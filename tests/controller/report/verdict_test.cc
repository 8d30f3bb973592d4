// The verdict of a run, and how grave it is.

#include "controller/report/verdict.h"

#include "absl/strings/match.h"
#include "controller/report/github.h"
#include "controller/report/junit.h"
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
    phase->set_kind("run");
    phase->mutable_total()->set_operations(1000);
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

// Whoever reads the verdict alone would take a load that did nothing for a good one.
TEST(VerdictTest, ALoadThatMeasuredNothingIsNoGoodEnd) {
  v1::Report report = Done();
  EXPECT_EQ(UnmeasuredText(report), "");
  EXPECT_TRUE(absl::StrContains(RenderRunJUnit(report), "errors=\"0\""));
  v1::PhaseReport* second = report.mutable_phases(1);
  second->mutable_total()->set_operations(0);
  Verdict verdict = VerdictOf(report);
  EXPECT_EQ(verdict.text, "nothing measured");
  EXPECT_EQ(verdict.severity, VerdictSeverity::kBad);
  EXPECT_FALSE(verdict.good);
  ASSERT_EQ(verdict.reasons.size(), 1u);
  EXPECT_EQ(verdict.reasons[0], "no I/O was measured in share=110 %");
  EXPECT_TRUE(absl::StrContains(RenderMarkdown(report), "❌"));
  EXPECT_TRUE(absl::StrContains(RenderRunJUnit(report),
                                "<error message=\"no I/O was measured in share=110 %\"/>"));
  EXPECT_TRUE(absl::StrContains(RenderGithub(report),
                                "::error title=lockstep ::no I/O was measured in share=110 %25\n"));
  // The word says it of all loads.
  report.mutable_phases(0)->mutable_total()->set_operations(0);
  EXPECT_TRUE(VerdictOf(report).reasons.empty());
  EXPECT_EQ(UnmeasuredText(report), "no I/O was measured in share=50 % and 1 more");
}

TEST(VerdictTest, LoadsThatNeverEndedOrFailedSayOtherwise) {
  v1::Report report = Done();
  v1::PhaseReport* second = report.mutable_phases(1);
  second->mutable_total()->set_operations(0);
  second->mutable_total()->set_errors(3);
  EXPECT_EQ(VerdictOf(report).word, measure::VerdictWord::kErrors);
  second->mutable_total()->set_errors(0);
  second->set_state("skipped");
  EXPECT_EQ(VerdictOf(report).word, measure::VerdictWord::kDone);
  // These do no load.
  for (const char* kind : {"prepare", "cleanup", "observe"}) {
    second->set_state("done");
    second->set_kind(kind);
    EXPECT_EQ(VerdictOf(report).word, measure::VerdictWord::kDone) << kind;
  }
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

// Other programs' I/O in the first phase is told after what the device saw in the second one.
TEST(VerdictTest, TheCrossCheckOfADeviceComesBeforeOtherPrograms) {
  v1::Report report = Done();
  const auto add = [&](int phase, const char* kind, const char* sentence) {
    v1::DeviceReport* device = report.mutable_phases(phase)->add_devices();
    device->set_name("sda");
    v1::Finding* finding = device->add_findings();
    finding->set_kind(kind);
    finding->set_sentence(sentence);
    return device;
  };
  add(0, "interference", "others moved 1 MiB on it");
  v1::CrossCheck* check = add(1, "split", "requests were split")->mutable_cross_check();
  check->set_verdict(v1::CrossCheck::VERDICT_COALESCED);
  check->set_reason("merged ×8");
  EXPECT_EQ(Warnings(report),
            (std::vector<std::string>{"share=110 %: sda: merged ×8",
                                      "share=110 %: sda: requests were split",
                                      "share=50 %: sda: others moved 1 MiB on it"}));
}

}  // namespace
}  // namespace lockstep::controller
