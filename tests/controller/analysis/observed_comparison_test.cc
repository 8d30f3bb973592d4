#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "controller/analysis/comparison.h"
#include "controller/analysis/observed_figures.h"
#include "controller/report/comparison_text.h"
#include "gtest/gtest.h"
#include "tests/controller/analysis/compared_runs.h"

namespace lockstep::controller {
namespace {

// Runs that observe one phase, in the order of their submission.
class Watch {
 public:
  v1::RunFigures Run() {
    v1::RunFigures run;
    run.mutable_run()->set_run_id(absl::StrCat("watch", ++number_));
    run.mutable_run()->set_state("done");
    run.mutable_run()->set_submitted_at(absl::StrFormat("2026-01-01T00:00:%02dZ", number_));
    run.set_job("{}");
    run.add_observed()->set_name("evening");
    return run;
  }

  // Of a run whose device db-1/sdb has so many reads per second of 16 KiB.
  v1::RunFigures Reads(double per_second) {
    v1::RunFigures run = Run();
    AddDevice("db-1", "sdb", "wwn-1", per_second, &run);
    return run;
  }

  static v1::DeviceReport* AddDevice(const std::string& host, const std::string& name,
                                     const std::string& identity, double reads,
                                     v1::RunFigures* run) {
    v1::DeviceReport* d = run->mutable_observed(0)->add_devices();
    d->add_hosts(host);
    d->set_name(name);
    d->set_identity(identity);
    d->set_reads_per_second(reads);
    d->set_read_bytes_per_second(reads * 16384);
    if (reads > 0) d->set_read_request_bytes(16384);
    if (reads > 0) d->set_read_await_ms(2);
    d->set_writes_per_second(0);
    d->set_queue_size(reads * 0.002);
    d->set_busy_ratio(0.5);
    return d;
  }

 private:
  int number_ = 0;
};

std::vector<std::string> NamesOf(const v1::Comparison& c) {
  std::vector<std::string> names;
  for (const v1::ComparedFigure& f : c.observed()) {
    names.push_back(absl::StrCat(f.host(), "/", absl::StrJoin(f.devices(), ">"), " ", f.kind(), " ",
                                 f.figure()));
  }
  return names;
}

const v1::ComparedFigure* ObservedFigureOf(const v1::Comparison& c, const std::string& name) {
  const std::vector<std::string> names = NamesOf(c);
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) return &c.observed(static_cast<int>(i));
  }
  ADD_FAILURE() << name << " is not among " << absl::StrJoin(names, ", ");
  return &v1::ComparedFigure::default_instance();
}

std::string WarningsOf(const v1::Comparison& c) { return absl::StrJoin(c.warnings(), "\n"); }

TEST(ObservedComparisonTest, OneRunEachHasChangesAndProvesNothing) {
  Watch watch;
  v1::RunFigures before = watch.Reads(100);
  v1::KernelReport* kernel = before.mutable_observed(0)->add_kernels();
  kernel->add_hosts("db-1");
  kernel->set_user_ratio(0.1);
  kernel->set_system_ratio(0.2);
  kernel->set_context_switches_per_second(8500);
  v1::RunFigures after = watch.Reads(150);
  *after.mutable_observed(0)->add_kernels() = *kernel;
  after.mutable_observed(0)->mutable_kernels(0)->set_context_switches_per_second(17000);
  const v1::Comparison c = Compare({{"a", {before}}, {"b", {after}}}, 0.05);
  EXPECT_EQ(NamesOf(c), (std::vector<std::string>{
                            "db-1/  cpu", "db-1/  context_switches_per_second",
                            "db-1/sdb>sdb read requests_per_second", "db-1/sdb>sdb read throughput",
                            "db-1/sdb>sdb read request_size", "db-1/sdb>sdb read await",
                            "db-1/sdb>sdb  queue", "db-1/sdb>sdb  busy"}));
  EXPECT_NEAR(ObservedFigureOf(c, "db-1/sdb>sdb read requests_per_second")->values(1).change(), 0.5,
              1e-9);
  EXPECT_NEAR(ObservedFigureOf(c, "db-1/sdb>sdb read await")->values(0).median(), 2e6, 1e-3);
  EXPECT_NEAR(ObservedFigureOf(c, "db-1/  cpu")->values(1).median(), 0.3, 1e-9);
  EXPECT_NEAR(ObservedFigureOf(c, "db-1/  context_switches_per_second")->values(1).change(), 1,
              1e-9);
  EXPECT_FALSE(c.observed_can_tell(0));
  EXPECT_EQ(c.conclusions(0),
            "evening, sdb of db-1: reads/s +50 %, read await 0.0 %: one run each proves nothing; "
            "run each 4 times or more: lockstep rerun watch1, lockstep rerun watch2");
  EXPECT_EQ(WarningsOf(c), "");
  EXPECT_EQ(c.figures_size(), 0) << "a gate judges none of it";
  EXPECT_EQ(c.regressions() + c.missing(), 0u);
}

