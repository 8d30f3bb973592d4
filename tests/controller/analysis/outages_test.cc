// Outages, percentiles that few I/Os carry, and corrupted data.

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/units.h"
#include "controller/analysis/latency.h"
#include "controller/report/verdict.h"
#include "tests/controller/analysis/stored_phases.h"

namespace lockstep::controller {
namespace {

void ThinkBetweenIos(Stored* data, int64_t think_time_ns) {
  for (v1::PhaseSpec* spec : {data->run.job.mutable_phases(0), &data->phases[0].phase.spec}) {
    spec->mutable_run()->mutable_workloads(0)->set_think_time_ns(think_time_ns);
  }
}

// A second workload on all hosts, which begins so long after T and does `iops(k)` in second k.
void AddSecondWorkload(Stored* data, int64_t delay_ns,
                       const std::function<uint64_t(uint32_t k)>& iops) {
  for (v1::PhaseSpec* spec : {data->run.job.mutable_phases(0), &data->phases[0].phase.spec}) {
    v1::Workload* second = spec->mutable_run()->add_workloads();
    *second = spec->run().workloads(0);
    second->set_name("second");
    second->set_start_delay_ns(delay_ns);
  }
  for (measure::WorkerPhaseData& worker : data->phases[0].workers) {
    uint64_t all = 0;
    uint32_t k = 0;
    for (v1::IntervalSample& interval : data->intervals[worker.worker_index]) {
      v1::WorkloadSample* sample = interval.add_workloads();
      sample->set_workload(1);
      const uint64_t count = iops(k++);
      *sample->add_operations() =
          Counters(v1::OPERATION_KIND_READ, std::vector<uint64_t>(count, 500000));
      all += count;
    }
    v1::WorkloadResult* result = worker.result.add_workloads();
    result->set_workload(1);
    *result->add_measured() = Counters(v1::OPERATION_KIND_READ, std::vector<uint64_t>(all, 500000));
  }
}

TEST(OutageTest, WhereAllGoOnThereIsNone) {
  const v1::PhaseReport phase =
      ReportOf(FourHosts([](uint32_t, uint32_t) { return 200; })).phases(0);
  EXPECT_EQ(phase.outages_size(), 0);
  EXPECT_FALSE(phase.has_outage_summary());
}

TEST(OutageTest, AnOutageOfAllSaysWhenHowLongAndWhenTheRateWasBack) {
  const v1::Report report = ReportOf(FourHosts([](uint32_t, uint32_t k) {
    return k == 3 || k == 4 ? 0 : k == 5 ? 100 : 200;
  }));
  const v1::PhaseReport& phase = report.phases(0);
  ASSERT_EQ(phase.outages_size(), 1);
  EXPECT_EQ(phase.outages(0).hosts_size(), 4);
  EXPECT_DOUBLE_EQ(phase.outages(0).begin_seconds(), 3);
  EXPECT_DOUBLE_EQ(phase.outages(0).end_seconds(), 5);
  EXPECT_DOUBLE_EQ(phase.outages(0).recovery_seconds(), 1);
  EXPECT_EQ(phase.outage_summary().total_count(), 1u);
  EXPECT_EQ(phase.outages(0).hosts_count(), 4u);
  EXPECT_DOUBLE_EQ(phase.outages(0).all_hosts_seconds(), 2);
  EXPECT_DOUBLE_EQ(phase.outage_summary().all_hosts_seconds(), 2);
  EXPECT_DOUBLE_EQ(phase.hosts(0).silent_ratio(), 0.2);
  ASSERT_FALSE(Warnings(report).empty());
  EXPECT_TRUE(
      absl::StrContains(Warnings(report)[0], "NO I/O COMPLETED on 4 of 4 hosts for 2 s, from 3 s"))
      << Warnings(report)[0];
}

TEST(OutageTest, OneThatLastsUntilTheEndIsSaidToBeSo) {
  const v1::PhaseReport phase =
      ReportOf(FourHosts([](uint32_t, uint32_t k) { return k >= 8 ? 0 : 200; })).phases(0);
  ASSERT_EQ(phase.outages_size(), 1);
  EXPECT_FALSE(phase.outages(0).has_recovery_seconds());
  // The I/Os that were in flight then took longer, and are in no figure.
  EXPECT_TRUE(absl::StrContains(phase.outage_summary().sentence(),
                                "the longest I/O that completed in this time took"))
      << phase.outage_summary().sentence();
  EXPECT_TRUE(absl::StrContains(phase.outage_summary().sentence(), "it lasted until the end"))
      << phase.outage_summary().sentence();
}

// 1,000 I/Os a second on each host, and then one every two seconds.
TEST(OutageTest, AMuchLowerRateIsAChangeOfLevelAndNoRowOfOutages) {
  const v1::Report report =
      ReportOf(FourHosts([](uint32_t, uint32_t k) { return k < 30 ? 1000 : k % 2; }, 500000, 60));
  const v1::PhaseReport& phase = report.phases(0);
  EXPECT_EQ(phase.outages_size(), 0) << phase.outage_summary().sentence();
  EXPECT_FALSE(phase.has_outage_summary());
  EXPECT_DOUBLE_EQ(phase.hosts(0).silent_ratio(), 0);
  ASSERT_EQ(phase.level_changes_size(), 1);
  EXPECT_DOUBLE_EQ(phase.level_changes(0).at_seconds(), 30);
  EXPECT_DOUBLE_EQ(phase.level_changes(0).before(), 4000);
  EXPECT_DOUBLE_EQ(phase.level_changes(0).after(), 2) << "with the empty seconds";
  const std::string warnings = absl::StrJoin(Warnings(report), "\n");
  EXPECT_TRUE(absl::StrContains(warnings, "IOPS fell from 4,000 to 2 at 30 s")) << warnings;
}

// One host of four: the others keep the fleet's level, and it is a straggler from then on.
TEST(OutageTest, AHostAtAMuchLowerRateIsAStragglerWithoutOutages) {
  const v1::PhaseReport phase =
      ReportOf(FourHosts([](uint32_t h, uint32_t k) { return h != 2 || k < 30 ? 1000 : k % 2; },
                         500000, 60))
          .phases(0);
  EXPECT_EQ(phase.outages_size(), 0);
  ASSERT_EQ(phase.stragglers_size(), 1);
  EXPECT_EQ(phase.stragglers(0).host(), "node2");
  EXPECT_DOUBLE_EQ(phase.stragglers(0).begin_seconds(), 30);
}

TEST(OutageTest, OutagesBetweenFastStretchesStayOutages) {
  const v1::PhaseReport phase =
      ReportOf(FourHosts([](uint32_t, uint32_t k) { return k < 30 || k % 6 == 0 ? 1000 : 0; },
                         500000, 60))
          .phases(0);
  EXPECT_EQ(phase.outages_size(), 5);
  EXPECT_DOUBLE_EQ(phase.outage_summary().shortest_seconds(), 5);
  EXPECT_DOUBLE_EQ(phase.outage_summary().longest_seconds(), 5);
}

TEST(OutageTest, OutagesOfSomeAreCountedAndNamed) {
  const v1::PhaseReport phase = ReportOf(FourHosts([](uint32_t h, uint32_t k) {
                                  return (h == 1 && k == 2) || (h == 2 && k == 6) ? 0 : 200;
                                })).phases(0);
  ASSERT_EQ(phase.outages_size(), 2);
  ASSERT_EQ(phase.outages(1).hosts_size(), 1);
  EXPECT_EQ(phase.outages(1).hosts(0), "node2");
  EXPECT_EQ(phase.outage_summary().hosts(), 2u);
  EXPECT_EQ(phase.outage_summary().total_count(), 0u);
  EXPECT_TRUE(absl::StrContains(phase.outage_summary().sentence(), "never on all hosts at once"))
      << phase.outage_summary().sentence();
}

// Hosts that are silent from second to second together with others, and never all, but for one.
TEST(OutageTest, OnlyTheTimeInWhichAllAreSilentIsOfAll) {
  const v1::PhaseReport phase = ReportOf(FourHosts([](uint32_t h, uint32_t k) {
                                  return k >= 2 + h && k < 6 + h && k < 8 ? 0 : 200;
                                })).phases(0);
  ASSERT_EQ(phase.outages_size(), 1);
  EXPECT_DOUBLE_EQ(phase.outages(0).begin_seconds(), 2);
  EXPECT_DOUBLE_EQ(phase.outages(0).end_seconds(), 8);
  // Host 0 is silent from 2 to 6 s, host 3 from 5 to 8 s.
  EXPECT_DOUBLE_EQ(phase.outages(0).all_hosts_seconds(), 1);
  EXPECT_EQ(phase.outage_summary().total_count(), 1u);
}

// With three I/Os a second an empty second is chance.
TEST(OutageTest, WhatIsNoOutage) {
  EXPECT_EQ(ReportOf(FourHosts([](uint32_t, uint32_t k) { return k == 3 ? 0 : 3; }))
                .phases(0)
                .outages_size(),
            0);
  Stored data = FourHosts([](uint32_t, uint32_t k) { return k >= 3 ? 0 : 200; });
  for (measure::WorkerPhaseData& worker : data.phases[0].workers) {
    worker.result.mutable_workloads(0)->set_ended_ns(2990000000);
  }
  EXPECT_EQ(ReportOf(data).phases(0).outages_size(), 0);
  data = FourHosts([](uint32_t, uint32_t k) { return k <= 2 ? 0 : 200; });
  EXPECT_EQ(ReportOf(data).phases(0).outages_size(), 1);
  DelayWorkload(&data, 2500000000);
  EXPECT_EQ(ReportOf(data).phases(0).outages_size(), 0);
  // Nothing came when it had begun, either.
  data = FourHosts([](uint32_t, uint32_t k) { return k <= 4 ? 0 : 200; });
  DelayWorkload(&data, 2500000000);
  const v1::PhaseReport phase = ReportOf(data).phases(0);
  ASSERT_EQ(phase.outages_size(), 1);
  EXPECT_DOUBLE_EQ(phase.outages(0).begin_seconds(), 3);
}

// Threads that think for a second complete nothing for a second. Longer silences are none of
// theirs.
TEST(OutageTest, ThinkTimeExplainsOnlyWhatIsAboutAsLong) {
  Stored data = FourHosts([](uint32_t, uint32_t k) { return k == 3 || k == 4 ? 0 : 200; });
  ThinkBetweenIos(&data, 1000000000);
  EXPECT_EQ(ReportOf(data).phases(0).outages_size(), 0);
  ThinkBetweenIos(&data, 1000000);
  const v1::PhaseReport phase = ReportOf(data).phases(0);
  ASSERT_EQ(phase.outages_size(), 1);
  EXPECT_DOUBLE_EQ(phase.outages(0).begin_seconds(), 3);
  EXPECT_EQ(phase.outages(0).hosts_count(), 4u);
}

// Bursts of the access pattern, and five seconds between them.
TEST(OutageTest, DelaysOfTheAccessPatternAreNoOutages) {
  Stored data = FourHosts([](uint32_t, uint32_t k) { return k % 6 == 0 ? 1000 : 0; });
  EXPECT_NE(ReportOf(data).phases(0).outages_size(), 0);
  for (v1::PhaseSpec* spec : {data.run.job.mutable_phases(0), &data.phases[0].phase.spec}) {
    v1::AccessLine* line = spec->mutable_run()->mutable_workloads(0)->add_access();
    line->set_block_size_bytes(4096);
    line->set_burst(1000);
    line->set_delay_ns(5000000000);
  }
  EXPECT_EQ(ReportOf(data).phases(0).outages_size(), 0);
}

TEST(OutageTest, AWorkloadThatHasEndedHidesNoOutageOfTheOther) {
  Stored data = FourHosts([](uint32_t, uint32_t k) { return k == 0 ? 2000 : 0; });
  for (measure::WorkerPhaseData& worker : data.phases[0].workers) {
    worker.result.mutable_workloads(0)->set_ended_ns(600000000);
  }
  AddSecondWorkload(&data, 0, [](uint32_t k) { return k == 4 || k == 5 ? 0 : 100; });
  const v1::PhaseReport phase = ReportOf(data).phases(0);
  ASSERT_EQ(phase.outages_size(), 1);
  EXPECT_DOUBLE_EQ(phase.outages(0).begin_seconds(), 4);
  EXPECT_DOUBLE_EQ(phase.outages(0).end_seconds(), 6);
  // Its rate is no evidence when it has ended.
  Stored slow = FourHosts([](uint32_t, uint32_t k) { return k == 0 ? 2000 : 0; });
  for (measure::WorkerPhaseData& worker : slow.phases[0].workers) {
    worker.result.mutable_workloads(0)->set_ended_ns(600000000);
  }
  AddSecondWorkload(&slow, 0, [](uint32_t k) { return k == 4 || k == 5 ? 0 : 2; });
  EXPECT_EQ(ReportOf(slow).phases(0).outages_size(), 0);
}

TEST(OutageTest, AWorkloadThatHasNotBegunHidesNoOutageOfTheOther) {
  Stored data = FourHosts([](uint32_t, uint32_t k) { return k == 2 || k == 3 ? 0 : 100; });
  AddSecondWorkload(&data, 6000000000, [](uint32_t k) { return k < 6 ? 0 : 100; });
  const v1::PhaseReport phase = ReportOf(data).phases(0);
  ASSERT_EQ(phase.outages_size(), 1);
  EXPECT_DOUBLE_EQ(phase.outages(0).begin_seconds(), 2);
  EXPECT_DOUBLE_EQ(phase.outages(0).end_seconds(), 4);
}

// Eight I/Os in an interval are too few to tell of one, and enough to tell of four.
TEST(OutageTest, AtALowRateALongSilenceIsAnOutage) {
  const auto report = [](uint32_t silent) {
    return ReportOf(
               FourHosts([&](uint32_t, uint32_t k) { return k >= 3 && k < 3 + silent ? 0 : 8; }))
        .phases(0);
  };
  EXPECT_EQ(report(1).outages_size(), 0);
  ASSERT_EQ(report(4).outages_size(), 1);
  EXPECT_DOUBLE_EQ(report(4).outages(0).end_seconds(), 7);
}

// A host that did I/O in the ramp or in the drain, and one that never did any.
TEST(OutageTest, AHostThatCompletesNothingHasAnOutageOfAllTheTime) {
  for (const int64_t last_io_ns : {int64_t{0}, int64_t{10000000000}}) {
    Stored data = FourHosts([](uint32_t h, uint32_t) { return h == 3 ? 0 : 200; });
    data.phases[0].workers[3].result.set_last_io_ns(last_io_ns);
    const v1::Report report = ReportOf(data);
    const v1::PhaseReport& phase = report.phases(0);
    ASSERT_EQ(phase.outages_size(), 1);
    ASSERT_EQ(phase.outages(0).hosts_size(), 1);
    EXPECT_EQ(phase.outages(0).hosts(0), "node3");
    EXPECT_DOUBLE_EQ(phase.outages(0).begin_seconds(), 0);
    EXPECT_DOUBLE_EQ(phase.outages(0).end_seconds(), 10);
    EXPECT_DOUBLE_EQ(phase.outages(0).all_hosts_seconds(), 0);
    EXPECT_EQ(phase.outage_summary().of_hosts(), 4u);
    EXPECT_DOUBLE_EQ(phase.hosts(3).silent_ratio(), 1);
    EXPECT_TRUE(absl::StrContains(Warnings(report)[0],
                                  "NO I/O COMPLETED on 1 of 4 hosts for 10 s, from 0 s"))
        << Warnings(report)[0];
    EXPECT_TRUE(absl::StrContains(Warnings(report)[0], "; node3 completed none at all"))
        << Warnings(report)[0];
  }
}

TEST(OutageTest, OutagesBesideAHostThatCompletesNothingKeepTheirTimes) {
  Stored data = FourHosts([](uint32_t h, uint32_t k) {
    return h == 3 || (h == 1 && (k == 4 || k == 7)) ? 0 : k < 2 ? 1000 : 200;
  });
  data.phases[0].workers[3].result.set_last_io_ns(0);
  const v1::PhaseReport phase = ReportOf(data).phases(0);
  ASSERT_EQ(phase.outages_size(), 3);
  EXPECT_EQ(phase.outages(0).hosts(0), "node3");
  EXPECT_FALSE(phase.outages(0).has_recovery_seconds());
  EXPECT_EQ(phase.outages(1).hosts(0), "node1");
  EXPECT_DOUBLE_EQ(phase.outages(1).begin_seconds(), 4);
  EXPECT_DOUBLE_EQ(phase.outages(1).end_seconds(), 5);
  EXPECT_DOUBLE_EQ(phase.outage_summary().shortest_seconds(), 1);
  EXPECT_DOUBLE_EQ(phase.outage_summary().longest_seconds(), 10);
  EXPECT_DOUBLE_EQ(phase.outage_summary().total_seconds(), 10) << "of the phase's time";
}

TEST(OutageTest, TheRateIsBackBesideAHostThatCompletesNothing) {
  const Stored data =
      FourHosts([](uint32_t h, uint32_t k) { return h == 3 || (h == 1 && k == 4) ? 0 : 200; });
  EXPECT_DOUBLE_EQ(ReportOf(data).phases(0).outages(1).recovery_seconds(), 0);
}

TEST(OutageTest, AHostOfWhichNothingWasDueHasNoOutage) {
  Stored data = FourHosts([](uint32_t h, uint32_t k) { return h < 3 && k < 9 ? 1 : 0; });
  data.phases[0].workers[3].result.set_last_io_ns(0);
  v1::PhaseReport phase = ReportOf(data).phases(0);
  EXPECT_EQ(phase.outages_size(), 0);
  EXPECT_FALSE(phase.hosts(3).has_silent_ratio());
  // One without a workload does not count, either.
  data = FourHosts([](uint32_t h, uint32_t) { return h == 3 ? 0 : 200; });
  data.phases[0].workers[3].result.clear_workloads();
  data.phases[0].workers[3].result.set_last_io_ns(0);
  phase = ReportOf(data).phases(0);
  EXPECT_EQ(phase.outages_size(), 0);
}

const v1::Fairness& FairnessOverHosts(const v1::PhaseReport& phase) {
  return *std::find_if(phase.fairness().begin(), phase.fairness().end(),
                       [](const v1::Fairness& f) { return f.of() == "IOPS over hosts"; });
}

// It had its share of the storage: none. One of which nothing was due had no share.
TEST(OutageTest, AHostThatCompletesNothingIsJudgedBesideTheOthers) {
  const auto report = [](uint64_t iops, uint32_t seconds) {
    Stored data =
        FourHosts([&](uint32_t h, uint32_t k) { return h < 3 && k < seconds ? iops : 0; });
    data.phases[0].workers[3].result.set_last_io_ns(0);
    return ReportOf(data).phases(0);
  };
  v1::PhaseReport phase = report(200, 10);
  EXPECT_EQ(FairnessOverHosts(phase).count(), 4u);
  EXPECT_DOUBLE_EQ(FairnessOverHosts(phase).jain(), 0.75);
  EXPECT_DOUBLE_EQ(phase.jain_by_interval(0), 0.75);
  ASSERT_EQ(phase.stragglers_size(), 1);
  EXPECT_EQ(phase.stragglers(0).host(), "node3");
  EXPECT_EQ(phase.starvations_size(), 1);
  phase = report(1, 9);
  EXPECT_EQ(FairnessOverHosts(phase).count(), 3u);
  EXPECT_EQ(phase.stragglers_size(), 0);
}

// Names of hosts are not unique: two workers run on one.
TEST(OutageTest, AHostsNameDoesNotHideTheOutageOfItsOtherWorker) {
  Stored data = FourHosts(
      [](uint32_t h, uint32_t k) { return h == 0 || (h == 1 && (k == 4 || k == 5)) ? 0 : 200; });
  data.workers[1].host = data.workers[0].host;
  const v1::PhaseReport phase = ReportOf(data).phases(0);
  ASSERT_EQ(phase.outages_size(), 2);
  EXPECT_TRUE(phase.outages(0).completed_none());
  EXPECT_FALSE(phase.outages(1).completed_none());
  EXPECT_DOUBLE_EQ(phase.outages(1).begin_seconds(), 4);
  EXPECT_TRUE(phase.outages(1).has_recovery_seconds());
}

// Two seconds of ramp in which one host's I/Os only failed.
TEST(OutageTest, FailedIosOfTheRampDoNotSayThatNothingIsDue) {
  Stored data = FourHosts([](uint32_t h, uint32_t) { return h == 3 ? 0 : 200; });
  data.phases[0].phase.ramp_ns = 2000000000;
  for (auto& [worker, samples] : data.intervals) {
    for (v1::IntervalSample& sample : samples) {
      if (sample.interval() < 2) sample.set_interval_class(v1::INTERVAL_CLASS_RAMP);
      if (worker == 3) sample.mutable_workloads(0)->mutable_operations(0)->set_errors(5);
    }
  }
  const v1::PhaseReport phase = ReportOf(data).phases(0);
  ASSERT_EQ(phase.outages_size(), 1);
  EXPECT_EQ(phase.outages(0).hosts(0), "node3");
  EXPECT_DOUBLE_EQ(phase.outages(0).end_seconds(), 10);
}

TEST(OutageTest, ChangesOfTheOthersAreSeenBesideAHostThatCompletesNothing) {
  const v1::PhaseReport phase = ReportOf(FourHosts([](uint32_t h, uint32_t k) {
                                  return h == 3 ? 0 : (k < 5 ? 900 : 300) + (7 * h + 3 * k) % 5;
                                })).phases(0);
  EXPECT_EQ(phase.level_changes_size(), 1);
}

// Rates, the start skew and the threads' rates are of the time from the workload's begin on.
TEST(OutageTest, BeforeAWorkloadsBeginNothingIsMeasured) {
  Stored data = FourHosts([](uint32_t, uint32_t k) { return k <= 1 ? 0 : 200; });
  DelayWorkload(&data, 2000000000);
  for (measure::WorkerPhaseData& worker : data.phases[0].workers) {
    worker.result.set_first_io_ns(worker.result.go_ns() + 2000001000);
  }
  data.phases[0].workers[3].result.set_first_io_ns(data.phases[0].workers[3].result.go_ns() +
                                                   2000006000);
  const v1::PhaseReport phase = ReportOf(data).phases(0);
  EXPECT_DOUBLE_EQ(phase.window_begin_seconds(), 2);
  EXPECT_DOUBLE_EQ(phase.window_end_seconds(), 10);
  EXPECT_DOUBLE_EQ(phase.total().iops(), 800);
  EXPECT_DOUBLE_EQ(phase.workloads(0).window_begin_seconds(), 2);
  EXPECT_DOUBLE_EQ(phase.hosts(0).iops(), 200);
  EXPECT_NEAR(phase.start_skew_ns(), 5000, 1);
}

TEST(PercentileTest, OneThatNothingIsAboveIsMissingWithItsReason) {
  measure::OperationStats stats;
  const auto delta = measure::OperationDelta::Decode(
      Counters(v1::OPERATION_KIND_READ, std::vector<uint64_t>(49, 500000)));
  ASSERT_TRUE(delta.ok());
  stats.Add(*delta);
  const v1::OperationReport report = ReportOf(stats, "read");
  const v1::Percentile* p50 = FindPercentile(report, 50);
  EXPECT_TRUE(p50->has_latency_ns());
  EXPECT_EQ(p50->above(), 24);
  EXPECT_FALSE(p50->is_uncertain());
  EXPECT_TRUE(FindPercentile(report, 95)->is_uncertain());
  EXPECT_EQ(FindPercentile(report, 95)->above(), 2);
  const v1::Percentile* p999 = FindPercentile(report, 99.9);
  EXPECT_FALSE(p999->has_latency_ns());
  EXPECT_EQ(p999->missing(), "no I/O took longer: p99.9 needs at least 1,000, here are 49");
}

TEST(PercentileTest, WhatIsNotKnownIsNotMet) {
  Stored data = TwoWorkers();
  v1::RunPhase* run = data.phases[0].phase.spec.mutable_run();
  run->mutable_expect()->set_p999_ns(1000000000);
  *data.run.job.mutable_phases(0) = data.phases[0].phase.spec;
  for (measure::WorkerPhaseData& worker : data.phases[0].workers) {
    *worker.result.mutable_workloads(0)->mutable_measured(0) =
        Counters(v1::OPERATION_KIND_READ, std::vector<uint64_t>(100, 500000));
  }
  const v1::PhaseReport phase = ReportOf(data).phases(0);
  const v1::Expectation& last = *phase.expectations().rbegin();
  EXPECT_EQ(last.text(), "p99.9 <= 1 s");
  EXPECT_FALSE(last.met());
  EXPECT_TRUE(absl::StrContains(last.found(), "no p99.9")) << last.found();
}

TEST(PercentileTest, WhatAnExpectationFoundHasTheMarkAndTheDigits) {
  const auto found = [](const std::function<void(v1::Expect*)>& set) {
    Stored data = TwoWorkers();
    v1::RunPhase* run = data.phases[0].phase.spec.mutable_run();
    run->clear_expect();
    set(run->mutable_expect());
    *data.run.job.mutable_phases(0) = data.phases[0].phase.spec;
    for (measure::WorkerPhaseData& worker : data.phases[0].workers) {
      *worker.result.mutable_workloads(0)->mutable_measured(0) =
          Counters(v1::OPERATION_KIND_READ, std::vector<uint64_t>(50, 500000));
    }
    return ReportOf(data).phases(0).expectations(0).found();
  };
  // Five of 100 I/Os are above the p95.
  const std::string p95 = found([](v1::Expect* expect) { expect->set_p95_ns(1000000); });
  EXPECT_EQ(p95.front(), '~') << p95;
  const std::string p50 = found([](v1::Expect* expect) { expect->set_p50_ns(1000000); });
  EXPECT_NE(p50.front(), '~') << p50;
  // Three digits do not show a difference that is smaller than the last.
  const double iops = ReportOf(TwoWorkers()).phases(0).total().iops();
  EXPECT_EQ(found([&](v1::Expect* expect) { expect->set_iops(iops + 0.04); }),
            absl::StrFormat("%.2f", iops));
  EXPECT_EQ(found([&](v1::Expect* expect) { expect->set_iops(iops); }), common::FormatCount(iops));
}

TEST(CorruptionTest, ItIsAVerdictOfItsOwnAboveAllOthers) {
  Stored data = TwoWorkers();
  v1::Verification* found =
      data.phases[0].workers[1].result.mutable_workloads(0)->mutable_verification();
  found->set_checked(4096);
  found->set_corrupt(24);
  v1::Report report = ReportOf(data);
  EXPECT_EQ(VerdictOf(report).word, measure::VerdictWord::kDataCorrupted);
  EXPECT_EQ(VerdictOf(report).reasons[0],
            "24 of 4,096 checked blocks are not as written, on node1");
  EXPECT_TRUE(absl::StartsWith(Warnings(report)[0], "DATA CORRUPTED: 24 corrupt on node1"));
  report.mutable_run()->set_state("aborted");
  EXPECT_EQ(VerdictOf(report).word, measure::VerdictWord::kDataCorrupted);
}

// Worker 0: reads of 100/s, all 3 s. Worker 1: 300/s. The first second is the ramp, in which a
// second workload ends by itself on the first worker; on the other one it does 200 more until 1.5
// s.
Stored EndedApart() {
  Stored data = TwoWorkers();
  data.phases[0].phase.ramp_ns = 1000000000;
  v1::RunPhase* run = data.phases[0].phase.spec.mutable_run();
  *run->add_workloads() = run->workloads(0);
  run->mutable_workloads(1)->set_name("early");
  *data.run.job.mutable_phases(0) = data.phases[0].phase.spec;
  const auto reads = [](uint64_t count) {
    return Counters(v1::OPERATION_KIND_READ, std::vector<uint64_t>(count, 100000));
  };
  for (uint32_t i = 0; i < 2; ++i) {
    v1::PhaseResult& result = data.phases[0].workers[i].result;
    *result.mutable_workloads(0)->mutable_measured(0) = reads(i == 0 ? 200 : 600);
    v1::WorkloadResult* early = result.add_workloads();
    early->set_workload(1);
    early->set_ended_ns(i == 0 ? 900000000 : 1500000000);
    if (i == 1) *early->add_measured() = reads(200);
    for (uint32_t k = 0; k < 3; ++k) {
      v1::IntervalSample& interval = data.intervals[i][k];
      if (k == 0) interval.set_interval_class(v1::INTERVAL_CLASS_RAMP);
      v1::WorkloadSample* sample = interval.add_workloads();
      sample->set_workload(1);
      if (k <= i) *sample->add_operations() = reads(k == 0 ? 400 : 200);
    }
  }
  return data;
}

TEST(RateTest, APartThatEndedInTheRampIsNotInTheRateOfTheOthers) {
  const v1::PhaseReport phase = ReportOf(EndedApart()).phases(0);
  EXPECT_DOUBLE_EQ(phase.workloads(1).window_begin_seconds(), 1);
  EXPECT_DOUBLE_EQ(phase.workloads(1).window_seconds(), 0.5);
  EXPECT_DOUBLE_EQ(phase.workloads(1).total().iops(), 400) << "not 200 over all of the phase";
  EXPECT_DOUBLE_EQ(phase.workloads(0).total().iops(), 400);
  EXPECT_DOUBLE_EQ(phase.window_seconds(), 0.5);
  EXPECT_DOUBLE_EQ(phase.total().iops(), 800);
  for (const v1::OperationReport& o : phase.hosts(0).workloads(1).operations()) {
    EXPECT_FALSE(o.has_iops()) << "it ran for no part of the measured time";
  }
  EXPECT_DOUBLE_EQ(phase.hosts(1).workloads(1).operations(0).iops(), 400);
  EXPECT_EQ(absl::StrJoin(phase.remarks(), "\n").find("no time in which"), std::string::npos);
}

// It is in no figure of a time in which it did not run.
TEST(RateTest, AHostWhoseLoadEndedInTheRampHasNoRate) {
  Stored data = EndedApart();
  v1::PhaseResult& first = data.phases[0].workers[0].result;
  first.mutable_workloads(0)->clear_measured();
  first.mutable_workloads(0)->set_ended_ns(800000000);
  data.intervals[0].resize(1);
  const v1::PhaseReport phase = ReportOf(data).phases(0);
  EXPECT_FALSE(phase.hosts(0).has_iops());
  EXPECT_DOUBLE_EQ(phase.hosts(1).iops(), 700);
  EXPECT_DOUBLE_EQ(phase.workloads(0).total().iops(), 300) << "over the other host's two seconds";
  EXPECT_EQ(phase.fairness(0).count(), 1u);
  EXPECT_EQ(absl::StrJoin(phase.remarks(), "\n").find("no time in which"), std::string::npos);
}

// The i-th points of all hosts are of the same time.
TEST(GapTest, WhatAHostDidNotDeliverIsNotKnownAndMovesNothing) {
  // All hosts do the same, less and less.
  Stored data = FourHosts([](uint32_t, uint32_t k) { return 200 - 10 * k; });
  data.intervals[1].erase(data.intervals[1].begin() + 7);
  const v1::PhaseReport phase = ReportOf(data).phases(0);
  ASSERT_EQ(phase.hosts(1).iops_by_interval_size(), 10);
  EXPECT_TRUE(std::isnan(phase.hosts(1).iops_by_interval(7)));
  EXPECT_EQ(phase.hosts(1).iops_by_interval(8), 120);
  EXPECT_TRUE(std::isnan(phase.iops_by_interval(7)));
  EXPECT_EQ(phase.iops_by_interval(8), 480);
  ASSERT_EQ(phase.jain_by_interval_size(), 10);
  EXPECT_TRUE(std::isnan(phase.jain_by_interval(7)));
  EXPECT_EQ(phase.jain_by_interval(8), 1);
  EXPECT_EQ(phase.jain_min(), 1);
}

TEST(GapTest, ARateThatIsNotKnownIsNotBack) {
  Stored data = FourHosts([](uint32_t, uint32_t k) { return k == 5 ? 0 : 200; });
  for (const uint32_t k : {6, 2}) {
    data.intervals[1].erase(data.intervals[1].begin() + k);
  }
  const v1::PhaseReport phase = ReportOf(data).phases(0);
  ASSERT_EQ(phase.outages_size(), 1);
  EXPECT_EQ(phase.outages(0).hosts_count(), 4u);
  EXPECT_EQ(phase.outages(0).recovery_seconds(), 1);
}

// The property over random mixes is tests/measure/common_window_test.cc's; this is what is printed.
TEST(RateTest, AWorkloadThatEndsEarlyHasItsOwnRateAndTheSumIsNoLess) {
  Stored data = TwoWorkers();
  v1::RunPhase* run = data.phases[0].phase.spec.mutable_run();
  *run->add_workloads() = run->workloads(0);
  run->mutable_workloads(1)->set_name("early");
  *data.run.job.mutable_phases(0) = data.phases[0].phase.spec;
  for (uint32_t i = 0; i < 2; ++i) {
    v1::WorkloadResult* result = data.phases[0].workers[i].result.add_workloads();
    result->set_workload(1);
    *result->add_measured() =
        Counters(v1::OPERATION_KIND_READ, std::vector<uint64_t>(1000, 100000));
    result->set_ended_ns(250000000);
    v1::WorkloadSample* sample = data.intervals[i][0].add_workloads();
    sample->set_workload(1);
    *sample->add_operations() = result->measured(0);
  }
  const v1::PhaseReport phase = ReportOf(data).phases(0);
  EXPECT_DOUBLE_EQ(phase.workloads(0).total().iops(), 400);
  EXPECT_DOUBLE_EQ(phase.workloads(0).window_seconds(), 3);
  EXPECT_DOUBLE_EQ(phase.workloads(1).total().iops(), 8000);
  EXPECT_DOUBLE_EQ(phase.workloads(1).window_seconds(), 0.25);
  EXPECT_DOUBLE_EQ(phase.window_end_seconds(), 0.25);
  EXPECT_DOUBLE_EQ(phase.total().iops(), 8400);
  EXPECT_DOUBLE_EQ(phase.hosts(0).iops(), 4100);
  EXPECT_DOUBLE_EQ(phase.hosts(0).workloads(1).operations(0).iops(), 4000);
}

}  // namespace
}  // namespace lockstep::controller
