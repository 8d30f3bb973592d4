// The limits of a job: each is checked before anything is made of the job.

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "controller/plan/selection.h"
#include "controller/plan/validate.h"
#include "gtest/gtest.h"
#include "tests/controller/plan/plan_job.h"

namespace lockstep::controller {
namespace {

TEST(JobLimitsTest, HostRanges) {
  EXPECT_EQ(*ExpandHostNames("node[1-3]"), (std::vector<std::string>{"node1", "node2", "node3"}));
  EXPECT_EQ(ExpandHostNames("n[08-10]-[a,b]")->size(), 6u);
  EXPECT_EQ(ExpandHostNames("n[08-10]")->at(0), "n08");
  EXPECT_EQ(*ExpandHostNames("plain"), std::vector<std::string>{"plain"});
}

TEST(JobLimitsTest, RangesOfHostsAreCountedBeforeTheyAreMade) {
  for (const char* text :
       {"x[4294967295-4294967295]", "x[0-65535][0-65535]", "x[0-99][0-99][0-99]",
        "[a,b][a,b][a,b][a,b][a,b][a,b][a,b][a,b][a,b]", "x[1-2", "../..", "a b", "x[1\n]"}) {
    const auto names = ExpandHostNames(text);
    EXPECT_TRUE(absl::IsInvalidArgument(names.status()) || names->size() < 3) << text;
  }
  EXPECT_EQ(ExpandHostNames("x[0-9999]")->size(), 10000u);
  EXPECT_FALSE(ExpandHostNames("x[0-10000]").ok());
  v1::HostSelector selector;
  selector.add_names("x[0-9999]");
  selector.add_names("y[0-9999]");
  EXPECT_TRUE(absl::IsInvalidArgument(Select(selector, {Worker("x1")}).status()));
}

TEST(JobLimitsTest, NamesOfAWholeJobAreCountedBeforeTheyAreMade) {
  v1::JobSpec job = Job();
  for (const char* name : {"a[1-10000]", "b", "c[0-999999999]"}) {
    job.mutable_hosts()->add_names(name);
  }
  EXPECT_FALSE(CheckLimits(job).empty());
  EXPECT_TRUE(absl::IsInvalidArgument(ExpandHostNames("b", 0).status()));
  job = Job();
  v1::PhaseSpec many;
  for (int w = 0; w < 64; ++w) {
    many.mutable_run()->add_workloads()->mutable_hosts()->add_names("a[1-9999]");
  }
  for (int p = 0; p < 20; ++p) *job.add_phases() = many;
  EXPECT_FALSE(CheckLimits(job).empty());
}

// A job of some 90 KB that stands for gigabytes: nothing of it is made before it is refused.
TEST(JobLimitsTest, WhatSweepsBecomeIsReckonedNotMade) {
  v1::JobSpec job = Job();
  v1::PhaseSpec* phase = job.mutable_phases(1);
  v1::RunPhase* run = phase->mutable_run();
  for (int a = 0; a < 8; ++a) {
    v1::SweepAxis* axis = run->mutable_sweep()->add_axes();
    axis->set_field("queue_depth");
    for (int v = 1; v <= 100; ++v) axis->add_values(std::to_string(v));
  }
  const auto points = CheckLimits(job);
  ASSERT_FALSE(points.empty());
  EXPECT_NE(points[0].message().find("by their sweeps and curves"), std::string::npos)
      << points[0].message();

  job = Job();
  run = job.mutable_phases(1)->mutable_run();
  run->mutable_sweep()->add_axes()->set_field("queue_depth");
  for (int v = 1; v <= 100; ++v) run->mutable_sweep()->mutable_axes(0)->add_values("1");
  for (int w = 0; w < 40; ++w) *run->add_workloads() = run->workloads(0);
  run->mutable_sweep()->set_repeat(9);
  const auto workloads = CheckLimits(job);
  ASSERT_FALSE(workloads.empty());
  EXPECT_NE(workloads[0].message().find("have 3"), std::string::npos) << workloads[0].message();

  job = Job();
  const v1::PhaseSpec one = job.phases(1);
  for (int p = 0; p < 50; ++p) {
    v1::PhaseSpec* more = job.add_phases();
    *more = one;
    more->set_name("p" + std::to_string(p));
    v1::Sweep* sweep = more->mutable_run()->mutable_sweep();
    sweep->add_axes()->set_field("queue_depth");
    for (int v = 1; v <= 100; ++v) sweep->mutable_axes(0)->add_values(std::to_string(v));
  }
  EXPECT_FALSE(CheckLimits(job).empty()) << "5,000 phases of 50";
}

// Each shape takes the square of what it has, where nothing is reckoned first.
TEST(JobLimitsTest, ManyTargetsTimesManyWorkloadsOrPhasesAreReckonedToo) {
  const auto first = [](const v1::JobSpec& job) {
    const auto problems = CheckLimits(job);
    return problems.empty() ? std::string() : problems[0].message();
  };
  v1::JobSpec many = Job();
  for (int t = 1; t < 256; ++t) {
    *many.add_targets() = many.targets(0);
    many.mutable_targets(t)->set_name("t" + std::to_string(t));
  }
  // 64 workloads that name 256 targets each, at 100 points: 100 × 64 × 64 × 256 in 100 KB.
  v1::JobSpec job = many;
  v1::PhaseSpec* load = job.mutable_phases(1);
  load->mutable_run()->mutable_workloads(0)->clear_targets();
  for (const v1::Target& target : job.targets()) {
    load->mutable_run()->mutable_workloads(0)->add_targets(target.name());
  }
  for (int w = 1; w < 64; ++w) {
    *load->mutable_run()->add_workloads() = load->run().workloads(0);
  }
  load->mutable_run()->mutable_sweep()->set_repeat(100);
  EXPECT_LT(job.ByteSizeLong(), size_t{200000});
  const auto problems = CheckLimits(job);
  EXPECT_TRUE(std::any_of(problems.begin(), problems.end(), [](const v1::Problem& problem) {
    return problem.message().find("comparisons") != std::string::npos;
  }));

  // Clean-ups that name no target stand for all: 1,000 × 256 names.
  job = many;
  for (int t = 0; t < 256; ++t) {
    job.mutable_targets(t)->set_name(std::string(50, 'n') + std::to_string(t));
  }
  job.clear_phases();
  for (int p = 0; p < 1000; ++p) job.add_phases()->mutable_cleanup();
  EXPECT_NE(first(job).find("become 1"), std::string::npos) << first(job);
}

v1::Workload* WorkloadOf(v1::JobSpec* job) {
  return job->mutable_phases(1)->mutable_run()->mutable_workloads(0);
}

// A job beyond a limit, and how it is named.
struct BadJob {
  std::function<void(v1::JobSpec*)> spoil;
  const char* words;
};
const BadJob kBadJobs[] = {
    {[](v1::JobSpec* j) { WorkloadOf(j)->set_read_ratio(NAN); },
     "phases[1].run.workloads[0].read: is not a finite number"},
    {[](v1::JobSpec* j) { WorkloadOf(j)->mutable_content()->set_compressed_ratio(NAN); },
     "content.compressed: is not a finite number"},
    {[](v1::JobSpec* j) { WorkloadOf(j)->mutable_pattern()->mutable_zipf()->set_theta(NAN); },
     "pattern.zipf.theta: is not a finite number"},
    {[](v1::JobSpec* j) {
       WorkloadOf(j)->mutable_pattern()->mutable_normal()->set_deviation_ratio(1e300);
     },
     "pattern.normal.deviation: "},
    {[](v1::JobSpec* j) { j->mutable_phases(1)->mutable_run()->set_duration_ns(-1); },
     "phases[1].run.duration: "},
    {[](v1::JobSpec* j) { j->mutable_deadlines()->set_arm_ns(-1); }, "deadlines.arm: "},
    {[](v1::JobSpec* j) { j->mutable_deadlines()->set_drain_ns(INT64_MAX); }, "deadlines.drain: "},
    {[](v1::JobSpec* j) { WorkloadOf(j)->set_engine(static_cast<v1::Engine>(77)); },
     "engine: has the value 77"},
    {[](v1::JobSpec* j) { j->set_name(std::string(1 << 20, 'x')); }, "the job has"},
    {[](v1::JobSpec* j) { j->set_name(std::string(1000, 'x')); },
     "name: has 1000 bytes; the maximum is 128"},
    {[](v1::JobSpec* j) { j->set_name("a\x1b]0;title\x07"); },
     "name: 'a\\x1b]0;title\\x07' has control characters"},
    {[](v1::JobSpec* j) { j->set_name(std::string("a\0b", 3)); },
     "name: 'a\\x00b' has control characters"},
    {[](v1::JobSpec* j) { j->set_name("\xff"); }, "is not UTF-8"},
    {[](v1::JobSpec* j) { j->mutable_phases(1)->mutable_run()->mutable_expect()->set_iops(NAN); },
     "expect.iops: is not a finite number"},
    {[](v1::JobSpec* j) { WorkloadOf(j)->set_max_iops(INFINITY); },
     "max_iops: is not a finite number"},
    {[](v1::JobSpec* j) { j->mutable_targets(0)->mutable_file()->set_count(65537); },
     "count: 65537 is too large"},
    {[](v1::JobSpec* j) { j->mutable_hosts()->add_names("x[4294967295-4294967295]"); },
     "hosts.names[0]: "},
    {[](v1::JobSpec* j) { WorkloadOf(j)->mutable_hosts()->add_names("x[0-65535][0-65535]"); },
     "workloads[0].hosts.names[0]: "},
    {[](v1::JobSpec* j) {
       for (int i = 0; i < 60000; ++i) j->add_phases()->mutable_cleanup();
     },
     "phases: has 60003 items; the maximum is 2000"},
    {[](v1::JobSpec* j) {
       for (int i = 0; i < 50; ++i) {
         auto* w = j->mutable_phases(1)->mutable_run()->add_workloads();
         w->set_threads(1024);
       }
     },
     "threads on a worker; the maximum is 4096"},
    {[](v1::JobSpec* j) { (*j->mutable_labels())["k"] = std::string(10000, 'x'); },
     "labels.k: has 10000 bytes"},
};

TEST(JobLimitsTest, WhatIsBeyondAnyLimitIsNamedBeforeAnythingIsDone) {
  EXPECT_TRUE(CheckLimits(Job()).empty());
  for (const BadJob& c : kBadJobs) {
    v1::JobSpec job = Job();
    c.spoil(&job);
    std::string all;
    for (const v1::Problem& problem : CheckLimits(job)) {
      all += problem.path() + ": " + problem.message() + "\n";
    }
    EXPECT_NE(all.find(c.words), std::string::npos) << c.words << "; found: " << all.substr(0, 300);
  }
}

}  // namespace
}  // namespace lockstep::controller