TEST(ObservedComparisonTest, ManyRunsTellADifferenceFromNoise) {
  Watch watch;
  std::vector<RunSet> sets{{"a", {}}, {"b", {}}};
  for (int i = 0; i < 5; ++i) {
    sets[0].runs.push_back(watch.Reads(100 + i));
    sets[1].runs.push_back(watch.Reads(200 + i));
  }
  const v1::Comparison c = Compare(sets, 0.05);
  ASSERT_TRUE(c.observed_can_tell(0));
  const v1::ComparedFigure* reads = ObservedFigureOf(c, "db-1/sdb>sdb read requests_per_second");
  EXPECT_EQ(reads->values(1).verdict(), v1::CHANGE_DIFFERS);
  EXPECT_LT(reads->values(1).p_value(), 0.05);
  EXPECT_EQ(reads->direction(), v1::DIRECTION_NEITHER);
  EXPECT_FALSE(reads->values(1).regression());
  // The waits did not change.
  const v1::ComparedFigure* await = ObservedFigureOf(c, "db-1/sdb>sdb read await");
  EXPECT_EQ(await->values(1).verdict(), v1::CHANGE_NONE);
  EXPECT_EQ(c.conclusions(0).find("b differs from a in evening, sdb of db-1: reads/s +9"), 0u)
      << c.conclusions(0);
  const std::string text = RenderComparison(c, {.width = 200});
  EXPECT_NE(text.find("a: 5 runs\nagainst b: 5 runs"), std::string::npos) << text;
  EXPECT_NE(text.find("differs"), std::string::npos) << text;
}

TEST(ObservedComparisonTest, WhatNotAllRunsKnowIsNoDifferenceAndNoFinding) {
  Watch watch;
  std::vector<RunSet> sets{{"a", {}}, {"b", {}}};
  for (int i = 0; i < 4; ++i) {
    sets[0].runs.push_back(i == 0 ? watch.Run() : watch.Reads(100 + i));
    sets[1].runs.push_back(watch.Reads(150 + i));
  }
  v1::Comparison c = Compare(sets, 0.05);
  ASSERT_TRUE(c.observed_can_tell(0));
  EXPECT_EQ(c.conclusions(0),
            "not all runs of a and b know the figures of evening, sdb of db-1, so nothing was "
            "tested");
  // What was tested is told, alone.
  for (RunSet& set : sets) {
    for (v1::RunFigures& run : set.runs) {
      v1::KernelReport* kernel = run.mutable_observed(0)->add_kernels();
      kernel->add_hosts("db-1");
      kernel->set_user_ratio(0.2);
    }
  }
  c = Compare(sets, 0.05);
  EXPECT_EQ(c.conclusions(0).find("no difference found between a and b in evening, db-1: cpu "), 0u)
      << c.conclusions(0);
  EXPECT_EQ(c.conclusions(0).find("reads/s"), std::string::npos) << c.conclusions(0);
}

