// Along a rate the knee is the last one that is served.

#include "controller/analysis/sweeps.h"

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace lockstep::controller {
namespace {

// What came of a workload; `due` is 0 where it is no open loop.
struct Came {
  double due, iops;
};

// A sweep of `load` along `field`, from 100 to 400: a run for each value.
v1::SweepReport SweepAlong(const std::string& field, const v1::RunPhase& load,
                           const std::function<std::vector<Came>(double value)>& came_at) {
  measure::RunData data;
  v1::RunPhase* run = data.run.job.add_phases()->mutable_run();
  *run = load;
  v1::SweepAxis* axis = run->mutable_sweep()->add_axes();
  axis->set_field(field);
  v1::Report report;
  for (uint32_t step = 0; step < 4; ++step) {
    const uint32_t value = 100 * (step + 1);
    axis->add_values(absl::StrCat(value));
    measure::PhaseData& phase = data.phases.emplace_back();
    phase.phase.phase = step;
    phase.phase.step = step;
    v1::PhaseReport* out = report.add_phases();
    out->set_index(step);
    out->set_state(measure::Text(measure::PhaseState::kDone));
    for (const Came& came : came_at(value)) {
      v1::WorkloadReport* workload = out->add_workloads();
      workload->set_due_per_second(came.due);
      workload->mutable_total()->set_iops(came.iops);
      out->mutable_total()->set_iops(out->total().iops() + came.iops);
    }
  }
  AddSweeps(data, &report);
  EXPECT_EQ(report.sweeps_size(), 1);
  return report.sweeps(0);
}

// The last rate that is served; empty where rates were not looked at, or there is none such.
std::string LastServedOf(const v1::SweepReport& sweep) {
  for (const v1::KneeReport& knee : sweep.knees()) {
    if (absl::StrContains(knee.reason(), "is the last rate that is served")) return knee.value();
  }
  return "";
}

// Whether the knee is where the IOPS bend.
bool IsOfBend(const v1::SweepReport& sweep) {
  return sweep.knees_size() == 1 &&
         absl::StrContains(sweep.knees(0).reason(), "% of the most IOPS");
}

v1::RunPhase LoadsOf(int workloads) {
  v1::RunPhase load;
  for (int i = 0; i < workloads; ++i) load.add_workloads()->set_name(absl::StrCat("w", i));
  return load;
}

// What storage does of a rate that manages 250.
double Managed(double rate) { return std::min(rate, 250.0); }

TEST(SweepsTest, OfARateOnlyTheWorkloadsThatHaveOneAreServed) {
  const v1::SweepReport sweep =
      SweepAlong("workloads.0.open_loop.rate", LoadsOf(2), [](double rate) -> std::vector<Came> {
        return {{rate, Managed(rate)}, {0, 10000}};
      });
  EXPECT_EQ(LastServedOf(sweep), "200") << sweep.DebugString();
}

TEST(SweepsTest, ALimitSaysItselfWhatIsDue) {
  EXPECT_EQ(LastServedOf(SweepAlong("max_iops", LoadsOf(1),
                                    [](double limit) -> std::vector<Came> {
                                      return {{0, Managed(limit)}};
                                    })),
            "200");
  // Also where an open loop asks for more all the time.
  EXPECT_EQ(LastServedOf(SweepAlong("max_iops", LoadsOf(1),
                                    [](double limit) -> std::vector<Came> {
                                      return {{1000, Managed(limit)}};
                                    })),
            "200");
}

TEST(SweepsTest, WhatALimitServedCannotBeToldFromWhatElseRan) {
  const v1::SweepReport sweep =
      SweepAlong("workloads.0.max_iops", LoadsOf(2), [](double limit) -> std::vector<Came> {
        return {{0, Managed(limit)}, {0, 50}};
      });
  EXPECT_EQ(LastServedOf(sweep), "") << sweep.DebugString();
  EXPECT_TRUE(IsOfBend(sweep)) << sweep.DebugString();
}

TEST(SweepsTest, OfARateThatChangesNothingIsSaidToBeServed) {
  v1::RunPhase load = LoadsOf(1);
  const auto sweep = [&] {
    return SweepAlong("open_loop.rate", load, [](double rate) -> std::vector<Came> {
      return {{rate, Managed(rate)}};
    });
  };
  load.mutable_workloads(0)->mutable_open_loop()->set_ramp_to_ratio(1);
  EXPECT_EQ(LastServedOf(sweep()), "200") << sweep().DebugString();
  load.mutable_workloads(0)->mutable_open_loop()->set_ramp_to_ratio(2);
  EXPECT_EQ(LastServedOf(sweep()), "") << sweep().DebugString();
  EXPECT_TRUE(IsOfBend(sweep())) << sweep().DebugString();
}

TEST(SweepsTest, WhereItIsNotKnownWhatWasDueTheIOPSBend) {
  const v1::SweepReport sweep =
      SweepAlong("open_loop.rate", LoadsOf(1), [](double rate) -> std::vector<Came> {
        return {{0, Managed(rate)}};
      });
  EXPECT_EQ(LastServedOf(sweep), "") << sweep.DebugString();
  EXPECT_TRUE(IsOfBend(sweep)) << sweep.DebugString();
}

TEST(SweepsTest, OnlyWholeRoundsAfterTheWarmUpAreCompared) {
  measure::RunData data;
  v1::RunPhase* run = data.run.job.add_phases()->mutable_run();
  *run = LoadsOf(1);
  v1::SweepAxis* axis = run->mutable_sweep()->add_axes();
  axis->set_field("threads");
  axis->add_values("1");
  axis->add_values("2");
  run->mutable_sweep()->set_repeat(5);
  run->mutable_sweep()->set_warm_up(1);
  v1::Report report;
  for (uint32_t step = 0; step < 10; ++step) {
    const bool failed = step == 5;  // of the second point, in the third round
    measure::PhaseData& phase = data.phases.emplace_back();
    phase.phase.phase = step;
    phase.phase.step = step;
    v1::PhaseReport* out = report.add_phases();
    out->set_index(step);
    out->set_state(
        measure::Text(failed ? measure::PhaseState::kFailed : measure::PhaseState::kDone));
    // The device gets slower in each round, and the warm-up and what failed would turn the result.
    const bool second = step % 2 == 1;
    const uint32_t round = step / 2;
    const double iops = (second ? 1200 : 1000) - 50.0 * round;
    out->mutable_total()->set_iops(failed || (step < 2 && second) ? 1 : iops);
  }
  AddSweeps(data, &report);
  const v1::SweepReport& sweep = report.sweeps(0);
  EXPECT_EQ(sweep.points(1).comparison().standing(), v1::STANDING_BEST);
  EXPECT_EQ(sweep.points(1).comparison().rounds(), 3u);
  EXPECT_EQ(sweep.points(0).comparison().standing(), v1::STANDING_WORSE);
  EXPECT_EQ(sweep.points(0).comparison().rounds(), 3u);
  EXPECT_EQ(sweep.conclusion().rounds(), 3u);
  EXPECT_TRUE(absl::StartsWith(sweep.conclusion().sentence(), "threads=2 reaches"))
      << sweep.conclusion().sentence();
}

}  // namespace
}  // namespace lockstep::controller
