// A backlog of an open loop is a verdict where it grows, also beside other workloads.

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "common/histogram.h"
#include "tests/controller/analysis/stored_phases.h"

namespace lockstep::controller {
namespace {

// Four hosts for ten seconds, with an open loop of which 1,000 I/Os a second are due and 2 % never
// began, beside a workload that ends early. `served`: the I/Os of the open loop in each block of
// the measured time.
Stored BesideAnother(const std::vector<uint64_t>& served) {
  Stored data = FourHosts([](uint32_t, uint32_t) { return 250; });
  v1::RunPhase* run = data.phases[0].phase.spec.mutable_run();
  run->set_duration_ns(10000000000);
  run->mutable_workloads(0)->mutable_open_loop()->set_rate_per_second(1000);
  *run->add_workloads() = run->workloads(0);
  run->mutable_workloads(1)->set_name("early");
  run->mutable_workloads(1)->clear_open_loop();
  *data.run.job.mutable_phases(0) = data.phases[0].phase.spec;
  for (measure::WorkerPhaseData& worker : data.phases[0].workers) {
    v1::WorkloadResult* open = worker.result.mutable_workloads(0);
    open->set_due(2500);
    open->set_unstarted(50);
    open->set_longest_backlog_ns(200000000);
    v1::WorkloadResult* early = worker.result.add_workloads();
    early->set_workload(1);
    *early->add_measured() = Counters(v1::OPERATION_KIND_READ, std::vector<uint64_t>(1000, 100000));
    early->set_ended_ns(250000000);
    v1::WorkloadSample* sample = data.intervals[worker.worker_index][0].add_workloads();
    sample->set_workload(1);
    *sample->add_operations() = early->measured(0);
  }
  for (const uint64_t count : served) {
    common::Histogram latencies;
    if (count > 0) latencies.AddBucket(common::BucketOf(500000), count);
    data.phases[0].blocks.emplace_back()[{0, v1::OPERATION_KIND_READ}] = latencies.Encode();
  }
  return data;
}

// The rate that is due doubles over the phase: from 667 to 1,333 I/Os a second.
Stored Doubling(const std::vector<uint64_t>& served) {
  Stored data = BesideAnother(served);
  data.phases[0]
      .phase.spec.mutable_run()
      ->mutable_workloads(0)
      ->mutable_open_loop()
      ->set_ramp_to_ratio(2);
  return data;
}

enum class Expected { kBacklog, kHiccup };

void ExpectThat(const Stored& data, Expected expected) {
  const bool is_backlog = expected == Expected::kBacklog;
  const v1::PhaseReport phase = ReportOf(data).phases(0);
  EXPECT_EQ(phase.workloads(0).has_backlog(), is_backlog);
  const std::string remarks = absl::StrJoin(phase.remarks(), "; ");
  EXPECT_EQ(absl::StrContains(remarks, "w: BACKLOG: 200 I/Os that were due (2.0 %)"), is_backlog)
      << remarks;
  EXPECT_EQ(absl::StrContains(remarks,
                              "w: the load stood still and its end came before it had "
                              "caught up: 200 I/Os that were due (2.0 %)"),
            !is_backlog)
      << remarks;
}

TEST(BacklogTest, AHiccupAtTheEndIsNoneBesideAnotherWorkload) {
  ExpectThat(BesideAnother({1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000, 800}),
             Expected::kHiccup);
  // It stood still before, too, and made up for that.
  ExpectThat(BesideAnother({500, 1500, 1000, 1000, 1000, 1000, 1000, 1000, 1000, 800}),
             Expected::kHiccup);
  // No I/O completed in the last block: the store has none.
  ExpectThat(BesideAnother({1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000}),
             Expected::kHiccup);
}

TEST(BacklogTest, ARateThatIsNeverKeptIsOne) {
  ExpectThat(BesideAnother(std::vector<uint64_t>(10, 970)), Expected::kBacklog);
  // A stall leaves the middle as it is.
  ExpectThat(BesideAnother({0, 970, 970, 970, 970, 970, 970, 970, 970, 970}), Expected::kBacklog);
}

TEST(BacklogTest, ARateThatChangesIsJudgedByWhatWasDueInEachBlock) {
  const std::vector<uint64_t> due = {700, 767, 833, 900, 967, 1033, 1100, 1167, 1233, 1300};
  std::vector<uint64_t> still = due;
  still.back() = 1100;
  ExpectThat(Doubling(still), Expected::kHiccup);
  // The device serves 1,050 a second: beyond that, which is the last third, the backlog grows.
  std::vector<uint64_t> full;
  for (const uint64_t count : due) full.push_back(std::min<uint64_t>(count, 1050));
  ExpectThat(Doubling(full), Expected::kBacklog);
}

// 200 intervals are 100 blocks of two: blocks of one would seem to be served twice.
TEST(BacklogTest, BlocksOfSeveralIntervalsAreAsLongAsThese) {
  Stored data = BesideAnother(std::vector<uint64_t>(100, 97));
  data.phases[0].phase.interval_ns = 50000000;
  ExpectThat(data, Expected::kBacklog);
  data = BesideAnother(std::vector<uint64_t>(100, 100));
  data.phases[0].phase.interval_ns = 50000000;
  ExpectThat(data, Expected::kHiccup);
}

}  // namespace
}  // namespace lockstep::controller