TEST(ObservedComparisonTest, FiguresThatAreZeroInBothSetsWereNotTested) {
  Watch watch;
  std::vector<RunSet> sets{{"a", {}}, {"b", {}}, {"c", {}}};
  for (int i = 0; i < 10; ++i) {
    for (size_t s = 0; s < sets.size(); ++s) {
      v1::RunFigures run = watch.Reads(s == 2 ? 100 + i : 0);
      run.mutable_observed(0)->mutable_devices(0)->set_busy_ratio(0);
      sets[s].runs.push_back(run);
    }
  }
  const v1::Comparison c = Compare(sets, 0.05);
  ASSERT_TRUE(c.observed_can_tell(0));
  EXPECT_EQ(c.conclusions(0), "all figures that a and b have in common are 0");
  EXPECT_EQ(c.conclusions(1).find("c differs from a in evening, sdb of db-1: from 0 to "), 0u)
      << c.conclusions(1);
}

TEST(ObservedComparisonTest, TheSentenceOnDriftIsOfADriftingDevice) {
  Watch watch;
  std::vector<RunSet> sets{{"a", {}}, {"b", {}}};
  // One set after the other, and a device whose reads rise from run to run.
  int made = 0;
  for (RunSet& set : sets) {
    for (int i = 0; i < 6; ++i) {
      v1::RunFigures run = watch.Run();
      Watch::AddDevice("db-1", "sda", "wwn-1", 100 + i, &run);
      Watch::AddDevice("db-1", "sdb", "wwn-2", 100 + 10 * made++, &run);
      set.runs.push_back(run);
    }
  }
  const v1::Comparison c = Compare(sets, 0.05);
  ASSERT_TRUE(
      ObservedFigureOf(c, "db-1/sdb>sdb read requests_per_second")->values(1).may_be_drift());
  ASSERT_FALSE(
      ObservedFigureOf(c, "db-1/sda>sda read requests_per_second")->values(1).may_be_drift());
  EXPECT_EQ(c.conclusions(0).find("the difference between a and b may be drift of the machine: "
                                  "evening, sdb of db-1: reads/s +"),
            0u)
      << c.conclusions(0);
  EXPECT_EQ(c.conclusions(0).find("await"), std::string::npos) << c.conclusions(0);
}

TEST(ObservedComparisonTest, TheSentencesPIsThatOfTheFiguresItShows) {
  Watch watch;
  std::vector<RunSet> sets{{"a", {}}, {"b", {}}};
  for (int i = 0; i < 8; ++i) {
    for (size_t s = 0; s < sets.size(); ++s) {
      v1::RunFigures run = watch.Run();
      // In the first runs sda does not differ, sdb in all.
      const double more = s == 1 && i >= 3 ? 30 : 0;
      Watch::AddDevice("db-1", "sda", "wwn-1", 100 + 2 * (i % 4) + more, &run);
      Watch::AddDevice("db-1", "sdb", "wwn-2", 100 + i + 200.0 * static_cast<double>(s), &run);
      sets[s].runs.push_back(run);
    }
  }
  const v1::Comparison c = Compare(sets, 0.05);
  double shown = 1, other = 1;
  for (const v1::ComparedFigure& figure : c.observed()) {
    if (figure.values(1).verdict() != v1::CHANGE_DIFFERS) continue;
    const bool is_shown = figure.devices(0) == "sda" && figure.figure() == "requests_per_second";
    double& least = is_shown ? shown : other;
    least = std::min(least, figure.values(1).p_value());
  }
  const std::string p = absl::StrFormat("; by chance with p = %.2g", shown);
  ASSERT_NE(p, absl::StrFormat("; by chance with p = %.2g", other));
  EXPECT_NE(c.conclusions(0).find("in evening, sda of db-1: reads/s +"), std::string::npos)
      << c.conclusions(0);
  EXPECT_NE(c.conclusions(0).find(p), std::string::npos) << c.conclusions(0);
}

