// Contents that a user must confirm before they are overwritten, and those that nobody can confirm.

#include "controller/plan/plan_token.h"

#include <algorithm>

#include "controller/plan/assign.h"
#include "controller/plan/fleet_uses.h"
#include "controller/plan/reservation.h"
#include "gtest/gtest.h"
#include "tests/controller/plan/plan_job.h"

namespace lockstep::controller {
namespace {

v1::JobSpec LunJob(double read = 0) {
  v1::JobSpec job;
  job.set_name("j");
  v1::Target* target = job.add_targets();
  target->set_name("lun");
  target->mutable_device()->set_path("/dev/sda");
  v1::RunPhase* run = job.add_phases()->mutable_run();
  run->set_duration_ns(1000000000);
  run->add_workloads()->set_read_ratio(read);
  FillJob(&job);
  return job;
}

std::vector<PlanWorker> Fleet(const std::string& overwrites, int hosts = 2) {
  std::vector<PlanWorker> workers;
  for (int i = 0; i < hosts; ++i) {
    PlanWorker worker = Worker("node" + std::to_string(i), "boot" + std::to_string(i));
    v1::TargetInspection* found = worker.inspection.add_targets();
    found->add_paths(i == 0 ? "/dev/sda" : "/dev/sdb");
    found->set_device_identity(kLun);
    found->set_overwrites(overwrites);
    found->set_disk_sequence(uint64_t{7} + static_cast<uint64_t>(i));
    workers.push_back(worker);
  }
  return workers;
}

TEST(PlanTokenTest, ALunThatSeveralHostsSeeIsNamedOnce) {
  const auto words = OverwritesOf(LunJob(), Fleet("carries ext4"));
  ASSERT_EQ(words.size(), 1u);
  EXPECT_EQ(words[0], "target lun (naa.600): carries ext4; as node0 /dev/sda, node1 /dev/sdb");
  EXPECT_TRUE(OverwritesOf(LunJob(), Fleet("")).empty());
}

TEST(PlanTokenTest, WhatAWorkerApprovesByALabelNeedsNoConfirmation) {
  auto workers = Fleet("carries ext4");
  workers[0].inspection.mutable_targets(0)->set_is_approved(true);
  EXPECT_EQ(OverwritesOf(LunJob(), workers).size(), 1u) << "the other worker has not";
  workers[1].inspection.mutable_targets(0)->set_is_approved(true);
  EXPECT_TRUE(OverwritesOf(LunJob(), workers).empty());
}

constexpr int64_t kNow = 1795000000000000000;

TEST(PlanTokenTest, TheSamePlanHasTheSameTokenAndAnyOtherAnother) {
  const PlanTokens tokens("secret");
  const v1::JobSpec job = LunJob();
  const auto workers = Fleet("carries ext4");
  const std::string token = tokens.Make(job, workers, kNow);
  EXPECT_EQ(token.size(), 33u);
  EXPECT_TRUE(tokens.IsOf(token, job, workers));
  auto turned = workers;
  std::reverse(turned.begin(), turned.end());
  EXPECT_TRUE(tokens.IsOf(token, job, turned)) << "in whatever order workers have attached";
  auto fuller = workers;
  fuller[0].inspection.mutable_targets(0)->set_free_bytes(1);
  EXPECT_TRUE(tokens.IsOf(token, job, fuller)) << "free space changes by itself";
  auto numbered = workers;
  numbered[0].inspection.mutable_targets(0)->set_top_layer(3);
  EXPECT_TRUE(tokens.IsOf(token, job, numbered)) << "other targets have other layers";
  v1::JobSpec seeded = job;
  seeded.set_seed(99);
  EXPECT_TRUE(tokens.IsOf(token, seeded, workers));

  v1::JobSpec other = job;
  other.mutable_phases(0)->mutable_run()->set_duration_ns(2000000000);
  EXPECT_FALSE(tokens.IsOf(token, other, workers)) << "another job";
  EXPECT_FALSE(tokens.IsOf(token, job, Fleet("carries xfs"))) << "something else is on it";
  EXPECT_FALSE(tokens.IsOf(token, job, Fleet("carries ext4", 3))) << "one host more";
  auto attached_anew = workers;
  attached_anew[1].inspection.mutable_targets(0)->set_disk_sequence(99);
  EXPECT_FALSE(tokens.IsOf(token, job, attached_anew)) << "another disk under the name";
  auto another = workers;
  another[1].inspection.mutable_targets(0)->set_device_identity("naa.601");
  EXPECT_FALSE(tokens.IsOf(token, job, another));
  auto another_content = workers;
  another_content[0].inspection.mutable_targets(0)->set_content_fingerprint("another UUID");
  EXPECT_FALSE(tokens.IsOf(token, job, another_content)) << "an ext4 too, but not this one";
}

TEST(PlanTokenTest, ATokenIsMadeByPlanningOnly) {
  const PlanTokens tokens("secret");
  const v1::JobSpec job = LunJob();
  const auto workers = Fleet("carries ext4");
  const std::string token = tokens.Make(job, workers, kNow);
  EXPECT_FALSE(PlanTokens("another store's").IsOf(token, job, workers));
  EXPECT_NE(tokens.Make(job, workers, kNow + 1000000000), token);
  std::string younger = token;
  younger[7] = younger[7] == '0' ? '1' : '0';
  EXPECT_FALSE(tokens.IsOf(younger, job, workers)) << "its time is covered, too";
  for (const std::string wrong : {"", "x", "0123456789abcdef", "zz", "00000000-"}) {
    EXPECT_FALSE(tokens.IsOf(wrong, job, workers)) << wrong;
    EXPECT_EQ(tokens.CheckAge(wrong, kNow).code(), absl::StatusCode::kInvalidArgument) << wrong;
  }
}

TEST(PlanTokenTest, AgeIsJudgedWhenTheJobIsSubmittedAndNotWhileItWaits) {
  const PlanTokens tokens("secret");
  const v1::JobSpec job = LunJob();
  const auto workers = Fleet("carries ext4");
  const std::string token = tokens.Make(job, workers, kNow);
  const int64_t day = limits::kPlanTokenSeconds * 1000000000;
  EXPECT_TRUE(tokens.CheckAge(token, kNow).ok());
  EXPECT_TRUE(tokens.CheckAge(token, kNow + day).ok());
  const absl::Status old = tokens.CheckAge(token, kNow + day + 1000000000);
  EXPECT_EQ(old.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(old.message().find("24 h"), absl::string_view::npos) << old;
  EXPECT_FALSE(tokens.CheckAge(token, kNow - day).ok()) << "a plan from the future";
}

// The kernels of hosts, by name: what each has.
v1::HostDevices* AddHost(v1::DevicesReply* kernels, const std::string& host,
                         const std::string& boot) {
  v1::HostDevices* out = kernels->add_hosts();
  out->set_host(host);
  out->set_boot_id(boot);
  return out;
}

v1::BlockDevice* AddDevice(v1::HostDevices* host, const std::string& path,
                           const std::string& identity, bool busy) {
  v1::BlockDevice* device = host->add_devices();
  device->set_path(path);
  device->set_identity(identity);
  device->set_busy(busy);
  if (busy) device->set_in_use("mounted on /data");
  return device;
}

TEST(FleetUsesTest, WhatAnyHostOfTheFleetHasMountedIsNotWritten) {
  v1::DevicesReply kernels;
  AddDevice(AddHost(&kernels, "node0", "boot0"), "/dev/sda", kLun, /*busy=*/false);
  AddDevice(AddHost(&kernels, "stranger", "boot9"), "/dev/sdq", kLun, /*busy=*/true);
  const auto refusals = UsesInFleet(LunJob(), Fleet(""), kernels);
  ASSERT_EQ(refusals.size(), 1u);
  EXPECT_NE(refusals[0].find("stranger has it as /dev/sdq, which is mounted on /data"),
            std::string::npos)
      << refusals[0];
  kernels.mutable_hosts(1)->mutable_devices(0)->set_busy(false);
  EXPECT_TRUE(UsesInFleet(LunJob(), Fleet(""), kernels).empty());
}

TEST(FleetUsesTest, APartitionOfTheDiskCountsAndASiblingDoesNot) {
  v1::DevicesReply kernels;
  v1::HostDevices* host = AddHost(&kernels, "other", "boot9");
  AddDevice(host, "/dev/sdq", kLun, /*busy=*/false);
  AddDevice(host, "/dev/sdq1", "naa.600-part1", /*busy=*/true)->set_disk_identity(kLun);
  EXPECT_EQ(UsesInFleet(LunJob(), Fleet(""), kernels).size(), 1u);
  // The job writes the second partition: the first one may be mounted, the disk may not be held.
  auto workers = Fleet("");
  for (PlanWorker& worker : workers) {
    worker.inspection.mutable_targets(0)->set_device_identity("naa.600-part2");
  }
  AddDevice(host, "/dev/sdq2", "naa.600-part2", /*busy=*/false)->set_disk_identity(kLun);
  EXPECT_TRUE(UsesInFleet(LunJob(), workers, kernels).empty());
  host->mutable_devices(0)->set_busy(true);
  EXPECT_EQ(UsesInFleet(LunJob(), workers, kernels).size(), 1u);
}

TEST(FleetUsesTest, APathOfAMultipathDeviceIsNoUseOfItsOwn) {
  v1::DevicesReply kernels;
  v1::HostDevices* host = AddHost(&kernels, "other", "boot9");
  AddDevice(host, "/dev/sdq", kLun, /*busy=*/true)
      ->set_in_use("held by dm-0 (LVM, md or multipath)");
  EXPECT_EQ(UsesInFleet(LunJob(), Fleet(""), kernels).size(), 1u);
  AddDevice(host, "/dev/dm-0", kLun, /*busy=*/false)->set_transport("multipath");
  EXPECT_TRUE(UsesInFleet(LunJob(), Fleet(""), kernels).empty());
  host->mutable_devices(1)->set_busy(true);
  EXPECT_EQ(UsesInFleet(LunJob(), Fleet(""), kernels).size(), 1u) << "mounted itself";
}

TEST(FleetUsesTest, NamesThatOnlyOneKernelGivesMeanNothingOnAnother) {
  auto workers = Fleet("", 1);
  workers[0].inspection.mutable_targets(0)->set_device_identity("loop-file:8:1:131");
  v1::DevicesReply kernels;
  AddDevice(AddHost(&kernels, "clone", "boot9"), "/dev/loop0", "loop-file:8:1:131", /*busy=*/true);
  EXPECT_TRUE(UsesInFleet(LunJob(), workers, kernels).empty());
  AddDevice(AddHost(&kernels, "sibling", "boot0"), "/dev/loop0", "loop-file:8:1:131",
            /*busy=*/true);
  EXPECT_EQ(UsesInFleet(LunJob(), workers, kernels).size(), 1u);
}

TEST(FleetUsesTest, AHostThatDoesNotSayIsNoHostWithoutUses) {
  v1::DevicesReply kernels;
  AddHost(&kernels, "hung", "boot9")->set_missing("the worker has not answered");
  const auto refusals = UsesInFleet(LunJob(), Fleet(""), kernels);
  ASSERT_EQ(refusals.size(), 1u);
  EXPECT_NE(refusals[0].find("hung: does not say"), std::string::npos);
}

TEST(FleetUsesTest, OnlyJobsThatWriteDevicesNeedToAsk) {
  EXPECT_TRUE(WritesDevices(LunJob()));
  EXPECT_FALSE(WritesDevices(LunJob(1)));
  EXPECT_FALSE(WritesDevices(Job())) << "files";
}

v1::JobSpec FencedJob() {
  v1::JobSpec job = LunJob();
  job.mutable_targets(0)->set_fence(v1::FENCE_RESERVATION);
  return job;
}

TEST(ReservationTest, EveryWorkerOfARunHasAKeyOfItsOwn) {
  EXPECT_NE(ReservationKey("run", 0), ReservationKey("run", 1));
  EXPECT_NE(ReservationKey("run", 0), ReservationKey("other", 0));
  EXPECT_EQ(ReservationKey("run", 0) >> 48, 0x4c53u);
}

TEST(ReservationTest, OneReservesAndTheLostAreTakenOut) {
  SettledRun run{"run", FencedJob(), 1, Fleet("", 3)};
  const auto assignments = MakeAssignments(run, run.job.phases(0), 0, 1, {1, 2});
  ASSERT_TRUE(assignments.ok()) << assignments.status();
  ASSERT_EQ(assignments->size(), 2u);
  for (const v1::Assignment& assignment : *assignments) {
    const v1::ReservationUse& use = assignment.targets(0).reservation();
    EXPECT_EQ(use.key(), ReservationKey("run", assignment.worker_index()));
    EXPECT_EQ(use.holds(), assignment.worker_index() == 1);
    ASSERT_EQ(use.lost_size(), 1);
    EXPECT_EQ(use.lost(0), ReservationKey("run", 0));
  }
}

TEST(ReservationTest, WhoOnlyReadsNeedsNone) {
  SettledRun run{"run", LunJob(1), 1, Fleet("", 1)};
  run.job.mutable_targets(0)->set_fence(v1::FENCE_RESERVATION);
  const auto assignments = MakeAssignments(run, run.job.phases(0), 0, 1, {0});
  ASSERT_TRUE(assignments.ok());
  EXPECT_FALSE(assignments->front().targets(0).has_reservation());
}

TEST(ReservationTest, TwoWorkersOfOneKernelCannotBeToldApartByADevice) {
  auto workers = Fleet("");
  EXPECT_TRUE(FenceProblems(FencedJob(), workers).empty());
  workers[1].hello.mutable_host()->set_boot_id("boot0");
  EXPECT_EQ(FenceProblems(FencedJob(), workers).size(), 1u);
  EXPECT_TRUE(FenceProblems(LunJob(), workers).empty()) << "no fence";
}

}  // namespace
}  // namespace lockstep::controller
