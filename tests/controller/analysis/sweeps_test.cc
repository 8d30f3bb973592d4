// Along a rate the knee is the last one that is served.

#include "controller/analysis/sweeps.h"

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "controller/analysis/sweep_points.h"
#include "controller/plan/target_axes.h"
#include "gtest/gtest.h"

namespace lockstep::controller {
namespace {

// The result of a workload; `due` is 0 where it is no open loop. Of its I/Os `reads` are reads.
struct Came {
  double due, iops;
  double reads = 0;
};

constexpr double kBytesOfIo = 4096;

void SetRates(double iops, v1::OperationReport* operation) {
  operation->set_iops(iops);
  operation->set_bytes_per_second(kBytesOfIo * iops);
}

// A sweep of `load` along `field`: a run for each of four values.
v1::SweepReport SweepAlong(const std::string& field, const v1::RunPhase& load,
                           const std::function<std::vector<Came>(double value)>& came_at,
                           const std::vector<uint32_t>& values = {100, 200, 300, 400},
                           const std::string& unit = "") {
  measure::RunData data;
  v1::RunPhase* run = data.run.job.add_phases()->mutable_run();
  *run = load;
  v1::SweepAxis* axis = run->mutable_sweep()->add_axes();
  axis->set_field(field);
  v1::Report report;
  for (uint32_t step = 0; step < 4; ++step) {
    const uint32_t value = values.at(step);
    axis->add_values(absl::StrCat(value, unit));
    measure::PhaseData& phase = data.phases.emplace_back();
    phase.phase.phase = step;
    phase.phase.step = step;
    v1::PhaseReport* out = report.add_phases();
    out->set_index(step);
    out->set_state(measure::Text(measure::PhaseState::kDone));
    for (const Came& came : came_at(value)) {
      v1::WorkloadReport* workload = out->add_workloads();
      workload->set_due_per_second(came.due);
      SetRates(came.iops, workload->mutable_total());
      SetRates(out->total().iops() + came.iops, out->mutable_total());
      if (!(came.reads > 0)) continue;
      v1::OperationReport* reads = workload->add_operations();
      reads->set_kind("read");
      SetRates(came.reads, reads);
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

// The rate of a storage that manages 250.
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

TEST(SweepsTest, AnAxisThatGoesDownHasTheKneeOfTheOneThatGoesUp) {
  const auto came = [](double limit) -> std::vector<Came> { return {{0, Managed(limit)}}; };
  EXPECT_EQ(LastServedOf(SweepAlong("max_iops", LoadsOf(1), came, {400, 300, 200, 100})), "200");
  const v1::SweepReport sweep = SweepAlong("threads", LoadsOf(1), came, {400, 300, 200, 100});
  ASSERT_TRUE(IsOfBend(sweep)) << sweep.DebugString();
  ASSERT_EQ(sweep.axes(0).numbers_size(), 4);
  EXPECT_EQ(sweep.axes(0).numbers(0), 400);
  EXPECT_EQ(sweep.knees(0).value(),
            SweepAlong("threads", LoadsOf(1), came, {100, 200, 300, 400}).knees(0).value());
  const v1::SweepReport mixed = SweepAlong("threads", LoadsOf(1), came, {100, 300, 200, 400});
  EXPECT_EQ(mixed.axes(0).numbers_size(), 0);
  ASSERT_EQ(mixed.without_knee_size(), 1);
  EXPECT_EQ(mixed.without_knee(0),
            "no knee: the values of threads are not numbers in ascending or descending order");
}

TEST(SweepsTest, WhatALimitServedIsOfItsOwnWorkload) {
  const auto beside = [](double limit) -> std::vector<Came> {
    return {{0, Managed(limit)}, {0, 5000}};
  };
  const v1::SweepReport sweep = SweepAlong("workloads.0.max_iops", LoadsOf(2), beside);
  EXPECT_EQ(LastServedOf(sweep), "200") << sweep.DebugString();
  EXPECT_TRUE(absl::StrContains(sweep.knees(0).reason(), "of 300 only 250 IOPS are"))
      << sweep.knees(0).reason();
  // A limit of each workload is due of all of them together.
  const auto both = [](double limit) -> std::vector<Came> {
    return {{0, std::min(limit, 140.0)}, {0, std::min(limit, 140.0)}};
  };
  EXPECT_EQ(LastServedOf(SweepAlong("max_iops", LoadsOf(2), both)), "100");
}

// 25 to 400 of a capacity of 150 are logarithmic by their span, and the IOPS bend at 200.
TEST(SweepsTest, ALimitOfBytesOrOfOneDirectionIsARate) {
  const std::vector<uint32_t> values{25, 50, 100, 400};
  const auto bytes = [](double mib) -> std::vector<Came> {
    const double iops = std::min(mib, 150.0) * 1048576 / kBytesOfIo;
    return {{0, iops, iops}};
  };
  v1::SweepReport sweep = SweepAlong("max_throughput", LoadsOf(1), bytes, values, "MiB");
  EXPECT_EQ(LastServedOf(sweep), "100MiB") << sweep.DebugString();
  EXPECT_TRUE(absl::StrContains(sweep.knees(0).reason(),
                                "served: 100 MiB/s (too few I/Os for a p99); of 400MiB only 150 "
                                "MiB/s are"))
      << sweep.knees(0).reason();
  EXPECT_EQ(sweep.conclusion().figure(), "p99");
  sweep = SweepAlong("workloads.0.read_limit.throughput", LoadsOf(1), bytes, values, "MiB/s");
  EXPECT_EQ(LastServedOf(sweep), "100MiB/s") << sweep.DebugString();
  EXPECT_TRUE(absl::StrContains(sweep.knees(0).reason(), "only 150 MiB/s of reads are"));
  EXPECT_EQ(sweep.conclusion().figure(), "p99");
  // The writes beside the reads are not what the limit is of.
  const auto reads = [](double limit) -> std::vector<Came> {
    return {{0, 9000, std::min(limit, 150.0)}};
  };
  sweep = SweepAlong("read_limit.iops", LoadsOf(1), reads, values);
  EXPECT_EQ(LastServedOf(sweep), "100") << sweep.DebugString();
  EXPECT_TRUE(absl::StrContains(sweep.knees(0).reason(), "of 400 only 150 reads/s are"));
  sweep = SweepAlong("write_limit.iops", LoadsOf(1), reads, values);
  EXPECT_EQ(sweep.knees_size(), 0);
  EXPECT_EQ(sweep.without_knee(0), "no knee: it is not known what of each rate was served");
}

TEST(SweepsTest, CountsOfARateAreDecimal) {
  // Of 1,024 or 1,048,576 it would be too little.
  const auto millions = [](double limit) -> std::vector<Came> {
    return {{0, 1e6 * std::min(limit, 3.2)}};
  };
  EXPECT_EQ(LastServedOf(SweepAlong("max_iops", LoadsOf(1), millions, {1, 2, 3, 4}, "M")), "3M");
  const auto thousands = [](double limit) -> std::vector<Came> {
    return {{0, 990 * std::min(limit, 3.2)}};
  };
  EXPECT_EQ(LastServedOf(SweepAlong("max_iops", LoadsOf(1), thousands, {1, 2, 3, 4}, "k")), "3k");
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
  // The IOPS bend at a rate that is not served.
  EXPECT_EQ(sweep().knees_size(), 0) << sweep().DebugString();
  EXPECT_TRUE(absl::StrContains(sweep().without_knee(0), "the rate changes while a point runs"));
}

TEST(SweepsTest, WhereItIsNotKnownWhatWasDueARateHasNoKnee) {
  const v1::SweepReport sweep =
      SweepAlong("open_loop.rate", LoadsOf(1), [](double rate) -> std::vector<Came> {
        return {{0, Managed(rate)}};
      });
  EXPECT_EQ(sweep.knees_size(), 0) << sweep.DebugString();
  EXPECT_EQ(sweep.without_knee(0), "no knee: it is not known what of each rate was served");
}

TEST(SweepsTest, APointHasTheRangesOfItsRuns) {
  RunsOfPoint runs;
  for (const double p99 : {5e6, 1e6, 3e6}) {
    runs.iops.push_back(1e9 / p99);
    runs.bytes.push_back(1);
    runs.p99.push_back(p99);
  }
  const v1::SweepPointReport three = SweepPointOf({0}, runs);
  EXPECT_EQ(three.p99_ns(), 3e6);
  EXPECT_EQ(three.p99_min_ns(), 1e6);
  EXPECT_EQ(three.p99_max_ns(), 5e6);
  EXPECT_FALSE(three.has_p99_low_ns() || three.has_iops_low());
  for (const double p99 : {2e6, 4e6, 6e6}) {
    runs.iops.push_back(1e9 / p99);
    runs.bytes.push_back(1);
    runs.p99.push_back(p99);
  }
  const v1::SweepPointReport six = SweepPointOf({0}, runs);
  ASSERT_TRUE(six.has_p99_low_ns() && six.has_p99_high_ns());
  EXPECT_LE(six.p99_low_ns(), six.p99_ns());
  EXPECT_GE(six.p99_high_ns(), six.p99_ns());
  // Too few I/Os for a percentile in any of them.
  runs.p99.clear();
  EXPECT_FALSE(SweepPointOf({0}, runs).has_p99_max_ns());
}

// As of a load that ended in its ramp.
TEST(SweepsTest, ARoundWithoutARateIsNoRoundOfZero) {
  const v1::SweepReport sweep = SweepAlong("threads", LoadsOf(1), [](double value) {
    return value == 100 ? std::vector<Came>() : std::vector<Came>{{0, value}};
  });
  ASSERT_EQ(sweep.points_size(), 4);
  EXPECT_EQ(sweep.points(0).runs(), 0u);
  EXPECT_FALSE(sweep.points(0).has_iops() || sweep.points(0).has_iops_min());
  EXPECT_EQ(sweep.points(0).comparison().reason(), "it has no whole round");
  EXPECT_EQ(sweep.points(1).runs(), 1u);
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

// Two hosts, on each of which a job has files that its sweep varies, and a device.
measure::RunData VariedFiles() {
  measure::RunData data;
  v1::JobSpec& job = data.run.job;
  job.set_name("series");
  v1::Target* files = job.add_targets();
  files->set_name("files");
  files->mutable_file()->set_path("/data/{host}.{file}");
  files->mutable_file()->set_size_bytes(1 << 20);
  job.add_targets()->set_name("disk");
  job.mutable_targets(1)->mutable_device()->set_path("/dev/sda");
  v1::RunPhase* run = job.add_phases()->mutable_run();
  run->set_duration_ns(1000000000);
  v1::Workload* workload = run->add_workloads();
  workload->add_targets("files");
  workload->set_block_size_bytes(4096);
  v1::SweepAxis* axis = run->mutable_sweep()->add_axes();
  axis->set_field("targets.files.file.count");
  for (const char* value : {"16", "1"}) axis->add_values(value);
  EXPECT_TRUE(ExpandTargets(&job).empty());
  for (uint32_t w = 0; w < 2; ++w) {
    measure::RunWorker& worker = data.workers.emplace_back();
    worker.worker_index = w;
    worker.host = absl::StrCat("node", w);
    for (uint32_t t = 0; t < 3; ++t) {
      v1::TargetInspection* found = worker.inspection.add_targets();
      found->set_target(t);
      found->add_paths("/data/files.0");
      found->set_path_count(t == 0 ? 16 : 1);
      found->set_size_bytes((t == 0 ? 16 : 1) << 20);
      // The host's own disk, on which the files lie.
      found->set_device_identity(absl::StrCat("naa.", w));
    }
  }
  return data;
}

TEST(SweptTargetsTest, ATargetThatVariesIsThereWithEachOfItsValues) {
  measure::RunData data = VariedFiles();
  ASSERT_EQ(data.run.job.targets_size(), 3);
  // A message that names a target that the job has not is no reason to fail.
  data.workers[1].inspection.add_targets()->set_target(7);
  v1::Report report;
  AddSweeps(data, &report);
  ASSERT_EQ(report.sweeps_size(), 1);
  const auto& targets = report.sweeps(0).targets();
  ASSERT_EQ(targets.size(), 2) << report.sweeps(0).DebugString();
  EXPECT_EQ(targets[0].name(), "files file.count=16");
  EXPECT_EQ(targets[0].files(), 16u);
  EXPECT_DOUBLE_EQ(targets[0].size_bytes(), 16 << 20);
  EXPECT_EQ(targets[0].other_hosts(), 0u) << "the files have the same path on both";
  EXPECT_EQ(targets[1].name(), "files file.count=1");
  EXPECT_EQ(targets[1].files(), 1u);
  EXPECT_EQ(targets[1].path(), "/data/files.0");
}

TEST(SweptTargetsTest, VariantsOfAnotherSweepAreNotThisOnes) {
  measure::RunData data = VariedFiles();
  v1::JobSpec& job = data.run.job;
  v1::RunPhase* other = job.add_phases()->mutable_run();
  *other = job.phases(0).run();
  other->mutable_sweep()->clear_prepare();
  other->mutable_sweep()->mutable_axes(0)->clear_values();
  other->mutable_sweep()->mutable_axes(0)->add_values("4");
  ASSERT_TRUE(ExpandTargets(&job).empty());
  v1::Report report;
  AddSweeps(data, &report);
  ASSERT_EQ(report.sweeps_size(), 2);
  EXPECT_EQ(report.sweeps(0).targets_size(), 2);
  ASSERT_EQ(report.sweeps(1).targets_size(), 1);
  EXPECT_EQ(report.sweeps(1).targets(0).name(), "files file.count=4");
}

}  // namespace
}  // namespace lockstep::controller
