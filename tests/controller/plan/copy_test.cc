// Copies: what a job leaves out, what is refused, and which of the two targets is written.

#include <functional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "controller/plan/assign.h"
#include "controller/plan/copy_rules.h"
#include "controller/plan/settle.h"
#include "controller/plan/sweep.h"
#include "gtest/gtest.h"
#include "proto/workload.h"
#include "tests/controller/plan/plan_job.h"

namespace lockstep::controller {
namespace {

constexpr int64_t kMib = 1 << 20;

v1::Target* AddFile(const std::string& name, int64_t bytes, v1::JobSpec* job) {
  v1::Target* target = job->add_targets();
  target->set_name(name);
  target->mutable_file()->set_path("/data/{host}/" + name);
  target->mutable_file()->set_size_bytes(bytes);
  return target;
}

// Fills the source, copies it to a file that a prepare phase has laid out, and removes both. Not
// filled in.
v1::JobSpec Bare() {
  v1::JobSpec job;
  job.set_name("copy");
  AddFile("src", 64 * kMib, &job);
  AddFile("dst", 64 * kMib, &job);
  job.add_phases()->mutable_prepare();
  v1::Workload* w = job.add_phases()->mutable_run()->add_workloads();
  w->mutable_copy()->set_from("src");
  w->mutable_copy()->set_to("dst");
  w->set_block_size_bytes(kMib);
  w->set_queue_depth(8);
  return job;
}

v1::Workload* CopyWorkloadOf(v1::JobSpec* job) {
  return job->mutable_phases(1)->mutable_run()->mutable_workloads(0);
}

std::vector<std::string> CopyProblemsOf(v1::JobSpec job) {
  FillJob(&job);
  std::vector<std::string> list;
  for (const v1::Problem& problem : Validate(job)) {
    list.push_back(problem.path() + ": " + problem.message());
  }
  return list;
}

bool HasProblem(const v1::JobSpec& job, const std::string& begin, const std::string& words) {
  for (const std::string& problem : CopyProblemsOf(job)) {
    if (absl::StartsWith(problem, begin) && absl::StrContains(problem, words)) return true;
  }
  return false;
}

// A worker that has inspected both targets.
PlanWorker Inspected(const std::string& host, uint64_t from_bytes, uint64_t to_bytes) {
  PlanWorker worker = Worker(host, host);
  for (const uint64_t bytes : {from_bytes, to_bytes}) {
    v1::TargetInspection* found = worker.inspection.add_targets();
    found->set_target(static_cast<uint32_t>(worker.inspection.targets_size() - 1));
    found->set_size_bytes(bytes);
  }
  return worker;
}

TEST(CopyPlanTest, ACopyNamesItsTargetsAndEndsAfterAPass) {
  v1::JobSpec job = Bare();
  FillJob(&job);
  EXPECT_EQ(absl::StrJoin(CopyProblemsOf(job), "\n"), "");
  const v1::Workload& w = job.phases(1).run().workloads(0);
  EXPECT_EQ(absl::StrJoin(w.targets(), " "), "src dst");
  EXPECT_TRUE(w.pattern().has_sequential());
  EXPECT_EQ(w.passes(), 1u);
  EXPECT_EQ(w.read_ratio(), 0.5);
  EXPECT_TRUE(Reads(w) && Writes(w) && !Trims(w));
  EXPECT_TRUE(ReadsFrom(w, "src") && !WritesTo(w, "src"));
  EXPECT_TRUE(!ReadsFrom(w, "dst") && WritesTo(w, "dst"));
}

TEST(CopyPlanTest, OnlyTheDestinationIsWritten) {
  v1::JobSpec job = Bare();
  job.mutable_phases()->DeleteSubrange(0, 1);
  job.mutable_phases(0)->mutable_run()->mutable_workloads(0)->set_create(true);
  FillJob(&job);
  ASSERT_EQ(absl::StrJoin(CopyProblemsOf(job), "\n"), "");
  const std::vector<TargetUse> use = UseOfTargets(job);
  EXPECT_FALSE(use[0].written || use[0].prepared);
  EXPECT_TRUE(use[1].written && use[1].prepared);
  EXPECT_EQ(TargetsWrittenBy(job, job.phases(0)), std::set<uint32_t>{1});
  EXPECT_EQ(TargetsOf(job, job.phases(0)), (std::vector<uint32_t>{0, 1}));
  const SettledRun run{"r", job, 7, {Inspected("a", 64 * kMib, 64 * kMib)}};
  const auto assignments = MakeAssignments(run, job.phases(0), 0, 1, {0});
  ASSERT_TRUE(assignments.ok());
  EXPECT_FALSE((*assignments)[0].targets(0).written());
  EXPECT_TRUE((*assignments)[0].targets(1).written());
}

TEST(CopyPlanTest, TheDestinationIsItsOwnersAloneFromThePreparePhaseOn) {
  v1::JobSpec job = Bare();
  FillJob(&job);
  const SettledRun run{"r", job, 7, {Inspected("a", 64 * kMib, 64 * kMib)}};
  for (int phase = 0; phase < 2; ++phase) {
    const auto assignments = MakeAssignments(run, job.phases(phase), phase, 1, {0});
    ASSERT_TRUE(assignments.ok()) << assignments.status();
    ASSERT_EQ((*assignments)[0].targets_size(), 2);
    EXPECT_FALSE((*assignments)[0].targets(0).owner_only());
    EXPECT_TRUE((*assignments)[0].targets(1).owner_only());
  }
}

TEST(CopyPlanTest, LunsAreCopiedByTheirEngine) {
  v1::JobSpec job = Bare();
  job.mutable_phases()->DeleteSubrange(0, 1);
  for (int t = 0; t < 2; ++t) {
    job.mutable_targets(t)->mutable_iscsi()->set_url(
        absl::StrCat("iscsi://array/iqn.2026-11.test:one/", t));
  }
  FillJob(&job);
  EXPECT_EQ(absl::StrJoin(CopyProblemsOf(job), "\n"), "");
  EXPECT_EQ(job.phases(0).run().workloads(0).engine(), v1::ENGINE_ISCSI);
}

struct BadCopy {
  std::function<void(v1::JobSpec*)> spoil;
  const char* field;
  const char* words;
};
const BadCopy kBadCopies[] = {
    {[](v1::JobSpec* job) { CopyWorkloadOf(job)->mutable_copy()->set_to("src"); }, "copy.to",
     "needs two targets"},
    {[](v1::JobSpec* job) { CopyWorkloadOf(job)->mutable_copy()->set_from("none"); }, "copy.from",
     "no target is named 'none'"},
    {[](v1::JobSpec* job) { CopyWorkloadOf(job)->add_targets("dst"); }, "targets",
     "leave targets out"},
    {[](v1::JobSpec* job) { CopyWorkloadOf(job)->set_read_ratio(1); }, "read", "leave read out"},
    {[](v1::JobSpec* job) { CopyWorkloadOf(job)->set_trim_ratio(0.5); }, "trim", "leave trim out"},
    {[](v1::JobSpec* job) { CopyWorkloadOf(job)->set_merge(2); }, "copy", "one block size"},
    {[](v1::JobSpec* job) { CopyWorkloadOf(job)->mutable_pattern()->mutable_random(); }, "pattern",
     "sequential or shuffled"},
    {[](v1::JobSpec* job) { CopyWorkloadOf(job)->mutable_open_loop()->set_rate_per_second(5); },
     "open_loop", "use max_iops"},
    {[](v1::JobSpec* job) { CopyWorkloadOf(job)->set_operations(5); }, "operations", "its passes"},
    {[](v1::JobSpec* job) { CopyWorkloadOf(job)->set_io_size_bytes(kMib); }, "io_size",
     "its passes"},
    {[](v1::JobSpec* job) { CopyWorkloadOf(job)->mutable_content()->mutable_zeros(); }, "content",
     "leave content out"},
    {[](v1::JobSpec* job) { CopyWorkloadOf(job)->set_files_per_thread(true); }, "files_per_thread",
     "leave it out"},
    {[](v1::JobSpec* job) { CopyWorkloadOf(job)->set_file_order(v1::FILE_ORDER_RANDOM); },
     "file_order", "leave it out"},
    {[](v1::JobSpec* job) {
       CopyWorkloadOf(job)->mutable_fsync()->set_every(1);
       CopyWorkloadOf(job)->mutable_fsync()->set_all_files(true);
     },
     "fsync.all_files", "the source, too"},
    {[](v1::JobSpec* job) {
       job->mutable_targets(1)->mutable_null()->set_size_bytes(64 * kMib);
       job->mutable_phases(0)->mutable_prepare()->add_targets("src");
     },
     "copy.to", "holds nothing"},
    {[](v1::JobSpec* job) { job->mutable_targets(1)->mutable_file()->set_size_bytes(63 * kMib); },
     "copy", "at least as large"},
    {[](v1::JobSpec* job) {
       job->mutable_targets(0)->mutable_file()->set_size_bytes(63 * kMib + 512);
     },
     "copy", "a block_size of 512 B fits"},
    {[](v1::JobSpec* job) {
       job->mutable_targets(1)->mutable_file()->set_size_bytes(40 * kMib + 4096);
       job->mutable_targets(1)->mutable_file()->set_count(2);
     },
     "copy", "a file of 'dst'"},
    {[](v1::JobSpec* job) {
       CopyWorkloadOf(job)->set_create(true);
       job->mutable_targets(1)->set_sharing(v1::SHARING_SLICED);
     },
     "create", "each host's own"},
    {[](v1::JobSpec* job) { CopyWorkloadOf(job)->set_verify(true); }, "verify",
     "write it with verify in an earlier phase"},
};

TEST(CopyPlanTest, CopiesThatCannotBeAreRefusedWithTheirReason) {
  for (const BadCopy& c : kBadCopies) {
    v1::JobSpec job = Bare();
    c.spoil(&job);
    EXPECT_TRUE(HasProblem(job, absl::StrCat("phases[1].run.workloads[0].", c.field), c.words))
        << c.field << ": " << c.words << "; found " << absl::StrJoin(CopyProblemsOf(job), "\n");
  }
}

TEST(CopyPlanTest, ManyFilesGoIntoOneThatIsLarger) {
  v1::JobSpec job = Bare();
  job.mutable_targets(0)->mutable_file()->set_size_bytes(7 * kMib);
  job.mutable_targets(0)->mutable_file()->set_count(9);
  // A rest of no whole block stays as it is.
  job.mutable_targets(1)->mutable_file()->set_size_bytes(64 * kMib + 512);
  EXPECT_EQ(absl::StrJoin(CopyProblemsOf(job), "\n"), "");
}

TEST(CopyPlanTest, SizesThatWorkersFindMustFit) {
  v1::JobSpec job = Bare();
  job.mutable_phases()->DeleteSubrange(0, 1);
  job.mutable_targets(0)->mutable_device()->set_path("/dev/sda");
  FillJob(&job);
  ASSERT_EQ(absl::StrJoin(CopyProblemsOf(job), "\n"), "");
  const auto problems = [&](const std::vector<PlanWorker>& workers) {
    return absl::StrJoin(CopyProblems(job, workers), "\n");
  };
  EXPECT_EQ(problems({Inspected("a", 64 * kMib, 0)}), "");
  const std::string larger = problems({Inspected("a", 65 * kMib, 0)});
  EXPECT_TRUE(absl::StrContains(larger, "a: phase run, workload w0: the source 'src' has"))
      << larger;
  // A device is sliced by default, and slices are of whole MiB.
  EXPECT_TRUE(absl::StrContains(problems({Inspected("a", 60 * kMib + 4096, 0)}),
                                "the last 4096 bytes of 'src' are in no host's slice"));
  EXPECT_TRUE(absl::StrContains(
      problems({Inspected("a", 64 * kMib, 0), Inspected("b", 64 * kMib, 0)}), "are not the same"));
  // Both sides in the same parts.
  job.mutable_targets(1)->mutable_device()->set_path("/dev/sdb");
  job.mutable_targets(1)->set_sharing(v1::SHARING_SLICED);
  EXPECT_EQ(problems({Inspected("a", 64 * kMib, 64 * kMib), Inspected("b", 64 * kMib, 64 * kMib)}),
            "");
  EXPECT_TRUE(absl::StrContains(
      problems({Inspected("a", 64 * kMib, 66 * kMib), Inspected("b", 64 * kMib, 66 * kMib)}),
      "are not the same"));
  // The plan of the fleet refuses the same.
  EXPECT_FALSE(CheckFleet(job, {Inspected("a", 65 * kMib, 64 * kMib)}, {}).refusals.empty());
}

TEST(CopyPlanTest, AFleetOfManySizesNamesTheFirstProblems) {
  v1::JobSpec job = Bare();
  job.mutable_phases()->DeleteSubrange(0, 1);
  job.mutable_targets(0)->mutable_device()->set_path("/dev/sda");
  FillJob(&job);
  std::vector<PlanWorker> workers;
  for (uint64_t w = 0; w < 300; ++w) {
    workers.push_back(
        Inspected("node" + std::to_string(w), (100000 + 30000 * w) * kMib, 64 * kMib));
  }
  EXPECT_EQ(CopyProblems(job, workers).size(), 100u);
}

TEST(CopyPlanTest, AStampBelongsToNoBlock) {
  v1::JobSpec job = Bare();
  job.mutable_phases()->DeleteSubrange(0, 1);
  job.mutable_targets(1)->mutable_device()->set_path("/dev/sdb");
  job.mutable_phases(0)->mutable_run()->mutable_workloads(0)->set_block_size_bytes(2 * kMib);
  FillJob(&job);
  PlanWorker worker = Inspected("a", 0, 100 * kMib);
  worker.inspection.mutable_targets(1)->set_stamp_bytes(kMib);
  const std::string problem = absl::StrJoin(CopyProblems(job, {worker}), "\n");
  EXPECT_TRUE(absl::StrContains(problem, "'dst' is enrolled")) << problem;
}

TEST(CopyPlanTest, OverlappingTargetsAreRefused) {
  v1::JobSpec job = Bare();
  FillJob(&job);
  PlanWorker worker = Inspected("a", 64 * kMib, 64 * kMib);
  for (int t = 0; t < 2; ++t) {
    worker.inspection.mutable_targets(t)->add_ranges()->set_thing(7);
  }
  const FleetCheck check = CheckFleet(job, {worker}, {});
  ASSERT_EQ(check.refusals.size(), 1u);
  EXPECT_TRUE(absl::StrContains(check.refusals[0], "the same bytes under two names"));
}

TEST(CopyPlanTest, ACopyWithVerifyIsVerifiedAndOneWithoutIsNot) {
  v1::JobSpec job = Bare();
  v1::PreconditionPhase* fill = job.mutable_phases(0)->mutable_precondition();
  fill->add_targets("src");
  fill->set_block_size_bytes(kMib);
  fill->set_verify(true);
  CopyWorkloadOf(&job)->set_verify(true);
  job.add_phases()->mutable_verify();
  EXPECT_EQ(absl::StrJoin(CopyProblemsOf(job), "\n"), "");
  FillJob(&job);
  EXPECT_EQ(absl::StrJoin(job.phases(2).verify().targets(), " "), "src dst");
  EXPECT_EQ(job.phases(2).verify().block_size_bytes(), kMib);
  CopyWorkloadOf(&job)->set_verify(false);
  EXPECT_TRUE(HasProblem(job, "phases[2].verify.targets[1]", "was copied without verify"));
  job.mutable_phases(2)->mutable_verify()->set_any_run(true);
  EXPECT_EQ(absl::StrJoin(CopyProblemsOf(job), "\n"), "");
  // Blocks that are written over it with headers may be verified again.
  job.mutable_phases(2)->mutable_precondition()->add_targets("dst");
  job.mutable_phases(2)->mutable_precondition()->set_verify(true);
  job.add_phases()->mutable_verify()->add_targets("dst");
  EXPECT_EQ(absl::StrJoin(CopyProblemsOf(job), "\n"), "");
}

TEST(CopyPlanTest, BlocksOfAnotherSizeCannotBeCheckedOnTheWay) {
  v1::JobSpec job = Bare();
  v1::PreconditionPhase* fill = job.mutable_phases(0)->mutable_precondition();
  fill->add_targets("src");
  fill->set_block_size_bytes(65536);
  fill->set_verify(true);
  CopyWorkloadOf(&job)->set_verify(true);
  EXPECT_TRUE(HasProblem(job, "phases[1].run.workloads[0].verify", "no blocks of this size"));
}

TEST(CopyPlanTest, ASweepChangesTheCopyAndNotItsTargets) {
  v1::JobSpec job = Bare();
  job.mutable_phases()->DeleteSubrange(0, 1);
  v1::Sweep* sweep = job.mutable_phases(0)->mutable_run()->mutable_sweep();
  v1::SweepAxis* axis = sweep->add_axes();
  axis->set_field("targets.dst.file.size");
  axis->add_values("64MiB");
  axis->add_values("65MiB");
  ASSERT_TRUE(SettleJob(&job).empty());
  EXPECT_EQ(job.targets_size(), 3);
  v1::RunPhase point = job.phases(0).run();
  ASSERT_TRUE(Apply(PointAt(point.sweep(), 1), &point).ok());
  EXPECT_EQ(point.workloads(0).copy().from(), "src");
  EXPECT_EQ(point.workloads(0).copy().to(), job.targets(2).name());
  EXPECT_EQ(point.workloads(0).targets(1), job.targets(2).name());
  EXPECT_FALSE(Apply("copy.to", "src", &point).ok());
  EXPECT_FALSE(Apply("workloads.0.copy.from", "dst", &point).ok());
}

}  // namespace
}  // namespace lockstep::controller
