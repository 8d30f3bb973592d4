// The plan of a job: its defaults, its errors, and its phases.

#include <functional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "controller/plan/assign.h"
#include "controller/plan/loads.h"
#include "controller/plan/next_phase.h"
#include "gtest/gtest.h"
#include "tests/controller/plan/plan_job.h"

namespace lockstep::controller {
namespace {

TEST(PlanTest, DefaultsMakeAShortJobWhole) {
  const v1::JobSpec job = Job();
  EXPECT_TRUE(Validate(job).empty());
  const v1::Workload& w = job.phases(1).run().workloads(0);
  EXPECT_EQ(w.targets(0), "t");
  EXPECT_EQ(w.threads(), 1u);
  EXPECT_TRUE(w.direct());
  EXPECT_TRUE(w.pattern().has_random());
  EXPECT_EQ(job.phases(0).name(), "prepare");
  EXPECT_EQ(job.targets(0).sharing(), v1::SHARING_PRIVATE);
  EXPECT_TRUE(UseOfTargets(job)[0].written);
  EXPECT_TRUE(UseOfTargets(job)[0].prepared);
}

// Only a job that leaves the engine to Lockstep gets another one where io_uring is refused.
TEST(PlanTest, ANamedEngineHasNoFallback) {
  const auto has_fallback = [](const std::function<void(v1::Workload*)>& change) {
    v1::JobSpec job;
    change(job.add_phases()->mutable_run()->add_workloads());
    ChooseEngines(&job);
    return job.phases(0).run().workloads(0).engine_options().fallback();
  };
  EXPECT_TRUE(has_fallback([](v1::Workload*) {}));
  EXPECT_FALSE(has_fallback([](v1::Workload* w) { w->set_engine(v1::ENGINE_IO_URING); }));
  EXPECT_FALSE(has_fallback(
      [](v1::Workload* w) { w->mutable_engine_options()->set_submission_polling(true); }));
  EXPECT_FALSE(
      has_fallback([](v1::Workload* w) { w->mutable_engine_options()->set_fallback(false); }));
}

std::vector<std::string> ProblemsOf(v1::JobSpec job) {
  FillJob(&job);
  std::vector<std::string> list;
  for (const v1::Problem& problem : Validate(job)) {
    list.push_back(problem.path() + ": " + problem.message());
  }
  return list;
}

TEST(PlanTest, EveryProblemIsNamedWithItsPath) {
  v1::JobSpec job = Job();
  job.mutable_phases(1)->mutable_run()->set_duration_ns(0);
  job.mutable_phases(1)->mutable_run()->set_ramp_ns(1500000000);
  job.mutable_phases(1)->mutable_run()->mutable_workloads(0)->set_block_size_bytes(1000);
  job.mutable_targets(0)->mutable_file()->set_path("relative");
  const auto problems = ProblemsOf(job);
  EXPECT_EQ(problems.size(), 5u);
  EXPECT_EQ(problems[0], "targets[0].file.path: 'relative' is not an absolute path");
  EXPECT_NE(problems[1].find("phases[1].run.ramp: must be a multiple of the interval"),
            std::string::npos);
}

TEST(PlanTest, APromiseHasAFigure) {
  v1::JobSpec job = Job();
  v1::Promised* promised = job.mutable_phases(1)->mutable_run()->mutable_promised();
  EXPECT_EQ(ProblemsOf(job), std::vector<std::string>{
                                 "phases[1].run.promised: says nothing: write iops or throughput"});
  promised->set_throughput_bytes_per_second(1 << 20);
  EXPECT_TRUE(ProblemsOf(job).empty());
}

TEST(PlanTest, StripesAreDealtOutAndWhatIsOwnedIsPreconditionedByOne) {
  v1::JobSpec job = Job();
  v1::Target* target = job.mutable_targets(0);
  target->mutable_device()->set_path("/dev/sda");
  target->set_sharing(v1::SHARING_INTERLEAVED);
  job.mutable_phases()->DeleteSubrange(2, 1);
  job.mutable_phases(0)->mutable_precondition();
  FillJob(&job);
  EXPECT_EQ(Validate(job).size(), 0u);
  EXPECT_EQ(job.targets(0).stripe_bytes(), 1 << 20);
  SettledRun run;
  run.job = job;
  for (const char* host : {"a", "b", "c"}) {
    PlanWorker worker = Worker(host, host);
    v1::TargetInspection* found = worker.inspection.add_targets();
    found->set_size_bytes(1 << 30);
    run.workers.push_back(worker);
  }
  auto made = MakeAssignments(run, job.phases(1), 1, 1, {0, 1, 2});
  ASSERT_TRUE(made.ok());
  for (uint32_t w = 0; w < 3; ++w) {
    const v1::TargetAssignment& part = (*made)[w].targets(0);
    EXPECT_EQ(part.slice_length_bytes(), 0u);
    EXPECT_EQ(part.stripe_bytes(), 1u << 20);
    EXPECT_EQ(part.first_stripe(), w);
    EXPECT_EQ(part.stripe_step(), 3u);
  }
  // Too many of them are refused before anything is opened.
  run.workers[0].inspection.mutable_targets(0)->set_size_bytes(uint64_t{1} << 60);
  EXPECT_NE(CheckFleet(job, run.workers, {}).refusals, std::vector<std::string>());
  target->set_stripe_bytes((1 << 20) + 512);
  EXPECT_EQ(Validate(job).size(), 1u);
  target->clear_stripe_bytes();
  target->set_sharing(v1::SHARING_OWNED);
  EXPECT_EQ(LoadOf(job, job.phases(0)).workloads(0).hosts().count(), 1u);
  const FleetCheck check = CheckFleet(job, run.workers, {});
  ASSERT_EQ(check.refusals.size(), 1u);
  EXPECT_NE(check.refusals[0].find("is owned, and 3 hosts write it"), std::string::npos)
      << check.refusals[0];
}

TEST(PlanTest, AnIscsiTargetHasItsEngineAndNoSecretInItsAddress) {
  v1::JobSpec job = Job();
  v1::Target* target = job.mutable_targets(0);
  target->mutable_iscsi()->set_url("iscsi://array/iqn.2026-11.test:one/3");
  target->clear_sharing();
  // There is nothing to lay out or to remove.
  job.mutable_phases()->DeleteSubrange(2, 1);
  job.mutable_phases()->DeleteSubrange(0, 1);
  job.mutable_phases(0)->mutable_run()->mutable_workloads(0)->set_engine(v1::ENGINE_UNSPECIFIED);
  FillJob(&job);
  EXPECT_EQ(Validate(job).size(), 0u);
  EXPECT_EQ(job.phases(0).run().workloads(0).engine(), v1::ENGINE_ISCSI);
  EXPECT_EQ(job.targets(0).sharing(), v1::SHARING_SLICED);
  EXPECT_EQ(job.targets(0).iscsi().reconnect_ns(), 30000000000);
  for (const char* wrong :
       {"iscsi://u%p@array/iqn.2026-11.test:one/3", "iscsi://array/iqn.2026-11.test:one",
        "iscsi://array:0/iqn.a/1", "iscsi://array/../1", "iscsi:///iqn.a/1", "/dev/sda",
        "iscsi://array/iqn.a/99999", "iscsi://array/iqn.a/-1", "iscsi://[::1/iqn.a/1"}) {
    job.mutable_targets(0)->mutable_iscsi()->set_url(wrong);
    const auto problems = Validate(job);
    ASSERT_EQ(problems.size(), 1u) << wrong;
    EXPECT_EQ(problems[0].path(), "targets[0].iscsi.url") << wrong;
    EXPECT_EQ(problems[0].message().find("%p@"), std::string::npos);
  }
  job.mutable_targets(0)->mutable_iscsi()->set_url("iscsi://[fe80::1]:3261/iqn.a/0");
  EXPECT_EQ(Validate(job).size(), 0u);
  job.mutable_phases(0)->mutable_run()->mutable_workloads(0)->set_engine(v1::ENGINE_SYNC);
  EXPECT_FALSE(Validate(job).empty());
}

TEST(PlanTest, ANullTargetSaysWhichEngineToWrite) {
  v1::JobSpec job = Job();
  v1::NullTarget* null = job.mutable_targets(0)->mutable_null();
  null->set_size_bytes(1 << 20);
  v1::Workload* workload = job.mutable_phases(1)->mutable_run()->mutable_workloads(0);
  workload->set_engine(v1::ENGINE_SYNC);
  const auto said = [&] {
    std::string all;
    for (const v1::Problem& problem : Validate(job)) {
      if (problem.path() == "phases[1].run.workloads[0].engine") all += problem.message() + "\n";
    }
    return all;
  };
  EXPECT_NE(said().find("cannot run on the null target"), std::string::npos) << said();
  null->set_latency_ns(1000000);
  EXPECT_NE(said().find("write engine: null\n"), std::string::npos) << said();
  EXPECT_EQ(said().find("cannot run"), std::string::npos) << "one message says what to write";
}

// A workload whose fields do not go together: the error is at the field that must change, and at no
// other.
struct BadWorkload {
  std::function<void(v1::Workload*)> spoil;
  const char* field;
  const char* words;
};
const BadWorkload kBadWorkloads[] = {
    {[](v1::Workload* w) { w->mutable_open_loop(); }, "open_loop", "has no rate"},
    {[](v1::Workload* w) {
       w->mutable_open_loop()->set_rate_per_second(5);
       w->set_max_iops(10);
     },
     "open_loop", "has its rate already"},
    {[](v1::Workload* w) { w->mutable_open_loop()->mutable_measured()->set_phase("later"); },
     "open_loop.measured.phase", "no earlier phase"},
    {[](v1::Workload* w) {
       w->set_engine(v1::ENGINE_SYNC);
       w->set_queue_depth(4);
     },
     "queue_depth", "one I/O in flight"},
    {[](v1::Workload* w) { w->set_engine(v1::ENGINE_MMAP); }, "direct", "page cache"},
    {[](v1::Workload* w) { w->set_engine(v1::ENGINE_NULL); }, "engine", "null targets"},
    {[](v1::Workload* w) {
       w->set_engine(v1::ENGINE_LIBAIO);
       w->mutable_engine_options()->set_submission_polling(true);
     },
     "engine_options", "io_uring's"},
    {[](v1::Workload* w) {
       w->set_read_ratio(1);
       w->mutable_fsync()->set_every(1);
     },
     "fsync", "does not write"},
    {[](v1::Workload* w) { w->mutable_fsync(); }, "fsync", "says not when"},
    {[](v1::Workload* w) {
       w->set_read_ratio(1);
       w->set_trim_ratio(0.5);
     },
     "trim", "not read"},
    {[](v1::Workload* w) {
       w->set_verify(true);
       w->set_trim_ratio(0.5);
     },
     "verify", "trimmed"},
    {[](v1::Workload* w) {
       w->set_verify(true);
       w->mutable_content()->mutable_zeros();
     },
     "content", "leave content out"},
    {[](v1::Workload* w) {
       w->mutable_pattern()->mutable_shuffled();
       w->add_block_sizes()->set_block_size_bytes(4096);
     },
     "pattern", "one block size"},
    {[](v1::Workload* w) {
       auto* z = w->mutable_pattern()->mutable_hot_zones()->add_zones();
       z->set_io_ratio(0.5);
       z->set_size_ratio(0.1);
     },
     "pattern.hot_zones.zones", "not 100%"},
    {[](v1::Workload* w) { w->set_create(true); }, "create", "sequential"},
    {[](v1::Workload* w) {
       w->set_files_per_thread(true);
       w->set_threads(2);
     },
     "files_per_thread", "1 files for 2 threads"},
    {[](v1::Workload* w) {
       auto* line = w->add_access();
       line->set_block_size_bytes(1000);
     },
     "access[0].block_size", "O_DIRECT"},
    {[](v1::Workload* w) {
       w->set_block_size_bytes(8192);
       w->add_block_sizes()->set_block_size_bytes(4096);
     },
     "block_size", "cannot stand beside"},
    {[](v1::Workload* w) { w->mutable_engine_options()->set_batch(2); }, "engine_options.batch",
     "larger than the queue depth"},
    {[](v1::Workload* w) {
       w->set_block_size_bytes(1 << 20);
       w->set_merge(128);
     },
     "merge", "largest is 64 MiB"},
    {[](v1::Workload* w) {
       w->mutable_content()->mutable_zeros();
       w->mutable_content()->set_duplicate_ratio(0.5);
     },
     "content", "zeros"},
};

TEST(PlanTest, WorkloadsThatCannotBeAreRefusedWithTheirReason) {
  for (const BadWorkload& c : kBadWorkloads) {
    v1::JobSpec job = Job();
    v1::Workload* w = job.mutable_phases(1)->mutable_run()->mutable_workloads(0);
    w->clear_load();
    if (std::string(c.words) != "cannot stand beside") w->set_block_size_bytes(0);
    c.spoil(w);
    const auto problems = ProblemsOf(job);
    bool found = false;
    for (const std::string& problem : problems) {
      found = found || (problem.find(absl::StrCat("phases[1].run.workloads[0].", c.field)) == 0 &&
                        problem.find(c.words) != std::string::npos);
    }
    EXPECT_TRUE(found) << c.field << ": " << c.words << "; found "
                       << (problems.empty() ? "nothing" : problems[0]);
  }
}

TEST(PlanTest, ATotalSizeThatIsTooSmallIsOneProblem) {
  v1::JobSpec job = Job();
  v1::FileTarget* file = job.mutable_targets(0)->mutable_file();
  file->clear_size_bytes();
  file->set_total_size_bytes(1024);
  file->set_count(4);
  FillJob(&job);
  std::string all;
  for (const std::string& problem : ProblemsOf(job)) all += problem + "\n";
  EXPECT_NE(all.find("256 B, which is less than a block"), std::string::npos) << all;
  EXPECT_EQ(all.find("holds no block"), std::string::npos) << all;
}

TEST(PlanTest, ACompleteCopyIsRequiredOfACopy) {
  v1::JobSpec job = Job();
  job.mutable_phases(1)->mutable_run()->mutable_expect()->set_complete_copy(true);
  const auto problems = ProblemsOf(job);
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_NE(problems[0].find("expect.complete_copy"), std::string::npos) << problems[0];
}

// It would fail at its end, after an hour.
TEST(PlanTest, FairnessIsRefusedWhereOneHostAloneCanRun) {
  const auto said = [](const std::function<void(v1::JobSpec*, v1::Workload*)>& change) {
    v1::JobSpec job = Job();
    v1::RunPhase* run = job.mutable_phases(1)->mutable_run();
    run->mutable_expect()->set_fairness(0.9);
    change(&job, run->mutable_workloads(0));
    std::string all;
    for (const std::string& problem : ProblemsOf(job)) all += problem + "\n";
    return all;
  };
  const std::string refused = "expect.fairness: cannot be met: it is over hosts, and only one host";
  EXPECT_EQ(said([](v1::JobSpec*, v1::Workload*) {}), "");
  EXPECT_EQ(said([](v1::JobSpec* job, v1::Workload*) { job->mutable_hosts()->set_count(2); }), "");
  EXPECT_EQ(
      said([](v1::JobSpec* job, v1::Workload*) { job->mutable_hosts()->add_names("node[1-2]"); }),
      "");
  for (const auto& one :
       {said([](v1::JobSpec*job, v1::Workload*) { job->mutable_hosts()->set_count(1); }),
        said([](v1::JobSpec*job, v1::Workload*) { job->mutable_hosts()->add_names("node1"); }),
        said([](v1::JobSpec*, v1::Workload*w) { w->mutable_hosts()->set_count(1); })}) {
    EXPECT_NE(one.find(refused), std::string::npos) << one;
    EXPECT_EQ(one.find('\n'), one.size() - 1) << "it is said once: " << one;
  }
  // A point of a sweep says which hosts it has.
  const auto swept = [&](const std::vector<std::string>& counts) {
    return said([&](v1::JobSpec* job, v1::Workload* w) {
      w->mutable_hosts()->set_count(1);
      v1::SweepAxis* axis = job->mutable_phases(1)->mutable_run()->mutable_sweep()->add_axes();
      axis->set_field("hosts.count");
      for (const std::string& count : counts) axis->add_values(count);
    });
  };
  EXPECT_EQ(swept({"2", "4"}), "");
  const std::string points = swept({"1", "2"});
  EXPECT_NE(points.find("=1: expect.fairness cannot be met"), std::string::npos) << points;
}

TEST(PlanTest, PreconditionAndVerifyAreLoadsOverEverything) {
  v1::JobSpec job = Job();
  job.mutable_phases(1)->mutable_run()->mutable_workloads(0)->set_verify(true);
  job.mutable_phases(1)->mutable_run()->mutable_workloads(0)->set_block_size_bytes(16384);
  job.add_phases()->mutable_precondition()->set_passes(3);
  job.add_phases()->mutable_verify()->set_any_run(true);
  FillJob(&job);
  EXPECT_TRUE(Validate(job).empty());
  const v1::RunPhase precondition = LoadOf(job, job.phases(3));
  EXPECT_EQ(precondition.workloads(0).passes(), 3u);
  EXPECT_EQ(precondition.workloads(0).read_ratio(), 0);
  const v1::RunPhase verify = LoadOf(job, job.phases(4));
  EXPECT_EQ(verify.workloads(0).block_size_bytes(), 16384);  // what the workload wrote
  EXPECT_TRUE(verify.workloads(0).verify());
  EXPECT_TRUE(verify.workloads(0).pattern().has_sequential());
  job.mutable_phases(4)->mutable_verify()->set_random(true);
  EXPECT_TRUE(Validate(job).empty());
  // Each block is read once, too.
  EXPECT_TRUE(LoadOf(job, job.phases(4)).workloads(0).pattern().has_shuffled());
  SettledRun run{"r", job, 7, {Worker("a")}};
  const auto assignments = MakeAssignments(run, run.job.phases(4), 4, 1, {0});
  ASSERT_TRUE(assignments.ok());
  EXPECT_TRUE((*assignments)[0].run().workloads(0).check_reads_only());
  EXPECT_TRUE((*assignments)[0].run().workloads(0).check_any_run());
  EXPECT_FALSE((*assignments)[0].targets(0).written());
}

TEST(PlanTest, ACurveBecomesAPhaseForEachShareOfWhatWasMeasured) {
  v1::JobSpec job = Job();
  v1::PhaseSpec* curve = job.add_phases();
  curve->set_name("curve");
  for (double share : {0.1, 0.5, 1.0}) {
    curve->mutable_run()->mutable_curve()->add_share_ratio(share);
  }
  curve->mutable_run()->set_duration_ns(1000000000);
  curve->mutable_run()->add_workloads()->mutable_open_loop()->mutable_measured()->set_phase("run");
  FillJob(&job);
  ASSERT_TRUE(Validate(job).empty());
  EXPECT_EQ(Unrolled(job).phases_size(), 6);
  EXPECT_EQ(Unrolled(job).phases(3).name(), "curve 10 %");
  // The phases so far: prepare, run, cleanup.
  std::vector<StepResult> results;
  for (uint32_t p = 0; p < 3; ++p) {
    const auto next = NextPhase(job, results, Remaining::kAll);
    ASSERT_TRUE(next.ok() && next->has_value());
    EXPECT_EQ((*next)->job_phase, p);
    EXPECT_FALSE((*next)->last);
    results.push_back({.job_phase = p, .step = 0, .name = (*next)->spec.name(), .done = true});
  }
  EXPECT_FALSE(NextPhase(job, results, Remaining::kAll).ok());  // nothing was measured
  results[1].figures.set_iops(1000);
  results[1].done = false;
  EXPECT_FALSE(NextPhase(job, results, Remaining::kAll).ok());  // not to its end
  results[1].done = true;
  const SettledRun run{"r", job, 7, {Worker("a"), Worker("b")}};
  const double rates[] = {100, 500, 1000};
  for (uint32_t step = 0; step < 3; ++step) {
    const auto next = NextPhase(job, results, Remaining::kAll);
    ASSERT_TRUE(next.ok() && next->has_value()) << next.status();
    EXPECT_EQ((*next)->job_phase, 3u);
    EXPECT_EQ((*next)->step, step);
    EXPECT_EQ((*next)->last, step == 2);
    EXPECT_DOUBLE_EQ((*next)->spec.run().workloads(0).open_loop().rate_per_second(), rates[step]);
    ASSERT_EQ((*next)->notes.size(), 1u);
    const auto assignments = MakeAssignments(run, (*next)->spec, 3 + step, 1, {0, 1});
    ASSERT_TRUE(assignments.ok());
    EXPECT_DOUBLE_EQ((*assignments)[1].run().workloads(0).rate_per_second(), rates[step] / 2);
    results.push_back({.job_phase = 3, .step = step, .name = (*next)->spec.name(), .done = true});
  }
  EXPECT_FALSE(NextPhase(job, results, Remaining::kAll)->has_value());
}

TEST(PlanTest, ARunThatEndsGoesOnWithCleanupAlone) {
  v1::JobSpec job = Job();
  ASSERT_TRUE(job.phases(2).has_cleanup());
  FillJob(&job);
  const auto next = NextPhase(job, {{.name = "prepare"}}, Remaining::kCleanup);
  ASSERT_TRUE(next.ok() && next->has_value());
  EXPECT_TRUE((*next)->spec.has_cleanup());
  EXPECT_FALSE(NextPhase(job,
                         {{.job_phase = 0, .step = 0, .name = "prepare", .done = true},
                          {.job_phase = 2, .step = 0, .name = "cleanup", .done = true}},
                         Remaining::kCleanup)
                   ->has_value());
}

TEST(PlanTest, PhasesHaveNamesOfTheirOwn) {
  v1::JobSpec job = Job();
  job.clear_phases();
  for (int i = 0; i < 3; ++i) *job.add_phases()->mutable_run() = Job().phases(1).run();
  FillJob(&job);
  EXPECT_EQ(job.phases(0).name(), "run");
  EXPECT_EQ(job.phases(1).name(), "run 2");
  EXPECT_EQ(job.phases(2).name(), "run 3");
  EXPECT_TRUE(Validate(job).empty());
  job.mutable_phases(2)->set_name("run");
  EXPECT_NE(Validate(job)[0].message().find("'run' is the name of two phases"), std::string::npos);
}

}  // namespace
}  // namespace lockstep::controller
