#include "controller/plan/target_axes.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "controller/plan/next_phase.h"
#include "controller/plan/selection.h"
#include "controller/plan/settle.h"
#include "controller/plan/sweep.h"
#include "controller/plan/validate.h"
#include "gtest/gtest.h"
#include "tests/controller/plan/plan_job.h"

namespace lockstep::controller {
namespace {

void AddAxis(const std::string& field, const std::vector<std::string>& values, v1::Sweep* sweep) {
  v1::SweepAxis* axis = sweep->add_axes();
  axis->set_field(field);
  for (const std::string& value : values) axis->add_values(value);
}

// The series over the number of files, with the same total.
v1::JobSpec Series() {
  v1::JobSpec job;
  job.set_name("series");
  v1::Target* files = job.add_targets();
  files->set_name("files");
  files->mutable_file()->set_path("/data/{host}.{file}");
  files->mutable_file()->set_total_size_bytes(1 << 20);
  v1::PhaseSpec* phase = job.add_phases();
  phase->set_name("read");
  phase->mutable_run()->set_duration_ns(1000000000);
  phase->mutable_run()->add_workloads()->set_block_size_bytes(16384);
  AddAxis("targets.files.file.count", {"16", "3", "1"}, phase->mutable_run()->mutable_sweep());
  return job;
}

std::string Said(v1::JobSpec job) {
  std::string said;
  for (const v1::Problem& problem : SettleJob(&job)) {
    absl::StrAppend(&said, problem.path(), ": ", problem.message(), "\n");
  }
  return said;
}

// The steps of a run, of which the first `whole` are done and the others do not come; then those
// that clean up.
std::vector<std::string> StepsOf(const v1::JobSpec& job, size_t whole = SIZE_MAX) {
  std::vector<StepResult> results;
  std::vector<std::string> names;
  while (true) {
    const auto next =
        NextPhase(job, results, results.size() >= whole ? Remaining::kCleanup : Remaining::kAll);
    EXPECT_TRUE(next.ok());
    if (!next.ok() || !next->has_value()) return names;
    names.push_back((*next)->spec.name());
    StepResult result{.job_phase = (*next)->job_phase,
                      .step = (*next)->step,
                      .name = (*next)->spec.name(),
                      .done = true};
    results.push_back(result);
  }
}

TEST(TargetAxesTest, AProblemOfAPointNamesItsField) {
  v1::JobSpec job = Series();
  v1::RunPhase* run = job.mutable_phases(0)->mutable_run();
  run->clear_sweep();
  AddAxis("duration", {"2h", "2s"}, run->mutable_sweep());
  run->set_duration_ns(7200000000000);
  run->mutable_until_steady();
  const std::string said = Said(job);
  EXPECT_NE(said.find("run.sweep: at duration=2s: until_steady cannot be reached"),
            std::string::npos)
      << said;
}

TEST(TargetAxesTest, ASteadyLoadHasARangeBelowItsWholeMean) {
  v1::JobSpec job = Series();
  v1::SteadyState* steady = job.mutable_phases(0)->mutable_run()->mutable_until_steady();
  job.mutable_phases(0)->mutable_run()->set_duration_ns(7200000000000);
  steady->set_range_ratio(0.99);
  EXPECT_EQ(Said(job).find("until_steady.range"), std::string::npos) << Said(job);
  steady->set_range_ratio(1);
  EXPECT_NE(Said(job).find("until_steady.range: must be below 100%"), std::string::npos)
      << Said(job);
}

TEST(TargetAxesTest, AProblemOfThePhaseIsNotToldAgainOfAPoint) {
  v1::JobSpec job = Series();
  v1::RunPhase* run = job.mutable_phases(0)->mutable_run();
  run->clear_sweep();
  AddAxis("duration", {"1s", "2s"}, run->mutable_sweep());
  run->mutable_workloads(0)->add_targets("nowhere");
  EXPECT_EQ(Said(job), "phases[0].run.workloads[0].targets[0]: no target is named 'nowhere'\n");
  // A problem of a later point's own is told beside it.
  AddAxis("engine", {"io_uring", "sync"}, run->mutable_sweep());
  run->mutable_workloads(0)->set_queue_depth(4);
  const std::string said = Said(job);
  EXPECT_NE(said.find("engine=sync: workloads[0].queue_depth this engine has one I/O in flight"),
            std::string::npos)
      << said;
  EXPECT_EQ(said.find("nowhere"), said.rfind("nowhere")) << said;
}

TEST(TargetAxesTest, EachValueGivesATargetOfItsOwn) {
  v1::JobSpec job = Series();
  ASSERT_EQ(Said(job), "");
  SettleJob(&job);
  ASSERT_EQ(job.targets_size(), 3);
  EXPECT_EQ(job.targets(0).name(), "files file.count=16");
  EXPECT_EQ(job.targets(2).variant_of(), "files");
  EXPECT_EQ(job.targets(0).file().count(), 16u);
  EXPECT_EQ(job.targets(0).file().size_bytes(), 65536);
  // 349,525 bytes for each: 21 blocks of 16 KiB.
  EXPECT_EQ(job.targets(1).file().size_bytes(), 21 * 16384);
  EXPECT_EQ(job.targets(2).file().size_bytes(), 1 << 20);
  const v1::JobSpec once = job;
  EXPECT_TRUE(SettleJob(&job).empty());
  EXPECT_EQ(job.SerializeAsString(), once.SerializeAsString());
}

TEST(TargetAxesTest, EachPointMakesItsFilesAndRemovesThem) {
  v1::JobSpec job = Series();
  job.mutable_phases(0)->mutable_run()->mutable_sweep()->set_repeat(2);
  ASSERT_TRUE(SettleJob(&job).empty());
  const std::vector<std::string> steps = StepsOf(job);
  ASSERT_EQ(steps.size(), 18u);
  EXPECT_EQ(steps[0], "read targets.files.file.count=16, prepare");
  EXPECT_EQ(steps[1], "read targets.files.file.count=16");
  EXPECT_EQ(steps[2], "read targets.files.file.count=16, cleanup");
  EXPECT_EQ(steps[17], "read targets.files.file.count=1 (2), cleanup");
  const v1::JobSpec all = Unrolled(job);
  EXPECT_EQ(all.phases(3).prepare().targets(0), "files file.count=3");
  EXPECT_EQ(all.phases(4).run().workloads(0).targets(0), "files file.count=3");
  EXPECT_EQ(all.phases(5).cleanup().targets(0), "files file.count=3");
  for (const TargetUse& use : UseOfTargets(job)) EXPECT_TRUE(use.prepared);
  EXPECT_DOUBLE_EQ(PreparedBytes(job, 4), 2 * 4 * (2.0 * (1 << 20) + 3 * 21 * 16384));
}

// The targets that cleanup removes if only the first `whole` steps have a result: the last step's.
std::vector<std::string> CleanedAfter(const v1::JobSpec& job, size_t whole) {
  const std::vector<std::string> steps = StepsOf(job, whole);
  if (steps.size() == whole) return {};
  EXPECT_EQ(steps.size(), whole + 1);
  const v1::JobSpec all = Unrolled(job);
  for (const v1::PhaseSpec& phase : all.phases()) {
    if (phase.name() != steps.back()) continue;
    return {phase.cleanup().targets().begin(), phase.cleanup().targets().end()};
  }
  return {};
}

TEST(TargetAxesTest, ARunThatEndsEarlyRemovesTheFilesOfAllPoints) {
  v1::JobSpec job = Series();
  job.mutable_phases(0)->mutable_run()->mutable_sweep()->set_repeat(2);
  ASSERT_TRUE(SettleJob(&job).empty());
  const std::vector<std::string> all = {"files file.count=16", "files file.count=3",
                                        "files file.count=1"};
  // Within a point; between two points, and before the first one, where a preparation may have
  // been void; between two repetitions.
  for (const size_t whole : {5, 6, 0, 9}) EXPECT_EQ(CleanedAfter(job, whole), all) << whole;
  EXPECT_EQ(CleanedAfter(job, 18), std::vector<std::string>());
}

TEST(TargetAxesTest, WhatOthersSayOfVariantsIsNotTaken) {
  v1::JobSpec job = Series();
  v1::Target* forged = job.add_targets();
  *forged = job.targets(0);
  forged->set_name("files file.count=16");
  forged->set_variant_of("files");
  forged->mutable_file()->set_path("/data/others");
  ASSERT_EQ(Said(job), "");
  SettleJob(&job);
  ASSERT_EQ(job.targets_size(), 3);
  for (const v1::Target& target : job.targets()) {
    EXPECT_EQ(target.file().path(), "/data/{host}.{file}");
  }
}

TEST(TargetAxesTest, VariantsAreOneTargetToThoseWhoShareBytes) {
  v1::JobSpec job = Series();
  ASSERT_TRUE(SettleJob(&job).empty());
  EXPECT_EQ(FirstVariantOf(job, 0), 0u);
  EXPECT_EQ(FirstVariantOf(job, 2), 0u);
}

TEST(TargetAxesTest, PointsWithTheSameFilesCanShareThem) {
  v1::JobSpec job = Series();
  v1::Sweep* sweep = job.mutable_phases(0)->mutable_run()->mutable_sweep();
  AddAxis("queue_depth", {"1", "4"}, sweep);
  sweep->set_group(v1::SWEEP_GROUP_FILES);
  sweep->set_order(v1::SWEEP_ORDER_RANDOM);
  sweep->set_repeat(2);
  ASSERT_EQ(Said(job), "");
  SettleJob(&job);
  const std::vector<std::string> steps = StepsOf(job);
  ASSERT_EQ(steps.size(), 2 * 3 * 4u);
  for (size_t i = 0; i < steps.size(); i += 4) {
    const std::string files = steps[i].substr(0, steps[i].find(" queue_depth"));
    EXPECT_NE(steps[i].find(", prepare"), std::string::npos) << steps[i];
    EXPECT_NE(steps[i + 3].find(", cleanup"), std::string::npos) << steps[i + 3];
    for (size_t j = 1; j < 4; ++j) EXPECT_EQ(steps[i + j].find(files), 0u) << steps[i + j];
  }
  EXPECT_TRUE(EndsRepetition(job.phases(0).run().sweep(), 11));
  EXPECT_FALSE(EndsRepetition(job.phases(0).run().sweep(), 10));
}

// Hundreds of steps are asked for one by one, several times over.
TEST(TargetAxesTest, TheStepsOfARepetitionAreMadeOnce) {
  v1::JobSpec job = Series();
  v1::Sweep* sweep = job.mutable_phases(0)->mutable_run()->mutable_sweep();
  std::vector<std::string> depths;
  for (int depth = 1; depth <= 60; ++depth) depths.push_back(absl::StrCat(depth));
  AddAxis("queue_depth", depths, sweep);
  sweep->set_group(v1::SWEEP_GROUP_FILES);
  sweep->set_order(v1::SWEEP_ORDER_RANDOM);
  sweep->set_repeat(3);
  ASSERT_EQ(Said(job), "");
  SettleJob(&job);
  constexpr uint32_t kOnce = 3 * (60 + 2);
  ASSERT_EQ(CountSteps(job), 3 * kOnce);
  SweepSteps steps(job.phases(0).run().sweep());
  for (uint32_t repeat = 0; repeat < 3; ++repeat) {
    // They stand side by side: a step that were made anew would stand elsewhere.
    const SweepStep* first = &steps.At(repeat * kOnce);
    for (uint32_t i = 0; i < kOnce; ++i) {
      ASSERT_EQ(&steps.At(repeat * kOnce + i), first + i);
      ASSERT_EQ(first[i].point.repeat, repeat);
    }
  }
  // The same as one by one, as a run takes them.
  uint32_t step = 0;
  const v1::JobSpec unrolled = Unrolled(job);
  for (const v1::PhaseSpec& phase : unrolled.phases()) {
    const auto& [kind, point] = StepAt(job.phases(0).run().sweep(), step++);
    EXPECT_EQ(phase.has_prepare(), kind == StepKind::kPrepare) << step;
    EXPECT_EQ(phase.has_cleanup(), kind == StepKind::kCleanup) << step;
    EXPECT_EQ(phase.name().find("read " + NameOf(point)), 0u) << phase.name();
  }
  EXPECT_EQ(step, 3 * kOnce);
}

// Files that an earlier run has left would be older than those of the other points.
TEST(TargetAxesTest, EachPointWritesItsFilesAnew) {
  v1::JobSpec job = Series();
  job.add_targets()->set_name("others");
  job.mutable_targets(1)->mutable_file()->set_path("/data/others.{host}");
  job.mutable_targets(1)->mutable_file()->set_size_bytes(1 << 20);
  job.mutable_phases(0)->mutable_run()->mutable_workloads(0)->add_targets("files");
  v1::PhaseSpec* prepare = job.add_phases();
  prepare->mutable_prepare()->add_targets("others");
  ASSERT_EQ(Said(job), "");
  SettleJob(&job);
  int prepared = 0;
  const v1::JobSpec unrolled = Unrolled(job);
  for (const v1::PhaseSpec& phase : unrolled.phases()) {
    if (!phase.has_prepare()) continue;
    ++prepared;
    EXPECT_EQ(phase.prepare().rewrite(), phase.prepare().targets(0) != "others") << phase.name();
  }
  EXPECT_EQ(prepared, 4);
}

TEST(TargetAxesTest, FilesThatLockstepDidNotMakeAreRefused) {
  v1::JobSpec job = Series();
  ASSERT_TRUE(SettleJob(&job).empty());
  PlanWorker worker = Worker("node1");
  for (uint32_t t = 0; t < 3; ++t) {
    v1::TargetInspection* found = worker.inspection.add_targets();
    found->set_target(t);
    found->set_device_name("sda");
    found->add_paths(absl::StrCat("/data/node1.", t));
  }
  EXPECT_TRUE(CheckFleet(job, {worker}, {}).refusals.empty());
  worker.inspection.mutable_targets(1)->add_foreign_files();
  const FleetCheck check = CheckFleet(job, {worker}, {});
  ASSERT_EQ(check.refusals.size(), 1u);
  EXPECT_EQ(check.refusals[0],
            "node1: target files file.count=3: /data/node1.1: Lockstep did not make all of its "
            "files. A sweep makes and removes those that it varies; use a path without other "
            "files");
}

// A precondition phase without a list writes all devices. Those of a sweep cannot be among them,
// and would be measured as they are.
TEST(TargetAxesTest, DevicesThatVaryAreNotSilentlyLeftOut) {
  v1::JobSpec job;
  job.set_name("disks");
  job.add_targets()->set_name("disk");
  job.mutable_targets(0)->mutable_device()->set_path("/dev/sda");
  job.add_phases()->mutable_precondition();
  v1::RunPhase* run = job.add_phases()->mutable_run();
  run->set_duration_ns(1000000000);
  run->add_workloads();
  AddAxis("targets.disk.device.path", {"/dev/sda", "/dev/sdb"}, run->mutable_sweep());
  const std::string said = Said(job);
  EXPECT_NE(said.find("phases[0].precondition.targets[0]: 'disk device.path=/dev/sda' varies in a "
                      "sweep, and is there during its points alone"),
            std::string::npos)
      << said;
  EXPECT_NE(said.find("'disk device.path=/dev/sdb' varies"), std::string::npos) << said;
  // With another device, too, which it could write.
  job.add_targets()->set_name("other");
  job.mutable_targets(1)->mutable_device()->set_path("/dev/sdc");
  run = job.mutable_phases(1)->mutable_run();
  run->mutable_workloads(0)->add_targets("disk");
  EXPECT_NE(Said(job).find("'disk device.path=/dev/sda' varies"), std::string::npos) << Said(job);
}

TEST(TargetAxesTest, TargetsWithoutFilesNeedNoPreparation) {
  v1::JobSpec job;
  job.set_name("latencies");
  job.add_targets()->set_name("n");
  job.mutable_targets(0)->mutable_null();
  v1::PhaseSpec* phase = job.add_phases();
  phase->mutable_run()->set_duration_ns(1000000000);
  phase->mutable_run()->add_workloads()->set_engine(v1::ENGINE_NULL);
  AddAxis("targets.n.null.latency", {"1ms", "2ms"}, phase->mutable_run()->mutable_sweep());
  ASSERT_EQ(Said(job), "");
  SettleJob(&job);
  EXPECT_EQ(StepsOf(job).size(), 2u);
  EXPECT_EQ(job.targets(1).null().latency_ns(), 2000000);
}

TEST(TargetAxesTest, LongValuesGiveNumberedNames) {
  SweepPoint point;
  point.values = {{"targets.f.file.path", std::string(100, 'x') + std::string(100, 'y')}};
  point.indices = {1};
  EXPECT_EQ(TargetAt("f", point), "f #2");
}

TEST(TargetAxesTest, WhatCannotBeIsRefusedInWords) {
  const auto with = [](auto change) {
    v1::JobSpec job = Series();
    change(&job, job.mutable_phases(0)->mutable_run());
    return Said(job);
  };
  const auto axis = [&](const std::string& field, const std::string& value) {
    return with(
        [&](v1::JobSpec*, v1::RunPhase* run) { AddAxis(field, {value}, run->mutable_sweep()); });
  };
  EXPECT_NE(axis("targets.0.file.size", "1MiB").find("no target is named '0'"), std::string::npos);
  EXPECT_NE(with([](v1::JobSpec* job, v1::RunPhase* run) {
              job->mutable_targets(0)->set_name("my.files");
              run->mutable_sweep()->mutable_axes(0)->set_field("targets.my.files.file.count");
            }).find("target 'my.files' cannot be varied, because its name has a dot"),
            std::string::npos);
  EXPECT_NE(axis("targets.files.null.latency", "1ms").find("is no `null`"), std::string::npos);
  EXPECT_NE(axis("targets.files.name", "x").find("no `name`"), std::string::npos);
  EXPECT_NE(axis("targets.files.variant_of", "x").find("no `variant_of`"), std::string::npos);
  EXPECT_NE(axis("targets.files.file.size", "many").find("many"), std::string::npos);
  EXPECT_NE(axis("targets.files.file.size", "1MiB").find("differ; leave one"), std::string::npos);
  EXPECT_NE(with([](v1::JobSpec* job, v1::RunPhase*) {
              job->add_phases()->mutable_cleanup();
            }).find("leave this phase out"),
            std::string::npos);
  EXPECT_NE(with([](v1::JobSpec* job, v1::RunPhase* run) {
              v1::PhaseSpec* other = job->add_phases();
              other->set_name("other");
              *other->mutable_run() = *run;
              other->mutable_run()->clear_sweep();
            }).find("'files' varies in a sweep"),
            std::string::npos);
  EXPECT_NE(with([](v1::JobSpec*, v1::RunPhase* run) {
              run->mutable_workloads(0)->set_verify(true);
            }).find("removes its files"),
            std::string::npos);
  EXPECT_NE(with([](v1::JobSpec* job, v1::RunPhase*) {
              job->mutable_targets(0)->mutable_file()->set_total_size_bytes(65536);
            }).find("gives each of 16 files 4 KiB"),
            std::string::npos)
      << with([](v1::JobSpec* job, v1::RunPhase*) {
           job->mutable_targets(0)->mutable_file()->set_total_size_bytes(65536);
         });
  EXPECT_NE(with([](v1::JobSpec* job, v1::RunPhase*) {
              job->mutable_targets(0)->mutable_file()->set_size_bytes(1 << 30);
            }).find("total_size differ"),
            std::string::npos);
  EXPECT_NE(with([](v1::JobSpec* job, v1::RunPhase* run) {
              v1::Target* other = job->add_targets();
              *other = job->targets(0);
              other->set_name("other");
              run->mutable_workloads(0)->add_targets("other");
            }).find("which no workload of the phase uses"),
            std::string::npos);
  EXPECT_NE(with([](v1::JobSpec*, v1::RunPhase* run) {
              run->mutable_sweep()->mutable_prepare()->mutable_content()->set_duplicate_ratio(0.5);
            }).find("duplicate and fresh are for workloads"),
            std::string::npos);
  EXPECT_NE(with([](v1::JobSpec* job, v1::RunPhase*) {
              job->mutable_targets(0)->set_sharing(v1::SHARING_SLICED);
              job->set_on_worker_loss(v1::LOSS_POLICY_RETRY);
            }).find("would lack the files of a lost host"),
            std::string::npos);
  EXPECT_NE(with([](v1::JobSpec*, v1::RunPhase* run) {
              run->mutable_sweep()->mutable_axes(0)->set_field("queue_depth");
              run->mutable_sweep()->mutable_prepare();
            }).find("are for sweeps with an axis of a file target"),
            std::string::npos);
  EXPECT_NE(with([](v1::JobSpec*, v1::RunPhase* run) {
              for (int i = 0; i < 96; ++i) {
                run->mutable_sweep()->mutable_axes(0)->add_values(absl::StrCat(100 + i));
              }
              AddAxis("targets.files.file.size", {"4KiB", "8KiB", "12KiB", "16KiB"},
                      run->mutable_sweep());
            }).find("makes more than 256 targets"),
            std::string::npos);
}

}  // namespace
}  // namespace lockstep::controller