TEST(ObservedComparisonTest, ADeviceIsTheSameByItsIdentityNotByItsName) {
  Watch watch;
  v1::RunFigures before = watch.Run();
  Watch::AddDevice("db-1", "sdb", "wwn-1", 100, &before);
  Watch::AddDevice("db-1", "sdc", "wwn-2", 200, &before);
  Watch::AddDevice("db-1", "sdd", "", 300, &before);
  v1::RunFigures after = watch.Run();
  Watch::AddDevice("db-1", "sdb", "wwn-2", 400, &after);  // its name was another's
  Watch::AddDevice("db-1", "sdc", "wwn-3", 500, &after);
  Watch::AddDevice("db-1", "sdd", "wwn-4", 600, &after);  // known in one of the runs
  const v1::Comparison c = Compare({{"a", {before}}, {"b", {after}}}, 0.05);
  const auto reads = [&](const std::string& devices) {
    const auto* f =
        ObservedFigureOf(c, absl::StrCat("db-1/", devices, " read requests_per_second"));
    return std::vector<double>{f->values(0).median(), f->values(1).median()};
  };
  EXPECT_EQ(reads("sdc>sdb"), (std::vector<double>{200, 400}));
  EXPECT_EQ(reads("sdd>sdd"), (std::vector<double>{300, 600}));
  EXPECT_EQ(reads("sdb>-"), (std::vector<double>{100, 0}));
  EXPECT_EQ(reads("->sdc"), (std::vector<double>{0, 500}));
  EXPECT_EQ(WarningsOf(c),
            "observed in a and not in b: evening db-1/sdb (wwn-1)\n"
            "observed in b and not in a: evening db-1/sdc (wwn-3)");
  const std::string text = RenderComparison(c, {.width = 200});
  EXPECT_NE(text.find("sdc → sdb"), std::string::npos) << text;
  const std::string markdown = RenderMarkdown(c);
  EXPECT_NE(markdown.find("read await"), std::string::npos) << markdown;
}

TEST(ObservedComparisonTest, PathsOfALunAreMatchedByNameAndIdentity) {
  Watch watch;
  std::vector<RunSet> sets{{"a", {watch.Run()}}, {"b", {watch.Run()}}};
  double reads = 100;
  for (RunSet& set : sets) {
    for (const char* name : {"dm-0", "sda", "sdb"}) {
      v1::DeviceReport* d = Watch::AddDevice("db-1", name, "wwn-1", reads++, &set.runs[0]);
      d->set_nested(name[0] == 's');
    }
  }
  // The multipath device has another number, and is the same device.
  sets[1].runs[0].mutable_observed(0)->mutable_devices(0)->set_name("dm-3");
  const v1::Comparison c = Compare(sets, 0.05);
  double expected = 100;
  for (const char* devices : {"dm-0>dm-3", "sda>sda", "sdb>sdb"}) {
    const auto* f =
        ObservedFigureOf(c, absl::StrCat("db-1/", devices, " read requests_per_second"));
    EXPECT_EQ(f->values(0).median(), expected) << devices;
    EXPECT_EQ(f->values(1).median(), expected + 3) << devices;
    ++expected;
  }
  EXPECT_EQ(WarningsOf(c), "");
}

TEST(ObservedComparisonTest, PhasesAndHostsOfOneSideAreNamed) {
  Watch watch;
  v1::RunFigures before = watch.Reads(100);
  Watch::AddDevice("db-2", "sdb", "wwn-9", 100, &before);
  v1::RunFigures after = watch.Reads(100);
  v1::ObservedPhaseOfRun* night = after.add_observed();
  *night = after.observed(0);
  night->set_name("night");
  const v1::Comparison c = Compare({{"a", {before}}, {"b", {after}}}, 0.05);
  EXPECT_EQ(WarningsOf(c),
            "observed in a and not in b: host evening db-2\n"
            "observed in b and not in a: phase night");
}

