// Direct I/O on devices of 4 KiB logical blocks: which sizes and offsets are refused.
#include "controller/plan/direct_blocks.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/controller/plan/plan_job.h"

namespace lockstep::controller {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

PlanWorker OnBlocks(const std::string& host, uint32_t bytes) {
  PlanWorker worker = Worker(host);
  v1::TargetInspection* found = worker.inspection.add_targets();
  found->set_device_name("sdb");
  found->set_direct_block_bytes(bytes);
  return worker;
}

v1::Workload* DirectLoadOf(v1::JobSpec* job) {
  return job->mutable_phases(1)->mutable_run()->mutable_workloads(0);
}

TEST(DirectBlocksTest, ABlockSizeBelowTheDevicesIsRefusedOncePerFleet) {
  v1::JobSpec job = Job();
  DirectLoadOf(&job)->set_block_size_bytes(512);
  EXPECT_THAT(DirectBlockProblems(job, {OnBlocks("a", 512), OnBlocks("b", 0)}), IsEmpty());
  const auto problems =
      DirectBlockProblems(job, {OnBlocks("a", 512), OnBlocks("b", 4096), OnBlocks("c", 4096)});
  ASSERT_THAT(problems, SizeIs(1));
  EXPECT_THAT(problems[0], HasSubstr("b: phase "));
  EXPECT_THAT(problems[0], HasSubstr("target t: block_size 512 B is no multiple of the logical "
                                     "block of its device (sdb), 4 KiB"));
  DirectLoadOf(&job)->set_direct(false);
  EXPECT_THAT(DirectBlockProblems(job, {OnBlocks("b", 4096)}), IsEmpty());
}

TEST(DirectBlocksTest, EachSizeAndOffsetOfAWorkloadCounts) {
  const auto problem = [](const auto& change) {
    v1::JobSpec job = Job();
    v1::Workload* w = DirectLoadOf(&job);
    w->set_block_size_bytes(4096);
    change(w);
    const auto problems = DirectBlockProblems(job, {OnBlocks("a", 4096)});
    return problems.empty() ? "" : problems[0];
  };
  EXPECT_EQ(problem([](v1::Workload*) {}), "");
  EXPECT_THAT(problem([](v1::Workload* w) {
                w->add_block_sizes()->set_block_size_bytes(4096);
                w->add_block_sizes()->set_block_size_bytes(6144);
              }),
              HasSubstr("block_sizes 6 KiB"));
  EXPECT_THAT(problem([](v1::Workload* w) { w->mutable_region()->set_offset_bytes(512); }),
              HasSubstr("region.offset 512 B"));
  EXPECT_THAT(problem([](v1::Workload* w) {
                w->mutable_pattern()->mutable_sequential()->set_skip_bytes(1024);
              }),
              HasSubstr("pattern.sequential.skip 1 KiB"));
  EXPECT_THAT(problem([](v1::Workload* w) {
                v1::AccessLine* line = w->add_access();
                line->set_block_size_bytes(4096);
                line->set_align_bytes(512);
              }),
              HasSubstr("access.align 512 B"));
}

TEST(DirectBlocksTest, SkipAndSkipAfterCountTogether) {
  const auto problems = [](int64_t skip_after, int64_t skip) {
    v1::JobSpec job = Job();
    v1::Workload* w = DirectLoadOf(&job);
    w->set_block_size_bytes(4096);
    v1::Sequential* sequential = w->mutable_pattern()->mutable_sequential();
    sequential->set_skip_after_bytes(skip_after);
    sequential->set_skip_bytes(skip);
    return DirectBlockProblems(job, {OnBlocks("a", 4096)});
  };
  // I/Os begin at 0, 8 KiB, 16 KiB.
  EXPECT_THAT(problems(6144, 2048), IsEmpty());
  EXPECT_THAT(problems(6144, 4096),
              ElementsAre(HasSubstr("pattern.sequential.skip_after plus skip 10 KiB is no multiple "
                                    "of the logical block")));
}

TEST(DirectBlocksTest, VerifyAndSweepPhasesAreLookedAt) {
  v1::JobSpec job = Job();
  v1::VerifyPhase* verify = job.add_phases()->mutable_verify();
  verify->add_targets("t");
  verify->set_block_size_bytes(512);
  v1::RunPhase* run = job.mutable_phases(1)->mutable_run();
  v1::SweepAxis* axis = run->mutable_sweep()->add_axes();
  axis->set_field("block_size");
  axis->add_values("4 KiB");
  axis->add_values("1 KiB");
  FillJob(&job);
  EXPECT_THAT(DirectBlockProblems(job, {OnBlocks("a", 4096)}),
              ElementsAre(HasSubstr("block_size 1 KiB"), HasSubstr("block_size 512 B")));
}

}  // namespace
}  // namespace lockstep::controller
