#include "controller/report/github.h"

#include <algorithm>

#include "controller/report/comparison_text.h"
#include "gtest/gtest.h"

namespace lockstep::controller {
namespace {

v1::Report AnnotatedRun() {
  v1::Report report;
  report.mutable_run()->set_run_id("0123456789abcdef");
  report.mutable_run()->set_job_name("nightly");
  report.mutable_run()->set_state("done");
  v1::PhaseReport* phase = report.add_phases();
  phase->set_name("mix");
  phase->set_state("done");
  v1::Expectation* met = phase->add_expectations();
  met->set_text("iops ≥ 10");
  met->set_met(true);
  return report;
}

size_t Lines(const std::string& text) {
  return static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
}

TEST(Github, ARunThatIsAsExpectedIsOneNotice) {
  const std::string text = RenderGithub(AnnotatedRun());
  EXPECT_EQ(text, "::notice title=lockstep nightly::run 01234567: done\n");
}

TEST(Github, WhatWasNotMetIsAnError) {
  v1::Report report = AnnotatedRun();
  v1::Expectation* missed = report.mutable_phases(0)->add_expectations();
  missed->set_text("p99 ≤ 2 ms");
  missed->set_found("5 ms");
  report.mutable_verdict()->add_warnings("the page cache served 90 % of it");
  const std::string text = RenderGithub(report);
  EXPECT_NE(text.find("::error title=lockstep nightly mix::p99 ≤ 2 ms; found 5 ms\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("::warning title=lockstep nightly::the page cache served 90 %25 of it\n"),
            std::string::npos)
      << text;
}

TEST(Github, NoTextBeginsAnotherCommand) {
  v1::Report report = AnnotatedRun();
  report.mutable_run()->set_job_name("a,b:c::d\n::error::x");
  report.mutable_run()->set_state("failed");
  report.mutable_run()->set_outcome("no\n::set-output name=x::y\r\n::add-mask::z");
  const std::string text = RenderGithub(report);
  EXPECT_EQ(Lines(text), 2u) << text;
  EXPECT_EQ(text.find("\n::set-output"), std::string::npos) << text;
  EXPECT_EQ(text.find("\n::add-mask"), std::string::npos) << text;
  EXPECT_EQ(text.rfind("::error title=lockstep a%2Cb%3Ac%3A%3Ad", 0), 0u) << text;
}

TEST(Github, ARegressionIsAnErrorAndAMissingFigureAWarning) {
  v1::Comparison comparison;
  comparison.add_sets()->set_name("build=1");
  comparison.add_sets()->set_name("build=2");
  comparison.set_regressions(1);
  v1::ComparedFigure* worse = comparison.add_figures();
  worse->set_phase("mix");
  worse->set_figure("iops");
  worse->set_judged(true);
  worse->add_values()->set_runs(4);
  v1::ComparedValue* value = worse->add_values();
  value->set_runs(4);
  value->set_change(-0.25);
  value->set_regression(true);
  v1::ComparedFigure* missing = comparison.add_figures();
  missing->set_phase("mix");
  missing->set_figure("p99");
  missing->set_judged(true);
  missing->add_values()->set_runs(4);
  missing->add_values()->set_judgement(v1::JUDGEMENT_UNKNOWN);
  const std::string text = RenderGithub(comparison);
  EXPECT_NE(text.find("::error title=lockstep gate mix iops::build=2: worse by 25.0 %25 than "
                      "build=1\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("::warning title=lockstep gate mix p99::no value in build=2\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("2 figures judged, 1 regressed\n"), std::string::npos) << text;
}

TEST(Github, AComparisonWithoutFiguresDoesNotPass) {
  v1::Comparison comparison;
  comparison.add_sets()->set_name("build=0");
  comparison.add_sets()->set_name("build=2");
  comparison.add_conclusions("no run matches build=0: <cannot tell>");
  EXPECT_EQ(RenderGithub(comparison),
            "::warning title=lockstep gate::no run matches build=0: <cannot tell>\n"
            "::notice title=lockstep gate::0 figures judged, 0 regressed\n");
  const std::string suite = RenderJUnit(comparison);
  EXPECT_NE(suite.find("tests=\"1\" failures=\"0\" errors=\"0\" skipped=\"1\""), std::string::npos)
      << suite;
  EXPECT_NE(suite.find("<skipped message=\"no run matches build=0: &lt;cannot tell&gt;\"/>"),
            std::string::npos)
      << suite;
}

}  // namespace
}  // namespace lockstep::controller