TEST(ObservedComparisonTest, LoadsAreJudgedAsWithoutObservePhases) {
  ComparedRuns runs(3);
  std::vector<RunSet> sets{runs.Set("a", 5), runs.Set("b", 5, 0.2)};
  const v1::Comparison alone = Compare(sets, 0.05);
  Watch watch;
  for (RunSet& set : sets) {
    for (v1::RunFigures& run : set.runs) *run.mutable_observed() = watch.Reads(100).observed();
  }
  // It observes alone, and must not make the others' figures those of some runs.
  sets[1].runs.push_back(watch.Reads(100));
  const v1::Comparison c = Compare(sets, 0.05);
  EXPECT_EQ(c.regressions(), alone.regressions());
  EXPECT_EQ(c.missing(), 0u);
  ASSERT_EQ(c.figures_size(), alone.figures_size());
  for (int i = 0; i < c.figures_size(); ++i) {
    EXPECT_EQ(c.figures(i).DebugString(), alone.figures(i).DebugString());
  }
  EXPECT_EQ(c.conclusions(0), alone.conclusions(0));
  EXPECT_EQ(c.sets(1).runs_size(), 5);
  EXPECT_EQ(c.sets(1).observed_runs_size(), 6);
  EXPECT_NE(WarningsOf(c).find("is left out: it has no phase with load"), std::string::npos);
  const std::string text = RenderComparison(c, {.width = 200});
  EXPECT_NE(text.find("\nobserved: "), std::string::npos) << text;
}

TEST(ObservedComparisonTest, ARunWithoutItsPhasesIsWarnedOfAndLeavesTheOthers) {
  Watch watch;
  v1::RunFigures unread = watch.Run();
  unread.clear_observed();
  RunSet before{"a", {watch.Reads(100), unread}};
  before.warnings = {"run watch1: its observe phases cannot be read: no report"};
  const v1::Comparison c = Compare({before, {"b", {watch.Reads(150)}}}, 0.05);
  EXPECT_EQ(WarningsOf(c).find("run watch1: its observe phases cannot be read: no report\n"), 0u)
      << WarningsOf(c);
  EXPECT_EQ(c.sets(0).observed_runs_size(), 1);
  EXPECT_EQ(c.conclusions(0).find("evening, sdb of db-1: reads/s +50 %"), 0u) << c.conclusions(0);
}

TEST(ObservedComparisonTest, ALoadWithoutFiguresYetIsNotOnlyObserved) {
  Watch watch;
  v1::RunFigures early = watch.Reads(100);
  early.set_has_load(true);
  const v1::Comparison c = Compare({{"a", {early}}, {"b", {watch.Reads(150)}}}, 0.05);
  EXPECT_TRUE(c.has_load());
  EXPECT_NE(WarningsOf(c).find("run watch1 of a is left out: the figures of its load are not made"),
            std::string::npos)
      << WarningsOf(c);
  EXPECT_EQ(c.conclusions(0), "no run of a can be compared");
  EXPECT_EQ(c.observed_conclusions(0).find("evening, sdb of db-1: "), 0u);
  EXPECT_FALSE(Compare({{"a", {watch.Reads(1)}}, {"b", {watch.Reads(2)}}}, 0.05).has_load());
}

TEST(ObservedComparisonTest, AReportGivesThePhasesThatEndedWell) {
  v1::Report report;
  for (const char* state : {"done", "failed"}) {
    v1::PhaseReport* phase = report.add_phases();
    phase->set_name(state);
    phase->set_state(state);
    phase->mutable_observed()->mutable_total()->set_devices(2);
    phase->add_devices()->set_name("sdb");
  }
  v1::PhaseReport* load = report.add_phases();
  load->set_state("done");
  load->add_devices()->set_name("sdb");
  v1::RunFigures run;
  AddObservedPhases(report, &run);
  ASSERT_EQ(run.observed_size(), 1);
  EXPECT_EQ(run.observed(0).name(), "done");
  EXPECT_EQ(run.observed(0).devices(0).name(), "sdb");
  EXPECT_EQ(run.observed(0).total().devices(), 2u);
}

}  // namespace
}  // namespace lockstep::controller
