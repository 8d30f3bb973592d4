// The text of --detail, of stalls, and of phases that a sweep or a curve shows together.

#include <string>

#include "absl/strings/match.h"
#include "controller/report/markdown.h"
#include "controller/report/text.h"
#include "gtest/gtest.h"

namespace lockstep::controller {
namespace {

// Two phases: in the second one no I/O completed for a time, and one host was slow.
v1::Report WithAnOutage() {
  v1::Report report;
  for (uint32_t i = 0; i < 2; ++i) {
    v1::PhaseReport* phase = report.add_phases();
    phase->set_index(i);
    phase->set_name(i == 0 ? "mix, 1" : "mix, 2");
    phase->set_kind("run");
    phase->set_state("done");
    phase->add_remarks("no storage");
  }
  v1::PhaseReport* phase = report.mutable_phases(1);
  phase->mutable_outage_summary()->set_count(1);
  phase->mutable_outage_summary()->set_sentence("NO I/O COMPLETED on 1 of 3 hosts");
  phase->add_omissions()->set_sentence("the threads completed nothing for 26 % of their time");
  v1::Straggler* straggler = phase->add_stragglers();
  straggler->set_host("vm-3");
  straggler->set_cause("not known");
  v1::Expectation* expectation = phase->add_expectations();
  expectation->set_text("p99 <= 10 ms");
  return report;
}

std::string Detail(const v1::Report& report) {
  TextOptions options;
  options.detail = true;
  options.width = 200;
  return RenderText(report, options);
}

void ExpectAllOfIt(const std::string& text) {
  const size_t outage = text.find("  ! mix, 2: NO I/O COMPLETED on 1 of 3 hosts\n");
  EXPECT_NE(outage, std::string::npos) << text;
  EXPECT_LT(outage, text.find("  ! mix, 1 and 1 more: no storage\n")) << text;
  EXPECT_NE(text.find("  ! mix, 2: the threads completed nothing for 26 %"), std::string::npos);
  EXPECT_NE(text.find("  ! mix, 2: vm-3 is a straggler"), std::string::npos) << text;
  EXPECT_NE(text.find("  expect  FAILED  p99 <= 10 ms at mix, 2"), std::string::npos) << text;
  EXPECT_NE(text.find("  expect  0 of 1 met\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("FAILED:"), std::string::npos) << "said once\n" << text;
}

TEST(DetailTest, WarningsOfTheStepsOfACurve) {
  v1::Report report = WithAnOutage();
  v1::CurveReport* curve = report.add_curves();
  curve->set_phase("mix");
  for (uint32_t i = 0; i < 2; ++i) curve->add_points()->set_phase(i);
  ExpectAllOfIt(Detail(report));
}

TEST(DetailTest, WarningsOfThePointsOfASweep) {
  v1::Report report = WithAnOutage();
  v1::SweepReport* sweep = report.add_sweeps();
  sweep->set_phase("mix");
  for (uint32_t i = 0; i < 2; ++i) {
    v1::SweepPointReport* point = sweep->add_points();
    point->add_phases(i);
    point->set_runs(1);
  }
  ExpectAllOfIt(Detail(report));
}

TEST(DetailTest, ASweepThatWasRefusedHasNoTables) {
  v1::Report report;
  v1::SweepReport* sweep = report.add_sweeps();
  sweep->set_phase("mix");
  for (const char* field : {"environment.scheduler", "threads"}) {
    sweep->add_axes()->set_field(field);
    sweep->mutable_axes()->rbegin()->add_values("1");
  }
  sweep->add_without_knee("no knee: 1 value is too few");
  const std::string text = Detail(report);
  EXPECT_TRUE(absl::StrContains(text, "    no point was measured\n")) << text;
  for (const char* other : {"knee", "MiB/s", "medians"}) {
    EXPECT_FALSE(absl::StrContains(text, other)) << other << text;
  }
}

void SetP99(double ns, v1::OperationReport* operation) {
  operation->set_kind("read");
  v1::Percentile* p99 = operation->add_percentiles();
  p99->set_percent(99);
  p99->set_latency_ns(ns);
}

// A closed loop on two hosts, of which the second one stood still for so much of its time.
v1::Report WithStalls(double ratio) {
  v1::Report report;
  v1::PhaseReport* phase = report.add_phases();
  phase->set_name("mix");
  phase->set_kind("run");
  phase->set_state("done");
  phase->set_workers(2);
  v1::WorkloadReport* workload = phase->add_workloads();
  workload->set_name("w");
  SetP99(1100000, workload->mutable_total());
  workload->set_stalled_ratio(ratio / 2);
  workload->set_corrected_p99_ns(45100000);
  for (const double share : {0.0, ratio}) {
    v1::HostReport* host = phase->add_hosts();
    host->set_host(share > 0 ? "node1" : "node0");
    SetP99(1200000, host->mutable_total());
    host->set_stalled_ratio(share);
    host->set_corrected_p99_ns(share > 0 ? 60100000 : 1200000);
  }
  return report;
}

TEST(DetailTest, StallsAreBesideTheP99) {
  const v1::Report report = WithStalls(0.15);
  const std::string text = Detail(report);
  EXPECT_TRUE(absl::StrContains(text,
                                "    stalls: for 7.5 % of the threads' time nothing completed; p99 "
                                "1.10 ms, with the I/Os that are missing 45.1 ms\n"))
      << text;
  EXPECT_TRUE(absl::StrContains(text, "      p99  corrected p99  stalled  errors")) << text;
  EXPECT_TRUE(absl::StrContains(text, "  1.20 ms        60.1 ms   15.0 %  ")) << text;
  EXPECT_TRUE(absl::StrContains(RenderMarkdown(report), "mix, w: for 7.5 % of the threads"));
}

// Then no p99 is moved: the line of the workload says so, and that is all.
TEST(DetailTest, HostsThatHardlyStoodStillHaveNoColumnsOfIt) {
  const v1::Report report = WithStalls(0.008);
  const std::string text = Detail(report);
  EXPECT_TRUE(absl::StrContains(text, "stalls: for 0.4 % of the threads' time")) << text;
  EXPECT_FALSE(absl::StrContains(text, "stalled")) << text;
  EXPECT_FALSE(absl::StrContains(RenderMarkdown(report), "of the threads"));
}

TEST(DetailTest, AnOpenLoopHasNoLineOfStalls) {
  v1::Report report = WithStalls(0.15);
  report.mutable_phases(0)->mutable_workloads(0)->clear_stalled_ratio();
  EXPECT_FALSE(absl::StrContains(Detail(report), "stalls: "));
}

}  // namespace
}  // namespace lockstep::controller
