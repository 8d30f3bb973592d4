// The sentence that concludes a report, and the figures by which lists know a run.

#include "controller/report/conclusion.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/text.h"
#include "controller/report/headline.h"
#include "controller/report/markdown.h"
#include "controller/report/text.h"
#include "gtest/gtest.h"
#include "measure/states.h"

namespace lockstep::controller {
namespace {

v1::Report DoneRun() {
  v1::Report report;
  report.mutable_run()->set_state(Text(measure::RunState::kDone));
  report.mutable_run()->set_hosts(8);
  report.set_expectations_met(true);
  return report;
}

v1::PhaseReport* AddLoad(const std::string& name, double iops, double p99_ns, v1::Report* report) {
  v1::PhaseReport* phase = report->add_phases();
  phase->set_name(name);
  phase->set_kind("run");
  phase->set_index(static_cast<uint32_t>(report->phases_size() - 1));
  phase->set_state(Text(measure::PhaseState::kDone));
  phase->add_workloads()->set_limited_by("device");
  v1::OperationReport* total = phase->mutable_total();
  total->set_operations(iops * 10);
  total->set_iops(iops);
  total->set_bytes_per_second(iops * 4096);
  v1::Percentile* p = total->add_percentiles();
  p->set_percent(99);
  p->set_latency_ns(p99_ns);
  return phase;
}

void AddMiss(const std::string& figure, double required, double value, v1::PhaseReport* phase) {
  v1::Expectation* e = phase->add_expectations();
  e->set_text(figure);
  e->set_figure(figure);
  e->set_required(required);
  e->set_value(value);
}

TEST(ConclusionTest, ALoadSaysItsFiguresAndItsLimit) {
  v1::Report report = DoneRun();
  AddLoad("mix", 4461, 5.93e6, &report);
  EXPECT_EQ(ConclusionOf(report), "4,461 IOPS, p99 5.93 ms, limited by the device");
}

// Most of the phase's I/Os are those of a workload without a limit that can be named.
TEST(ConclusionTest, ALimitOfSomeWorkloadsIsNotThePhases) {
  v1::Report report = DoneRun();
  v1::PhaseReport* phase = AddLoad("mix", 5172, 3.85e6, &report);
  phase->mutable_workloads(0)->set_name("a");
  phase->mutable_workloads(0)->set_limited_by("no storage");
  v1::WorkloadReport* other = phase->add_workloads();
  other->set_name("b");
  other->set_limited_by("rate");
  EXPECT_EQ(ConclusionOf(report), "5,172 IOPS, p99 3.85 ms, b limited by the rate");
  other = phase->add_workloads();
  other->set_name("c");
  other->set_limited_by("device");
  EXPECT_EQ(ConclusionOf(report), "5,172 IOPS, p99 3.85 ms");
  phase->mutable_workloads(0)->set_limited_by("rate");
  EXPECT_EQ(ConclusionOf(report), "5,172 IOPS, p99 3.85 ms, limited by the rate and the device");
}

TEST(ConclusionTest, OutagesAndMissesComeFirstAndSayHowFar) {
  v1::Report report = DoneRun();
  v1::PhaseReport* phase = AddLoad("mix", 4461, 5.93e6, &report);
  report.set_expectations_met(false);
  AddMiss("iops", 50000, 4461, phase);
  v1::OutageSummary* outages = phase->mutable_outage_summary();
  outages->set_count(4);
  outages->set_hosts(8);
  outages->set_of_hosts(8);
  outages->set_total_seconds(20);
  outages->set_all_hosts_seconds(20);
  outages->set_longest_seconds(5);
  EXPECT_EQ(ConclusionOf(report),
            "no I/O for 20 s in 4 gaps, the longest 5 s; 4,461 IOPS, 9 % of the 50,000 required; "
            "p99 5.93 ms, limited by the device");
  // Hosts that were silent one after the other are not the same as none that did I/O.
  outages->set_all_hosts_seconds(3);
  EXPECT_TRUE(absl::StrContains(ConclusionOf(report), "in 4 gaps on 8 of 8 hosts"));
}

TEST(ConclusionTest, AnIncompleteCopyIsSaidBeforeItsFigures) {
  v1::Report report = DoneRun();
  v1::PhaseReport* phase = AddLoad("copy", 1954, 5e6, &report);
  v1::CopyReport* copy = phase->mutable_workloads(0)->mutable_copy();
  copy->set_uncopied(63582);
  copy->set_sentence("copy incomplete: 63,582 of 65,536 blocks were not copied");
  copy->set_cause("the load ended first");
  const std::string said =
      "copy incomplete: 63,582 of 65,536 blocks were not copied; 1,954 IOPS, p99 5 ms, limited by "
      "the device";
  EXPECT_EQ(ConclusionOf(report), said);
  // A requirement is not said twice.
  report.set_expectations_met(false);
  AddMiss("uncopied_blocks", 0, 63582, phase);
  EXPECT_EQ(ConclusionOf(report), said);
  Conclude(&report);
  EXPECT_TRUE(absl::StrContains(
      RenderMarkdown(report), "63,582 of 65,536 blocks were not copied&#58; the load ended first"))
      << RenderMarkdown(report);
}

TEST(ConclusionTest, ALatencyAboveItsBoundSaysByHowMuch) {
  v1::Report report = DoneRun();
  v1::PhaseReport* phase = AddLoad("mix", 1000, 6e6, &report);
  AddMiss("p99_ns", 1e6, 692e6, phase);
  EXPECT_TRUE(absl::StartsWith(ConclusionOf(report), "p99 692 ms, 692 times the 1 ms allowed; "))
      << ConclusionOf(report);
  phase->clear_expectations();
  AddMiss("p99_ns", 2e6, 6e6, phase);
  EXPECT_TRUE(absl::StartsWith(ConclusionOf(report),
                               "p99 6 ms, 3 times the 2 ms allowed; 1,000 IOPS, limited by "))
      << ConclusionOf(report);
  phase->mutable_expectations(0)->set_value(2.4e6);
  EXPECT_TRUE(absl::StartsWith(ConclusionOf(report), "p99 2.40 ms, 20 % above the 2 ms allowed; "))
      << ConclusionOf(report);
  // An unknown figure is said to be unknown.
  phase->mutable_expectations(0)->clear_value();
  phase->mutable_expectations(0)->set_found("no complete result");
  EXPECT_TRUE(absl::StartsWith(ConclusionOf(report), "p99_ns not met: no complete result; "))
      << ConclusionOf(report);
}

TEST(ConclusionTest, CorruptedDataStandsBeforeEverythingElse) {
  v1::Report report = DoneRun();
  v1::PhaseReport* phase = AddLoad("mix", 1000, 1e6, &report);
  AddMiss("iops", 50000, 1000, phase);
  v1::VerificationReport* v = phase->mutable_workloads(0)->mutable_verification();
  v->set_checked(4096);
  v->set_mismatches(24);
  v->add_hosts("vm-3");
  EXPECT_TRUE(absl::StartsWith(
      ConclusionOf(report),
      "DATA CORRUPTED: 24 of 4,096 checked blocks are not as written, on vm-3; 1,000 IOPS, 2 %"))
      << ConclusionOf(report);
  EXPECT_FALSE(absl::StrContains(ConclusionOf(report), "all as written"));
}

TEST(ConclusionTest, LostHostsAreNamed) {
  v1::Report report = DoneRun();
  report.mutable_run()->set_hosts(9);
  report.mutable_run()->set_degraded(true);
  v1::PhaseReport* phase = AddLoad("mix", 1000, 1e6, &report);
  phase->set_workers_lost(1);
  v1::HostReport* host = phase->add_hosts();
  host->set_host("vm-9");
  host->set_lost(true);
  EXPECT_TRUE(absl::StartsWith(ConclusionOf(report), "lost vm-9, 8 of 9 hosts went on; 1,000"))
      << ConclusionOf(report);
  report.mutable_run()->set_hosts(2001);
  EXPECT_TRUE(absl::StartsWith(ConclusionOf(report), "lost vm-9, 2,000 of 2,001 hosts went on"))
      << ConclusionOf(report);
}

TEST(ConclusionTest, ListsNameOneLostHost) {
  v1::Report report = DoneRun();
  v1::PhaseReport* phase = AddLoad("mix", 1000, 1e6, &report);
  Conclude(&report);
  EXPECT_EQ(report.run().lost_hosts(), "");
  report.mutable_run()->set_degraded(true);
  for (const char* name : {"vm-9", "vm-3"}) {
    v1::HostReport* host = phase->add_hosts();
    host->set_host(name);
    host->set_lost(true);
  }
  // An outage stands first in the conclusion.
  phase->mutable_outage_summary()->set_count(1);
  phase->mutable_outage_summary()->set_total_seconds(5);
  phase->set_workers_lost(2);
  Conclude(&report);
  EXPECT_EQ(report.run().lost_hosts(), "vm-9 and 1 more");
  EXPECT_TRUE(absl::StartsWith(report.run().conclusion(), "no I/O for 5 s"))
      << report.run().conclusion();
  phase->mutable_hosts()->RemoveLast();
  phase->set_workers_lost(1);
  Conclude(&report);
  EXPECT_EQ(report.run().lost_hosts(), "vm-9");
  // A report without the hosts' names.
  phase->clear_hosts();
  phase->set_workers_lost(2);
  Conclude(&report);
  EXPECT_EQ(report.run().lost_hosts(), "2 hosts");
}

TEST(ConclusionTest, ItIsShortWhateverTheNames) {
  v1::Report report = DoneRun();
  report.mutable_run()->set_outcome(std::string(900, 'x'));
  report.mutable_run()->set_state(Text(measure::RunState::kFailed));
  EXPECT_LE(common::DisplayWidth(ConclusionOf(report)), kConclusionColumns);
  EXPECT_TRUE(absl::StartsWith(ConclusionOf(report), "failed: xxx"));
  report = DoneRun();
  for (int i = 0; i < 20; ++i) {
    v1::PhaseReport* phase = AddLoad(absl::StrCat(std::string(60, 'n'), i), 1000, 1e6, &report);
    AddMiss("iops", 50000, 1000, phase);
    AddMiss("p99_ns", 1e3, 1e6, phase);
  }
  EXPECT_LE(common::DisplayWidth(ConclusionOf(report)), kConclusionColumns);
  EXPECT_TRUE(absl::StrContains(ConclusionOf(report), "38 more expectations not met"))
      << ConclusionOf(report);
}

TEST(ConclusionTest, ARunInProgressHasNone) {
  v1::Report report = DoneRun();
  AddLoad("mix", 1000, 1e6, &report);
  report.mutable_run()->set_state(Text(measure::RunState::kRunning));
  EXPECT_EQ(ConclusionOf(report), "");
}

TEST(ConclusionTest, ItOpensTextAndMarkdown) {
  v1::Report report = DoneRun();
  AddLoad("mix", 4461, 5.93e6, &report);
  const std::string text = RenderText(report, {});
  const size_t second = text.find('\n') + 1;
  EXPECT_EQ(text.substr(second, text.find('\n', second) - second),
            "  4,461 IOPS, p99 5.93 ms, limited by the device");
  EXPECT_TRUE(absl::StrContains(RenderMarkdown(report),
                                "\n\n**4,461 IOPS, p99 5.93 ms, limited by the device**\n\n"));
}

// Lists of runs have room for some of the reason. A report has it whole, and once.
TEST(ConclusionTest, TheReasonOfAFailureStandsInTheReportOnce) {
  v1::Report report = DoneRun();
  report.mutable_run()->set_state(Text(measure::RunState::kFailed));
  const std::string begin = "refused before anything was written: node1: target data:";
  for (const std::string& rest : {std::string(" no"), " " + std::string(300, 'x') + " end"}) {
    report.mutable_run()->set_outcome(begin + rest);
    const std::string text = RenderText(report, {false, 1000, false});
    EXPECT_TRUE(absl::StrContains(text, absl::StrCat("  failed: ", begin, rest, "\n"))) << text;
    EXPECT_EQ(text.find(begin), text.rfind(begin)) << text;
    const std::string markdown = RenderMarkdown(report);
    const size_t first = markdown.find("refused before anything");
    EXPECT_NE(first, std::string::npos) << markdown;
    EXPECT_EQ(first, markdown.rfind("refused before anything")) << markdown;
    EXPECT_EQ(absl::StrContains(markdown, " end**"), rest.size() > 10) << markdown;
  }
}

TEST(HeadlineTest, ACurveIsKnownByItsBestPoint) {
  v1::Report report = DoneRun();
  AddLoad("curve 10 %", 1912, 1e6, &report);
  AddLoad("curve 90 %", 17105, 2.1e6, &report);
  v1::CurveReport* curve = report.add_curves();
  curve->set_phase("curve");
  for (uint32_t i = 0; i < 2; ++i) {
    v1::CurvePointReport* point = curve->add_points();
    point->set_share(i == 0 ? 0.1 : 0.9);
    point->set_achieved(i == 0 ? 1912 : 17105);
    point->set_p99_ns(i == 0 ? 1e6 : 2.1e6);
    point->set_phase(i);
  }
  Conclude(&report);
  EXPECT_EQ(report.run().iops(), 17105);
  EXPECT_EQ(report.run().bytes_per_second(), 17105 * 4096);
  EXPECT_EQ(report.run().headline().kind(), "curve");
  EXPECT_EQ(report.run().headline().at(), "90 % of the load");
  EXPECT_EQ(report.run().conclusion(), "17,105 IOPS at 90 % of the load, p99 2.10 ms");
}

TEST(HeadlineTest, ASweepIsKnownByThePointThatLeads) {
  v1::Report report = DoneRun();
  v1::SweepReport* sweep = report.add_sweeps();
  sweep->set_phase("sweep");
  v1::SweepAxisReport* axis = sweep->add_axes();
  axis->set_field("workloads.0.queue_depth");
  for (uint32_t i = 0; i < 3; ++i) {
    axis->add_values(absl::StrCat(1U << i));
    v1::SweepPointReport* point = sweep->add_points();
    point->add_indices(i);
    point->set_runs(1);
    point->set_iops(1000 * (i + 1));
    point->mutable_comparison()->set_standing(v1::STANDING_TOO_FEW_ROUNDS);
  }
  EXPECT_FALSE(HeadlineOf(report).has_value());  // no point leads
  sweep->mutable_conclusion()->set_figure("IOPS");
  sweep->mutable_conclusion()->set_higher_is_better(true);
  sweep->mutable_conclusion()->set_leading(2);
  ASSERT_TRUE(HeadlineOf(report).has_value());
  EXPECT_EQ(HeadlineOf(report)->text(),
            "queue_depth=4 leads 3 points with 3,000 IOPS; too few rounds to call it best");
  sweep->mutable_points(2)->mutable_comparison()->set_standing(v1::STANDING_BEST);
  sweep->mutable_points(1)->mutable_comparison()->set_standing(v1::STANDING_NOT_DISTINGUISHABLE);
  EXPECT_EQ(HeadlineOf(report)->text(),
            "queue_depth=4 leads 2 compared points (of 3) with 3,000 IOPS; 1 other is not "
            "distinguishable from it");
  sweep->mutable_points(0)->mutable_comparison()->set_standing(v1::STANDING_WORSE);
  EXPECT_EQ(HeadlineOf(report)->text(),
            "queue_depth=4 leads 3 points with 3,000 IOPS; 1 other is not distinguishable from it");
  sweep->mutable_points(1)->mutable_comparison()->set_standing(v1::STANDING_WORSE);
  EXPECT_EQ(HeadlineOf(report)->text(), "best of 3 points: queue_depth=4 with 3,000 IOPS");
  sweep->mutable_points(1)->mutable_comparison()->set_standing(v1::STANDING_TOO_FEW_ROUNDS);
  EXPECT_EQ(HeadlineOf(report)->text(),
            "best of 2 compared points (of 3): queue_depth=4 with 3,000 IOPS");
  sweep->mutable_points(1)->mutable_comparison()->set_standing(v1::STANDING_UNSPECIFIED);
  sweep->mutable_points(2)->mutable_comparison()->set_standing(v1::STANDING_UNSPECIFIED);
  sweep->mutable_points(2)->mutable_comparison()->set_reason("every point is behind another one");
  EXPECT_EQ(HeadlineOf(report)->text(),
            "queue_depth=4 leads 3 points with 3,000 IOPS; none of them can be called best");
}

TEST(HeadlineTest, ThePhaseWithExpectationsIsTheOneThatTheRunIsAbout) {
  v1::Report report = DoneRun();
  AddLoad("fill", 900, 1e6, &report);
  v1::Expectation* met = AddLoad("mix", 1000, 1e6, &report)->add_expectations();
  met->set_met(true);
  EXPECT_EQ(HeadlineOf(report)->text(), "mix: 1,000 IOPS, p99 1 ms");
}

TEST(HeadlineTest, AnUncertainP99IsMarked) {
  v1::Report report = DoneRun();
  v1::PhaseReport* phase = AddLoad("mix", 1000, 1e6, &report);
  phase->mutable_total()->mutable_percentiles(0)->set_is_uncertain(true);
  Conclude(&report);
  EXPECT_EQ(report.run().headline().text(), "1,000 IOPS, p99 ~1 ms");
  EXPECT_TRUE(report.run().headline().is_p99_uncertain());
  EXPECT_EQ(report.run().conclusion(), "1,000 IOPS, p99 ~1 ms, limited by the device");
}

TEST(HeadlineTest, VerificationIsKnownByItsBlocks) {
  v1::Report report = DoneRun();
  v1::PhaseReport* phase = report.add_phases();
  phase->set_name("check");
  phase->set_kind("verify");
  phase->add_workloads()->mutable_verification()->set_checked(4096);
  Conclude(&report);
  EXPECT_EQ(report.run().headline().checked_blocks(), 4096);
  EXPECT_EQ(report.run().conclusion(), "4,096 blocks checked; all as written");
  EXPECT_EQ(report.run().iops(), 0);
}

TEST(HeadlineTest, ObservedDevicesHaveNoIops) {
  v1::Report report = DoneRun();
  v1::PhaseReport* phase = report.add_phases();
  phase->set_kind("observe");
  v1::ObservedFigures* f = phase->mutable_observed()->mutable_total();
  f->set_devices(2);
  f->set_reads_per_second(1200);
  f->set_writes_per_second(10);
  f->set_read_bytes_per_second(3 << 20);
  f->set_busiest("sdb");
  f->set_busy_ratio(0.97);
  EXPECT_FALSE(HeadlineOf(report)->has_iops());
  EXPECT_EQ(
      ConclusionOf(report),
      "observed 2 devices: 1,200 reads/s, 10 writes/s, 3.00 MiB/s; sdb busy 97 % of the time");
}

}  // namespace
}  // namespace lockstep::controller
