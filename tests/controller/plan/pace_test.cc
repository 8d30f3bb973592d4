// When workloads run and how fast they may go: what is refused, and who gets which share.

#include <functional>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "proto/workload.h"
#include "tests/controller/plan/plan_job.h"

namespace lockstep::controller {
namespace {

constexpr int64_t kPlanSecond = 1000000000;

// The problems of a job with one run phase of 10 s.
std::vector<std::string> PaceProblems(const std::function<void(v1::RunPhase*)>& change) {
  v1::JobSpec job = Job();
  change(job.mutable_phases(1)->mutable_run());
  FillJob(&job);
  std::vector<std::string> list;
  for (const v1::Problem& problem : Validate(job)) {
    list.push_back(problem.path() + ": " + problem.message());
  }
  return list;
}

v1::Workload* First(v1::RunPhase* run) { return run->mutable_workloads(0); }

TEST(PaceTest, AWorkloadBeginsAndEndsWithinItsRun) {
  const std::string at = "phases[1].run.workloads[0]";
  EXPECT_EQ(
      PaceProblems([](v1::RunPhase* run) { First(run)->set_start_delay_ns(10 * kPlanSecond); }),
      std::vector<std::string>{at + ".start_delay: the run ends after 10 s, before it begins"});
  EXPECT_EQ(
      PaceProblems([](v1::RunPhase* run) {
        First(run)->set_start_delay_ns(4 * kPlanSecond);
        First(run)->set_runtime_ns(7 * kPlanSecond);
      }),
      std::vector<std::string>{at + ".runtime: would end after 11 s, and the run ends after 10 s; "
                                    "leave it out, or give the run a longer duration"});
  EXPECT_TRUE(PaceProblems([](v1::RunPhase* run) {
                First(run)->set_start_delay_ns(4 * kPlanSecond);
                First(run)->set_runtime_ns(6 * kPlanSecond);
              }).empty());
  // It is an end like a number of I/Os.
  EXPECT_TRUE(PaceProblems([](v1::RunPhase* run) {
                run->set_duration_ns(0);
                First(run)->set_runtime_ns(6 * kPlanSecond);
              }).empty());
}

TEST(PaceTest, LimitsOfDirectionsFitTheirWorkload) {
  const std::string at = "phases[1].run.workloads[0]";
  const auto with = [&](const std::function<void(v1::Workload*)>& change) {
    return PaceProblems([&](v1::RunPhase* run) {
      First(run)->mutable_read_limit()->set_iops(100);
      First(run)->mutable_write_limit()->set_throughput_bytes_per_second(1 << 20);
      change(First(run));
    });
  };
  EXPECT_TRUE(with([](v1::Workload*) {}).empty());
  EXPECT_EQ(
      with([](v1::Workload* w) { w->set_read_ratio(1); }),
      std::vector<std::string>{at + ".write_limit: this workload has no I/O of this direction"});
  EXPECT_EQ(with([](v1::Workload* w) { w->mutable_read_limit()->clear_iops(); }),
            std::vector<std::string>{at + ".read_limit: says nothing: write iops or throughput"});
  EXPECT_EQ(with([](v1::Workload* w) { w->mutable_open_loop()->set_rate_per_second(10); }).size(),
            2u);
  EXPECT_EQ(with([](v1::Workload* w) { w->set_trim_ratio(0.5); }).size(), 2u);
  // One limit alone waits for its direction, and changes no mix.
  EXPECT_EQ(with([](v1::Workload* w) {
              w->clear_write_limit();
              w->clear_read_ratio();
              w->clear_block_size_bytes();
              v1::AccessLine* line = w->add_access();
              line->set_block_size_bytes(4096);
              line->set_read_ratio(0.5);
            }),
            std::vector<std::string>{});
}

TEST(PaceTest, WhatEndsAPhaseHasAnEnd) {
  const std::string at = "phases[1].run.workloads[0]";
  EXPECT_EQ(PaceProblems([](v1::RunPhase* run) { First(run)->set_ends_phase(true); }),
            std::vector<std::string>{at + ".ends_phase: this workload has no end of its own: give "
                                          "it operations, io_size, passes or a runtime"});
  EXPECT_TRUE(PaceProblems([](v1::RunPhase* run) {
                First(run)->set_ends_phase(true);
                First(run)->set_operations(1000);
              }).empty());
}

TEST(PaceTest, AMinimumRateCanBeKept) {
  const std::string at = "phases[1].run.workloads[0].min_rate";
  EXPECT_EQ(PaceProblems([](v1::RunPhase* run) { First(run)->mutable_min_rate(); }),
            std::vector<std::string>{at + ": says nothing: write iops or throughput"});
  EXPECT_EQ(PaceProblems([](v1::RunPhase* run) {
              First(run)->set_max_iops(100);
              First(run)->mutable_min_rate()->set_iops(101);
            }),
            std::vector<std::string>{at + ".iops: is above max_iops"});
  EXPECT_EQ(PaceProblems([](v1::RunPhase* run) {
              First(run)->mutable_min_rate()->set_iops(1);
              First(run)->mutable_min_rate()->set_window_ns(20 * kPlanSecond);
            }),
            std::vector<std::string>{at + ".window: is longer than the run, 10 s"});
}

TEST(PaceTest, APriorityIsForWhatTheKernelSchedules) {
  EXPECT_TRUE(PaceProblems([](v1::RunPhase* run) {
                First(run)->mutable_io_priority()->set_class_(v1::IO_PRIORITY_CLASS_IDLE);
              }).empty());
  v1::JobSpec job = Job();
  First(job.mutable_phases(1)->mutable_run())->mutable_io_priority();
  FillJob(&job);
  const v1::IoPriority& filled = job.phases(1).run().workloads(0).io_priority();
  EXPECT_EQ(filled.class_(), v1::IO_PRIORITY_CLASS_BEST_EFFORT);
  EXPECT_EQ(filled.level(), 4u);
}

TEST(PaceTest, AFlowIsAShareAmongWorkloads) {
  const std::string at = "phases[1].run.workloads[0]";
  const std::vector<std::string> alone = {
      at +
      ".flow: is a share, and no other workload of this phase has a flow with the same "
      "flow_group"};
  EXPECT_EQ(PaceProblems([](v1::RunPhase* run) { First(run)->set_flow(8); }), alone);
  const auto with_other = [&](uint32_t group) {
    return PaceProblems([&](v1::RunPhase* run) {
      First(run)->set_flow(8);
      v1::Workload* other = run->add_workloads();
      *other = *First(run);
      other->set_name("other");
      other->set_flow(1);
      other->set_flow_group(group);
    });
  };
  EXPECT_TRUE(with_other(0).empty());
  EXPECT_EQ(with_other(1).size(), 2u);
  EXPECT_EQ(PaceProblems([](v1::RunPhase* run) { First(run)->set_flow_group(2); }),
            std::vector<std::string>{at + ".flow_group: says nothing without a flow"});
}

TEST(PaceTest, PrioritiesOfLinesGoWithEachIo) {
  const auto with = [](const std::function<void(v1::Workload*)>& change) {
    return PaceProblems([&](v1::RunPhase* run) {
      v1::Workload* w = First(run);
      w->clear_block_size_bytes();
      w->clear_read_ratio();
      w->mutable_pattern()->mutable_random();
      for (int i = 0; i < 2; ++i) w->add_access()->set_block_size_bytes(4096);
      w->mutable_access(1)->mutable_io_priority()->set_class_(v1::IO_PRIORITY_CLASS_IDLE);
      change(w);
    });
  };
  const std::string at = "phases[1].run.workloads[0].access[1].io_priority: ";
  EXPECT_EQ(with([](v1::Workload*) {}), std::vector<std::string>{});
  EXPECT_EQ(with([](v1::Workload* w) { w->set_direct(false); }),
            std::vector<std::string>{at + "needs direct: true"});
  EXPECT_EQ(with([](v1::Workload* w) {
              w->set_engine(v1::ENGINE_SYNC);
              w->set_queue_depth(1);
            }),
            std::vector<std::string>{
                at + "needs an engine that sends it with each I/O: io_uring or libaio"});
}

TEST(PaceTest, NodesStandInPlaceOfProcessorsAndOfOneNode) {
  const std::string at = "phases[1].run.workloads[0].engine_options.";
  EXPECT_EQ(PaceProblems([](v1::RunPhase* run) {
              First(run)->mutable_engine_options()->add_cpus(0);
              First(run)->mutable_engine_options()->add_cpu_nodes(0);
            }),
            std::vector<std::string>{at + "cpu_nodes: stands beside cpus; give one"});
  EXPECT_EQ(PaceProblems([](v1::RunPhase* run) {
              First(run)->mutable_engine_options()->set_numa_node(0);
              First(run)->mutable_engine_options()->add_interleave_nodes(0);
            }),
            std::vector<std::string>{at + "interleave_nodes: stands beside numa_node; give one"});
}

TEST(PaceTest, ARuntimeIsMeasuredTime) {
  v1::Workload w;
  EXPECT_EQ(v1::OwnEndNs(w, 5), 0);
  w.set_runtime_ns(10);
  EXPECT_EQ(v1::OwnEndNs(w, 5), 15);
  w.set_start_delay_ns(3);
  EXPECT_EQ(v1::OwnEndNs(w, 5), 15);
  w.set_start_delay_ns(8);
  EXPECT_EQ(v1::OwnEndNs(w, 5), 18);
}

}  // namespace
}  // namespace lockstep::controller
