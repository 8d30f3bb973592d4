// Observe phases: what is refused, what workers are asked, and what they are told to do.

#include "controller/plan/assign.h"
#include "controller/plan/loads.h"
#include "controller/plan/observes.h"
#include "controller/plan/settle.h"
#include "gtest/gtest.h"
#include "tests/controller/plan/plan_job.h"

namespace lockstep::controller {
namespace {

constexpr int64_t kSecondNs = 1000000000;

v1::JobSpec ObserveJob() {
  v1::JobSpec job;
  job.set_name("watch");
  job.add_phases()->mutable_observe()->set_duration_ns(10 * kSecondNs);
  return job;
}

PlanWorker Observer(const std::string& host, const std::string& boot,
                    const std::vector<std::string>& devices) {
  PlanWorker worker = Worker(host, boot);
  v1::ObservedDevices* observed = worker.inspection.add_observed();
  for (const std::string& name : devices) observed->add_devices()->set_name(name);
  return worker;
}

TEST(ObserveTest, AJobMayHaveNoTargetAndOnlyObserve) {
  v1::JobSpec job = ObserveJob();
  EXPECT_TRUE(SettleJob(&job).empty());
  EXPECT_EQ(job.phases(0).name(), "observe");
  EXPECT_TRUE(IsLoad(job.phases(0)));
  const v1::RunPhase load = LoadOf(job, job.phases(0));
  EXPECT_EQ(load.duration_ns(), 10 * kSecondNs);
  EXPECT_TRUE(load.workloads().empty());
  EXPECT_TRUE(UseOfTargets(job).empty());
  EXPECT_EQ(HardStopNs(job, job.phases(0)), 10 * kSecondNs);
}

TEST(ObserveTest, WhatItCannotHaveIsRefusedAtTheField) {
  v1::JobSpec job = ObserveJob();
  v1::ObservePhase* observe = job.mutable_phases(0)->mutable_observe();
  observe->clear_duration_ns();
  observe->mutable_abort_if()->set_p99_ns(1);
  observe->mutable_abort_if()->set_errors(1);
  for (const char* path : {"sda", "/mnt/../etc", "/mnt", "/mnt"}) observe->add_devices(path);
  std::vector<std::string> paths;
  for (const v1::Problem& problem : SettleJob(&job)) paths.push_back(problem.path());
  EXPECT_EQ(paths, (std::vector<std::string>{
                       "phases[0].observe.duration", "phases[0].observe.abort_if.p99",
                       "phases[0].observe.abort_if.errors", "phases[0].observe.devices[0]",
                       "phases[0].observe.devices[1]", "phases[0].observe.devices[3]"}));
}

TEST(ObserveTest, TheDevicesAwaitMayEndTheRun) {
  v1::JobSpec job = ObserveJob();
  job.mutable_phases(0)->mutable_observe()->mutable_abort_if()->set_device_await_ns(kSecondNs);
  EXPECT_TRUE(SettleJob(&job).empty());
  EXPECT_EQ(LoadOf(job, job.phases(0)).abort_if().device_await_ns(), kSecondNs);
}

TEST(ObserveTest, NoRateIsAShareOfWhatWasObserved) {
  v1::JobSpec job = Job();
  v1::PhaseSpec* phase = job.add_phases();
  phase->set_name("watch");
  phase->mutable_observe()->set_duration_ns(kSecondNs);
  job.mutable_phases()->SwapElements(0, 3);
  v1::OpenLoop* load =
      job.mutable_phases(1)->mutable_run()->mutable_workloads(0)->mutable_open_loop();
  load->mutable_measured()->set_phase("watch");
  FillJob(&job);
  const auto problems = Validate(job);
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_NE(problems[0].message().find("no earlier phase with load"), std::string::npos);
}

TEST(ObserveTest, WorkersAreAskedForEachListOnce) {
  v1::JobSpec job = ObserveJob();
  *job.add_phases() = job.phases(0);
  job.add_phases()->mutable_observe()->add_devices("/dev/sda");
  FillJob(&job);
  const std::vector<Observe> observes = ObservesOf(job);
  ASSERT_EQ(observes.size(), 2u);
  EXPECT_EQ(observes[0].phase, job.phases(0).name());
  EXPECT_EQ(observes[1].request.devices(0), "/dev/sda");
  EXPECT_EQ(ObserveIndexOf(job, job.phases(1)), 0);
  EXPECT_EQ(ObserveIndexOf(job, job.phases(2)), 1);
  EXPECT_EQ(ObserveIndexOf(job, Job().phases(0)), -1);
}

TEST(ObserveTest, EachKernelsDevicesAreSampledOnceAndNothingIsOpened) {
  SettledRun run;
  run.job = ObserveJob();
  FillJob(&run.job);
  run.workers = {Observer("a", "boot1", {"sda", "sdb"}), Observer("b", "boot1", {"sdb", "sdc"}),
                 Observer("c", "boot2", {"sda"})};
  const auto made = MakeAssignments(run, run.job.phases(0), 0, 1, {0, 1, 2});
  ASSERT_TRUE(made.ok()) << made.status();
  const auto sampled = [&](size_t worker) {
    const auto& names = (*made)[worker].sample_devices();
    return std::vector<std::string>(names.begin(), names.end());
  };
  EXPECT_EQ(sampled(0), (std::vector<std::string>{"sda", "sdb"}));
  EXPECT_EQ(sampled(1), std::vector<std::string>{"sdc"});
  EXPECT_EQ(sampled(2), std::vector<std::string>{"sda"});
  for (const v1::Assignment& assignment : *made) {
    EXPECT_TRUE(assignment.has_run());
    EXPECT_EQ(assignment.run().duration_ns(), 10 * kSecondNs);
    EXPECT_TRUE(assignment.run().workloads().empty());
    EXPECT_TRUE(assignment.targets().empty());
  }
  EXPECT_TRUE((*made)[0].sample_host());
  EXPECT_FALSE((*made)[1].sample_host());
}

TEST(ObserveTest, WhatLiesUnderOthersOfTheKernelIsInNoSum) {
  SettledRun run;
  run.job = ObserveJob();
  FillJob(&run.job);
  // The first worker sees the disk alone.
  run.workers = {Observer("a", "boot1", {"sda"}), Observer("b", "boot1", {"dm-0", "sda"}),
                 Observer("c", "boot2", {"sda"})};
  run.workers[1].inspection.mutable_observed(0)->mutable_devices(0)->add_on("sda");
  for (size_t w : {0u, 1u}) {
    run.workers[w].inspection.mutable_observed(0)->add_mounts()->set_mount_point("/nas");
  }
  const auto made = MakeAssignments(run, run.job.phases(0), 0, 1, {0, 1, 2});
  ASSERT_TRUE(made.ok()) << made.status();
  const auto all = [](const auto& names) {
    return std::vector<std::string>(names.begin(), names.end());
  };
  EXPECT_EQ(all((*made)[0].nested_devices()), std::vector<std::string>{"sda"});
  EXPECT_TRUE((*made)[0].sample_devices().empty());
  EXPECT_EQ(all((*made)[1].sample_devices()), std::vector<std::string>{"dm-0"});
  EXPECT_EQ(all((*made)[2].sample_devices()), std::vector<std::string>{"sda"});
  // A mount of a kernel is sampled once.
  EXPECT_EQ(all((*made)[0].sample_mounts()), std::vector<std::string>{"/nas"});
  EXPECT_TRUE((*made)[1].sample_mounts().empty());
}

TEST(ObserveTest, AWorkerThatSeesNothingRefusesTheRun) {
  v1::JobSpec job = ObserveJob();
  FillJob(&job);
  PlanWorker blind = Worker("blind");
  blind.inspection.add_observed()->set_refused("no block device lies under --allow");
  PlanWorker partly = Observer("partly", "boot2", {"sda"});
  partly.inspection.mutable_observed(0)->add_left_out("--allow /mem: lies on tmpfs");
  const FleetCheck check = CheckFleet(job, {blind, Worker("old"), partly}, {});
  ASSERT_EQ(check.refusals.size(), 2u);
  EXPECT_EQ(check.refusals[0], "blind: phase observe: no block device lies under --allow");
  EXPECT_NE(check.refusals[1].find("old: phase observe: "), std::string::npos);
  ASSERT_EQ(check.warnings.size(), 1u);
  EXPECT_NE(check.warnings[0].find("not observed: --allow /mem"), std::string::npos);
}

// A job whose phase is compared with a run that measured the device of this key.
v1::JobSpec ComparedJob(const std::string& key) {
  v1::JobSpec job = ObserveJob();
  FillJob(&job);
  v1::ObservePhase* observe = job.mutable_phases(0)->mutable_observe();
  observe->set_compare_with("1a2b3c4d-0000-4000-8000-000000000000");
  observe->add_limits()->set_device_key(key);
  observe->mutable_limits(0)->set_identity("naa.600");
  return job;
}

TEST(ObserveTest, WithoutADeviceOfTheOtherRunAComparisonIsRefused) {
  PlanWorker worker = Observer("a", "boot1", {"sda", "sdb"});
  v1::ObservedDevice* sda = worker.inspection.mutable_observed(0)->mutable_devices(0);
  sda->set_identity("naa.600");
  EXPECT_TRUE(CheckFleet(ComparedJob("naa.600"), {worker}, {}).refusals.empty());
  sda->set_identity("naa.601");
  const FleetCheck check = CheckFleet(ComparedJob("naa.600"), {worker}, {});
  ASSERT_EQ(check.refusals.size(), 1u);
  EXPECT_EQ(check.refusals[0],
            "phase observe: nothing can be compared with run 1a2b3c4d, which measured other "
            "devices (naa.600) than those that are observed (naa.601); observe a device that it "
            "measured, or leave compare_with out");
}

TEST(ObserveTest, WhatOnlyLiesUnderneathIsNotCompared) {
  PlanWorker worker = Observer("a", "boot1", {"dm-0", "sda"});
  v1::ObservedDevice* sda = worker.inspection.mutable_observed(0)->mutable_devices(1);
  sda->set_identity("naa.600");
  EXPECT_TRUE(CheckFleet(ComparedJob("naa.600"), {worker}, {}).refusals.empty());
  sda->set_only_underneath(true);
  const FleetCheck check = CheckFleet(ComparedJob("naa.600"), {worker}, {});
  ASSERT_EQ(check.refusals.size(), 1u);
  EXPECT_NE(check.refusals[0].find("(none with an identity)"), std::string::npos);
}

TEST(ObserveTest, ALoopDeviceIsTheSameOnlyOnItsKernel) {
  PlanWorker worker = Observer("a", "boot1", {"loop0"});
  worker.inspection.mutable_observed(0)->mutable_devices(0)->set_identity("loop-file:1-2");
  EXPECT_TRUE(CheckFleet(ComparedJob("boot1/loop-file:1-2"), {worker}, {}).refusals.empty());
  EXPECT_EQ(CheckFleet(ComparedJob("boot2/loop-file:1-2"), {worker}, {}).refusals.size(), 1u);
}

TEST(ObserveTest, ReasonsBeyondAHundredAreSaidToBeThere) {
  v1::JobSpec job = ObserveJob();
  FillJob(&job);
  PlanWorker worker = Observer("a", "boot", {"sda"});
  for (int i = 0; i < 100; ++i) {
    worker.inspection.mutable_observed(0)->add_left_out("reason " + std::to_string(i));
  }
  EXPECT_EQ(CheckObserves(job, {worker}).warnings.size(), 100u);
  worker.inspection.mutable_observed(0)->add_left_out("reason 100");
  const ObserveCheck check = CheckObserves(job, {worker, worker});
  ASSERT_EQ(check.warnings.size(), 101u);
  EXPECT_EQ(check.warnings.back(), "more is not observed; the first 100 reasons are named");
}

}  // namespace
}  // namespace lockstep::controller
