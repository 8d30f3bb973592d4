// Which workers a job gets, what each of them is assigned, and whether it fits them all.

#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/ids.h"
#include "controller/plan/assign.h"
#include "gtest/gtest.h"
#include "tests/controller/plan/plan_job.h"

namespace lockstep::controller {
namespace {

TEST(PlacementTest, SelectionIsByNameLabelAndCount) {
  std::vector<PlanWorker> workers = {Worker("c"), Worker("a"), Worker("b")};
  (*workers[2].hello.mutable_labels())["rack"] = "1";
  v1::HostSelector selector;
  EXPECT_EQ(*Select(selector, workers), (std::vector<uint32_t>{1, 2, 0}));
  selector.set_count(2);
  EXPECT_EQ(*Select(selector, workers), (std::vector<uint32_t>{1, 2}));
  selector.set_count(0);
  (*selector.mutable_labels())["rack"] = "1";
  EXPECT_EQ(*Select(selector, workers), std::vector<uint32_t>{2});
  selector.add_names("z");
  EXPECT_EQ(Select(selector, workers).status().message(), "no worker is attached on z");
}

SettledRun Settled(v1::JobSpec job, int workers) {
  SettledRun run{"run", std::move(job), 7, {}};
  for (int i = 0; i < workers; ++i) {
    run.workers.push_back(Worker("node" + std::to_string(i), i < 3 ? "bootA" : "bootB"));
    v1::TargetInspection* found = run.workers.back().inspection.add_targets();
    found->set_device_name("sda");
    found->set_size_bytes(100 << 20);
  }
  return run;
}

TEST(PlacementTest, EachKernelAndDeviceIsSampledByOneWorker) {
  const SettledRun run = Settled(Job(), 4);
  const auto assignments = *MakeAssignments(run, run.job.phases(1), 1, 1, {0, 1, 2, 3});
  std::vector<int> devices, hosts;
  for (const auto& a : assignments) {
    devices.push_back(a.sample_devices_size());
    hosts.push_back(a.sample_host());
  }
  EXPECT_EQ(devices, (std::vector<int>{1, 0, 0, 1}));
  EXPECT_EQ(hosts, (std::vector<int>{1, 0, 0, 1}));
}

// The only writer of a device holds it: a neighbour that reads does not, though it comes first.
TEST(PlacementTest, ADeviceIsHeldByAWorkerThatWritesIt) {
  v1::JobSpec job;
  job.set_name("x");
  v1::Target* target = job.add_targets();
  target->set_name("disk");
  target->mutable_device()->set_path("/dev/sda");
  target->set_sharing(v1::SHARING_OVERLAPPED);
  v1::RunPhase* run = job.add_phases()->mutable_run();
  run->set_duration_ns(1000000000);
  for (const char* host : {"node0", "node1", "node2"}) {
    v1::Workload* w = run->add_workloads();
    w->mutable_hosts()->add_names(host);
    w->set_read_ratio(host == std::string("node0") ? 1 : 0);
  }
  FillJob(&job);
  const SettledRun settled = Settled(job, 3);
  const auto a = *MakeAssignments(settled, settled.job.phases(0), 0, 1, {0, 1, 2});
  EXPECT_FALSE(a[0].targets(0).written());
  EXPECT_FALSE(a[0].targets(0).held_by_peer());
  EXPECT_TRUE(a[1].targets(0).written());
  EXPECT_FALSE(a[1].targets(0).held_by_peer());
  EXPECT_TRUE(a[2].targets(0).held_by_peer());
}

TEST(PlacementTest, SlicesOfASharedTargetTouchNoByteTwice) {
  v1::JobSpec job = Job();
  job.mutable_targets(0)->clear_file();
  job.mutable_targets(0)->mutable_device()->set_path("/dev/sda");
  job.mutable_targets(0)->set_sharing(v1::SHARING_SLICED);
  job.mutable_phases()->DeleteSubrange(0, 1);
  const SettledRun run = Settled(job, 3);
  uint64_t end = 0;
  const auto assignments = *MakeAssignments(run, run.job.phases(0), 0, 1, {0, 1, 2});
  for (const auto& a : assignments) {
    const v1::TargetAssignment& t = a.targets(0);
    EXPECT_GE(t.slice_begin_bytes(), end);
    EXPECT_GT(t.slice_length_bytes(), 0u);
    end = t.slice_begin_bytes() + t.slice_length_bytes();
  }
  EXPECT_LE(end, uint64_t{100} << 20);
  // A lost worker does not move the others.
  const auto rest = *MakeAssignments(run, run.job.phases(0), 0, 1, {0, 2});
  EXPECT_EQ(rest[1].targets(0).slice_begin_bytes(),
            (*MakeAssignments(run, run.job.phases(0), 0, 1, {0, 1, 2}))[2]
                .targets(0)
                .slice_begin_bytes());
}

TEST(PlacementTest, LimitsAreSharedOutExactlyAndSeedsDiffer) {
  v1::JobSpec job = Job();
  job.mutable_phases(1)->mutable_run()->mutable_workloads(0)->set_operations(1001);
  const auto assignments = *MakeAssignments(Settled(job, 4), job.phases(1), 1, 1, {0, 1, 2, 3});
  uint64_t sum = 0;
  std::set<uint64_t> seeds;
  for (const auto& a : assignments) {
    sum += a.run().workloads(0).operations();
    seeds.insert(a.run().workloads(0).seed());
  }
  EXPECT_EQ(sum, 1001u);
  EXPECT_EQ(seeds.size(), 4u);
}

// The seeds that all phases share have the positions that phase 1,000 would have.
TEST(PlacementTest, SeedsOfLatePhasesAreNotThoseOfAllPhases) {
  const SettledRun run = Settled(Job(), 1);
  for (const uint32_t phase : {999u, 1000u, 1001u}) {
    const auto assignments = *MakeAssignments(run, run.job.phases(1), phase, 1, {0});
    const v1::WorkloadAssignment& workload = assignments[0].run().workloads(0);
    EXPECT_NE(workload.seed(), common::DeriveSeed(workload.common_seed(), 0)) << phase;
  }
}

TEST(PlacementTest, TwoWorkersInOnePrivateFileAreRefused) {
  const v1::JobSpec job = Job();
  SettledRun run = Settled(job, 2);
  for (PlanWorker& worker : run.workers) {
    worker.inspection.mutable_targets(0)->set_file_ranges("12345678");
    worker.inspection.mutable_targets(0)->add_paths("/data/same");
  }
  const FleetCheck check = CheckFleet(job, run.workers, {"bootA/sda", "", false});
  ASSERT_EQ(check.refusals.size(), 1u);
  EXPECT_NE(check.refusals[0].find("is also used by node0"), std::string::npos);
  ASSERT_EQ(check.warnings.size(), 1u);
  EXPECT_NE(check.warnings[0].find("where Lockstep's own store writes too"), std::string::npos);
}

TEST(PlacementTest, TargetsBesideTheStoreShareOneWarning) {
  v1::JobSpec job = Job();
  SettledRun run = Settled(job, 1);
  const auto warning_of = [&](int targets) {
    while (job.targets_size() < targets) {
      const v1::Target like = job.targets(0);
      *job.add_targets() = like;
      job.mutable_targets()->rbegin()->set_name(absl::StrCat("t", job.targets_size()));
      const v1::TargetInspection found = run.workers[0].inspection.targets(0);
      *run.workers[0].inspection.add_targets() = found;
      run.workers[0].inspection.mutable_targets()->rbegin()->set_target(
          static_cast<uint32_t>(job.targets_size() - 1));
    }
    const FleetCheck check = CheckFleet(job, run.workers, {"bootA/sda", "", false});
    EXPECT_EQ(check.warnings.size(), 1u);
    return check.warnings.empty() ? std::string() : check.warnings[0];
  };
  const std::string first = job.targets(0).name();
  EXPECT_EQ(warning_of(1).find(absl::StrCat("target ", first, " lies on sda, where")), 0u);
  EXPECT_EQ(warning_of(2).find(absl::StrCat("targets ", first, ", t2 lie on sda, where")), 0u);
  EXPECT_NE(warning_of(6).find(", t2, t3 and 3 more lie on sda, where"), std::string::npos);
  // Variants of a target that a sweep varies are one target of the job file.
  for (v1::Target& target : *job.mutable_targets()) target.set_variant_of("files");
  EXPECT_EQ(warning_of(6).find("target files lies on sda, where"), 0u);
}

TEST(PlacementTest, VariantsOfATargetShareTheWarningsOfIt) {
  v1::JobSpec job = Job();
  SettledRun run = Settled(job, 1);
  const v1::Target like = job.targets(0);
  *job.add_targets() = like;
  job.mutable_targets(1)->set_name("files file.count=2");
  for (v1::Target& target : *job.mutable_targets()) target.set_variant_of("files");
  v1::Inspection& inspection = run.workers[0].inspection;
  const v1::TargetInspection found = inspection.targets(0);
  *inspection.add_targets() = found;
  inspection.mutable_targets(1)->set_target(1);
  const auto the_warning = [&] {
    const FleetCheck check = CheckFleet(job, run.workers, {"", "", false});
    EXPECT_EQ(check.warnings.size(), 1u);
    return check.warnings.empty() ? std::string() : check.warnings[0];
  };
  for (v1::TargetInspection& target : *inspection.mutable_targets()) target.set_page_cached(true);
  EXPECT_EQ(the_warning().find("target files lies on a loop device without direct I/O (sda"), 0u)
      << the_warning();
  for (v1::TargetInspection& target : *inspection.mutable_targets()) {
    target.set_page_cached(false);
    target.clear_device_name();
  }
  EXPECT_EQ(the_warning().find("target files has no block device underneath"), 0u) << the_warning();
}

TEST(PlacementTest, OneThingUnderTwoNamesIsRefused) {
  v1::JobSpec job = Job();
  v1::Target* partition = job.add_targets();
  partition->set_name("partition");
  partition->mutable_device()->set_path("/dev/sda1");
  job.mutable_phases(1)->mutable_run()->mutable_workloads(0)->add_targets("partition");
  FillJob(&job);
  SettledRun run = Settled(job, 1);
  v1::TargetInspection* second = run.workers[0].inspection.add_targets();
  second->set_target(1);
  v1::ByteRange* whole = run.workers[0].inspection.mutable_targets(0)->add_ranges();
  whole->set_thing(7);
  v1::ByteRange* part = second->add_ranges();
  part->set_thing(7);
  part->set_begin_bytes(1 << 20);
  part->set_end_bytes(2 << 20);
  const FleetCheck check = CheckFleet(job, run.workers, {});
  ASSERT_EQ(check.refusals.size(), 1u);
  EXPECT_NE(check.refusals[0].find("targets t and partition are the same bytes under two names"),
            std::string::npos)
      << check.refusals[0];
  whole->set_end_bytes(1 << 20);
  EXPECT_TRUE(CheckFleet(job, run.workers, {}).refusals.empty());
}

TEST(PlacementTest, SpaceIsReckonedOverAllWorkersAndSomeStaysFree) {
  const v1::JobSpec job = Job();
  SettledRun run = Settled(job, 4);
  constexpr uint64_t kMib = 1 << 20;
  for (uint32_t i = 0; i < 4; ++i) {
    v1::TargetInspection* found = run.workers[i].inspection.mutable_targets(0);
    found->set_filesystem_id("boot:7:0");
    found->set_free_bytes(302 * kMib);
    found->set_filesystem_bytes(400 * kMib);
    found->set_missing_bytes(64 * kMib);
    found->set_file_ranges(std::string(7, 'x') + static_cast<char>(i));
  }
  EXPECT_TRUE(CheckFleet(job, run.workers, {}).refusals.empty());
  // 288 of 302, and 20 stay free
  for (PlanWorker& worker : run.workers) {
    worker.inspection.mutable_targets(0)->set_missing_bytes(72 * kMib);
  }
  const FleetCheck check = CheckFleet(job, run.workers, {});
  ASSERT_EQ(check.refusals.size(), 1u);
  EXPECT_NE(check.refusals[0].find("all workers together need 288 MiB, its file system has 302 MiB "
                                   "free, of which 20 MiB stay free"),
            std::string::npos)
      << check.refusals[0];
}

TEST(PlacementTest, TheStoresOwnFileSystemIsFilledOnlyWhereItIsSaidTwice) {
  v1::JobSpec job = Job();
  SettledRun run = Settled(job, 1);
  run.workers[0].inspection.mutable_targets(0)->set_filesystem_id("boot:7:0");
  run.workers[0].inspection.mutable_targets(0)->set_free_bytes(uint64_t{1} << 40);
  for (const bool by_job : {false, true}) {
    for (const bool by_operator : {false, true}) {
      job.set_store_filesystem(by_job);
      EXPECT_EQ(CheckFleet(job, run.workers, {"", "boot:7:0", by_operator}).refusals.empty(),
                by_job && by_operator);
    }
  }
  job.set_store_filesystem(false);
  // `lockstep plan` marks the target.
  const FleetCheck refused = CheckFleet(job, run.workers, {"", "boot:7:0", false});
  ASSERT_EQ(refused.refused.size(), 1u);
  EXPECT_EQ(refused.refused.begin()->first, std::pair(0U, 0U));
  EXPECT_TRUE(CheckFleet(job, run.workers, {"", "boot:8:0", false}).refusals.empty());
}

TEST(PlacementTest, MadeUpFiguresAreNotAddedToRealOnes) {
  const v1::JobSpec job = Job();
  SettledRun run = Settled(job, 2);
  run.workers[0].inspection.set_synthetic(true);
  const FleetCheck mixed = CheckFleet(job, run.workers, {});
  ASSERT_EQ(mixed.refusals.size(), 1u);
  EXPECT_NE(mixed.refusals[0].find("1 of 2 workers are synthetic"), std::string::npos)
      << mixed.refusals[0];
  run.workers[1].inspection.set_synthetic(true);
  EXPECT_TRUE(CheckFleet(job, run.workers, {}).refusals.empty());
}

TEST(ReadersTest, InARingEachReadsTheNextOnesPartAndAllReadEverything) {
  v1::JobSpec job = Job();
  job.mutable_targets(0)->set_sharing(v1::SHARING_SLICED);
  job.mutable_targets(0)->mutable_file()->set_path("/data/shared");
  job.clear_phases();
  job.add_phases()->mutable_precondition()->set_verify(true);
  job.add_phases()->mutable_verify()->set_readers(v1::READERS_RING);
  job.add_phases()->mutable_verify()->set_readers(v1::READERS_ALL);
  FillJob(&job);
  EXPECT_TRUE(Validate(job).empty());
  const SettledRun run = Settled(job, 3);
  const auto write = *MakeAssignments(run, run.job.phases(0), 0, 1, {0, 1, 2});
  const auto ring = *MakeAssignments(run, run.job.phases(1), 1, 1, {0, 1, 2});
  const auto all = *MakeAssignments(run, run.job.phases(2), 2, 1, {0, 1, 2});
  for (size_t w = 0; w < 3; ++w) {
    const v1::TargetAssignment& next = write[(w + 1) % 3].targets(0);
    EXPECT_EQ(ring[w].targets(0).slice_begin_bytes(), next.slice_begin_bytes());
    EXPECT_EQ(ring[w].targets(0).slice_length_bytes(), next.slice_length_bytes());
    EXPECT_EQ(ring[w].targets(0).each_slice_bytes(), next.slice_length_bytes());
    EXPECT_EQ(ring[w].targets(0).writers_size(), 3);
    EXPECT_TRUE(ring[w].targets(0).is_shared());
    EXPECT_EQ(all[w].targets(0).slice_begin_bytes(), 0u);
    EXPECT_GE(all[w].targets(0).slice_length_bytes(), 3 * next.slice_length_bytes());
  }
}

TEST(ReadersTest, WhatNoOtherHostSeesIsReadByItsOwn) {
  for (const v1::Readers readers : {v1::READERS_RING, v1::READERS_ALL}) {
    v1::JobSpec job = Job();
    job.mutable_phases(1)->mutable_run()->mutable_workloads(0)->set_verify(true);
    job.add_phases()->mutable_verify()->set_readers(readers);
    FillJob(&job);
    ASSERT_EQ(Validate(job).size(), 1u);
    EXPECT_EQ(Validate(job)[0].path(), "phases[3].verify.readers");
    job.mutable_targets(0)->set_sharing(v1::SHARING_OWNED);
    EXPECT_FALSE(Validate(job).empty());
  }
}

}  // namespace
}  // namespace lockstep::controller
