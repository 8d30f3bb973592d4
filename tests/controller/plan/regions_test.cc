// Regions, skips and sequences of workloads: what is refused, and where.

#include <string>
#include <vector>

#include "controller/plan/pattern_rules.h"
#include "gtest/gtest.h"
#include "tests/controller/plan/plan_job.h"

namespace lockstep::controller {
namespace {

constexpr int64_t kMibOfRegions = 1 << 20;

v1::Workload* LoadOfJob(v1::JobSpec* job) {
  return job->mutable_phases(1)->mutable_run()->mutable_workloads(0);
}

// "path: message" of each problem of the job whose workload has been changed.
template <typename Change>
std::string ProblemsAfter(const Change& change) {
  v1::JobSpec job = Job();
  change(LoadOfJob(&job), &job);
  FillJob(&job);
  std::string text;
  for (const v1::Problem& problem : Validate(job)) {
    text += problem.path() + ": " + problem.message() + "\n";
  }
  return text;
}

TEST(RegionRulesTest, SkipAndSkipAfterCountTogether) {
  const auto with = [](int64_t skip_after, int64_t skip, bool verify) {
    return ProblemsAfter([&](v1::Workload* w, v1::JobSpec*) {
      w->mutable_pattern()->mutable_sequential()->set_skip_after_bytes(skip_after);
      w->mutable_pattern()->mutable_sequential()->set_skip_bytes(skip);
      w->set_verify(verify);
    });
  };
  // I/Os begin at 0, 9 * 512, 18 * 512.
  EXPECT_EQ(with(4352, 256, false), "");
  EXPECT_NE(with(4352, 512, false).find("and skip together are not a multiple of 512"),
            std::string::npos);
  EXPECT_EQ(with(6144, 2048, true), "");
}

TEST(RegionRulesTest, ARegionLiesInEachFile) {
  const auto with = [](int64_t offset, int64_t size, int64_t increment, uint32_t threads) {
    return ProblemsAfter([&](v1::Workload* w, v1::JobSpec*) {
      w->mutable_region()->set_offset_bytes(offset);
      w->mutable_region()->set_size_bytes(size);
      w->mutable_region()->set_increment_bytes(increment);
      w->set_threads(threads);
    });
  };
  EXPECT_EQ(with(48 * kMibOfRegions, 16 * kMibOfRegions, 0, 1), "");
  EXPECT_EQ(with(0, 16 * kMibOfRegions, 16 * kMibOfRegions, 4), "");
  EXPECT_NE(with(49 * kMibOfRegions, 16 * kMibOfRegions, 0, 1)
                .find("workloads[0].region: a file of 't': "),
            std::string::npos);
  EXPECT_NE(with(0, 16 * kMibOfRegions, 17 * kMibOfRegions, 4).find("the region of thread 3"),
            std::string::npos);
  EXPECT_NE(with(INT64_MAX - 511, 0, 0, 1), "");
  EXPECT_NE(with(0, 0, INT64_MAX - 511, 1024), "");
  EXPECT_NE(with(100, 0, 0, 1).find("O_DIRECT"), std::string::npos);
  EXPECT_NE(with(0, 512, 0, 1).find("no block of 4 KiB"), std::string::npos);
}

TEST(RegionRulesTest, WhatDoesNotGoTogetherIsRefused) {
  const std::vector<std::pair<std::string, void (*)(v1::Workload*, v1::JobSpec*)>> wrong = {
      {".region.offset: ",
       [](v1::Workload* w, v1::JobSpec*) {
         w->mutable_region()->set_offset_bytes(kMibOfRegions);
         w->mutable_region()->set_offset_share_ratio(0.5);
       }},
      {".region.offset: is not a multiple of the block size",
       [](v1::Workload* w, v1::JobSpec*) {
         w->mutable_region()->set_offset_bytes(2048);
         w->set_verify(true);
       }},
      {".region: ",
       [](v1::Workload* w, v1::JobSpec*) {
         w->mutable_region()->set_offset_bytes(kMibOfRegions);
         w->set_read_ratio(0);
         w->mutable_pattern()->mutable_sequential();
         w->set_create(true);
       }},
      {"interleaved",
       [](v1::Workload* w, v1::JobSpec* job) {
         w->mutable_region()->set_offset_bytes(kMibOfRegions);
         job->mutable_targets(0)->set_sharing(v1::SHARING_INTERLEAVED);
         job->mutable_targets(0)->mutable_file()->set_path("/data/f");
       }},
      {".pattern.sequential.skip: leaves 1 offsets",
       [](v1::Workload* w, v1::JobSpec*) {
         w->mutable_pattern()->mutable_sequential()->set_skip_bytes(64 * kMibOfRegions);
       }},
      {".pattern.sequential.skip: leaves 4 offsets for 4 threads",
       [](v1::Workload* w, v1::JobSpec*) {
         w->mutable_pattern()->mutable_sequential()->set_skip_bytes(16 * kMibOfRegions - 4096);
         w->set_threads(4);
       }},
      {".pattern.sequential.skip_after: says nothing without a skip",
       [](v1::Workload* w, v1::JobSpec*) {
         w->mutable_pattern()->mutable_sequential()->set_skip_after_bytes(kMibOfRegions);
       }},
      {".pattern.sequential.skip_after: holds no block of 4 KiB",
       [](v1::Workload* w, v1::JobSpec*) {
         w->mutable_pattern()->mutable_sequential()->set_skip_bytes(kMibOfRegions);
         w->mutable_pattern()->mutable_sequential()->set_skip_after_bytes(2048);
       }},
      {".pattern.sequential.skip_after: and skip together are not a multiple of the block size",
       [](v1::Workload* w, v1::JobSpec*) {
         w->mutable_pattern()->mutable_sequential()->set_skip_bytes(kMibOfRegions);
         w->mutable_pattern()->mutable_sequential()->set_skip_after_bytes(6144);
         w->set_verify(true);
       }},
      {".pattern.sequential.backwards: needs one block size",
       [](v1::Workload* w, v1::JobSpec*) {
         w->mutable_pattern()->mutable_sequential()->set_backwards(true);
         w->clear_block_size_bytes();
         w->add_block_sizes()->set_block_size_bytes(4096);
         w->add_block_sizes()->set_block_size_bytes(8192);
       }},
      {".pattern.sequential.backwards: is for threads",
       [](v1::Workload* w, v1::JobSpec*) {
         w->mutable_pattern()->mutable_sequential()->set_backwards(true);
         w->mutable_pattern()->mutable_sequential()->set_shared(true);
       }},
      {".sequence: follows offsets that are drawn",
       [](v1::Workload* w, v1::JobSpec*) {
         w->mutable_sequence()->set_length(8);
         w->mutable_pattern()->mutable_shuffled();
       }},
      {".content.duplicate_blocks: ",
       [](v1::Workload* w, v1::JobSpec*) { w->mutable_content()->set_duplicate_blocks(100); }},
  };
  for (const auto& [words, change] : wrong) {
    EXPECT_NE(ProblemsAfter(change).find(words), std::string::npos) << words << "\n"
                                                                    << ProblemsAfter(change);
  }
}

TEST(RegionRulesTest, AnInspectedDeviceIsLargeEnough) {
  v1::JobSpec job;
  job.set_name("j");
  job.add_targets()->set_name("d");
  job.mutable_targets(0)->mutable_device()->set_path("/dev/sdx");
  v1::RunPhase* run = job.add_phases()->mutable_run();
  run->set_duration_ns(1000000000);
  run->add_workloads()->mutable_region()->set_offset_bytes(40 * kMibOfRegions);
  FillJob(&job);
  EXPECT_TRUE(Validate(job).empty());
  std::vector<PlanWorker> workers = {Worker("a"), Worker("b")};
  for (PlanWorker& worker : workers) {
    v1::TargetInspection* found = worker.inspection.add_targets();
    found->set_target(0);
    found->set_size_bytes(100 * kMibOfRegions);
  }
  // Each of two hosts has 50 MiB.
  EXPECT_TRUE(RegionProblems(job, workers).empty());
  job.mutable_phases(0)->mutable_run()->mutable_workloads(0)->mutable_region()->set_size_bytes(
      20 * kMibOfRegions);
  const std::vector<std::string> problems = RegionProblems(job, workers);
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_NE(problems[0].find("a: phase run, workload w0, target d: the region begins at 40 MiB"),
            std::string::npos)
      << problems[0];
}

}  // namespace
}  // namespace lockstep::controller
