// Conclusions about hosts and devices: stragglers with their causes, starvation, findings.

#include <cmath>

#include "absl/strings/match.h"
#include "tests/controller/analysis/stored_phases.h"

namespace lockstep::controller {
namespace {

TEST(StragglerTest, WhereAllAreEqualNobodyIsNamed) {
  const v1::PhaseReport phase = ReportOf(FourHosts([](uint32_t h, uint32_t k) {
                                  return 200 + (7 * h + 13 * k) % 20;
                                })).phases(0);
  EXPECT_EQ(phase.stragglers_size(), 0);
  EXPECT_EQ(phase.starvations_size(), 0);
  EXPECT_GE(phase.fairness(0).jain(), 0.99);
  ASSERT_EQ(phase.jain_by_interval_size(), 10);
  EXPECT_EQ(phase.devices(0).findings_size(), 0);
  EXPECT_NEAR(phase.p99_spread_median(), 1, 0.02);
}

TEST(StragglerTest, WhoDoesHalfIsNamedWithItsShareAndWithWhatDiffersOnIt) {
  Stored data = FourHosts([](uint32_t h, uint32_t) { return h == 2 ? 100 : 200; });
  const auto straggler = [&] {
    const v1::PhaseReport phase = ReportOf(data).phases(0);
    EXPECT_EQ(phase.stragglers_size(), 1);
    if (phase.stragglers_size() != 1) return v1::Straggler();
    EXPECT_EQ(phase.stragglers(0).host(), "node2");
    return phase.stragglers(0);
  };
  EXPECT_DOUBLE_EQ(straggler().share(), 0.5);
  EXPECT_DOUBLE_EQ(straggler().slow_seconds(), 10);
  EXPECT_EQ(straggler().cause(), "not known");
  data.phases[0].workers[2].result.set_throttled_ratio(0.4);
  EXPECT_EQ(straggler().cause(), "CPU quota");
  data.phases[0].workers[2].result.clear_throttled_ratio();
  data.phases[0].workers[2].result.add_throttles("/slow: io.max sda riops=100");
  for (v1::IntervalSample& sample : data.intervals[2]) {
    sample.mutable_devices(0)->set_read_time_ms(30);  // 0.3 of the 0.5 ms of each I/O
  }
  EXPECT_EQ(straggler().cause(), "I/O throttle");
  // A limit that all have tells nothing of one.
  for (measure::WorkerPhaseData& worker : data.phases[0].workers) {
    if (worker.result.throttles().empty()) {
      worker.result.add_throttles("/slow: io.max sda riops=100");
    }
  }
  EXPECT_EQ(straggler().cause(), "not known");
  for (v1::IntervalSample& sample : data.intervals[2]) sample.mutable_host()->set_steal_ratio(0.3);
  EXPECT_EQ(straggler().cause(), "CPU steal");
  for (v1::IntervalSample& sample : data.intervals[2]) {
    sample.mutable_host()->set_steal_ratio(0);
    sample.mutable_devices(0)->set_read_time_ms(500);
  }
  EXPECT_EQ(straggler().cause(), "device");
}

TEST(StragglerTest, WhoKeepsTheRateIsJudgedByLatency) {
  Stored data = FourHosts([](uint32_t, uint32_t) { return 200; });
  EXPECT_EQ(ReportOf(data).phases(0).stragglers_size(), 0);
  for (v1::IntervalSample& sample : data.intervals[1]) {
    v1::OperationCounters* counters = sample.mutable_workloads(0)->mutable_operations(0);
    *counters = Counters(v1::OPERATION_KIND_READ, std::vector<uint64_t>(200, 2000000));
    sample.mutable_devices(0)->set_read_time_ms(400);
  }
  const v1::PhaseReport phase = ReportOf(data).phases(0);
  ASSERT_EQ(phase.stragglers_size(), 1);
  EXPECT_EQ(phase.stragglers(0).host(), "node1");
  EXPECT_EQ(phase.stragglers(0).latency_ratio(), 4);
  EXPECT_EQ(phase.stragglers(0).share(), 1);
  EXPECT_EQ(phase.stragglers(0).cause(), "device");
}

// Gives the I/Os of a host in one second another latency.
void SetLatency(Stored* data, uint32_t h, uint32_t k, uint64_t latency_ns) {
  v1::OperationCounters* counters =
      data->intervals[h][k].mutable_workloads(0)->mutable_operations(0);
  *counters =
      Counters(v1::OPERATION_KIND_READ, std::vector<uint64_t>(counters->operations(), latency_ns));
}

// The latency of a few I/Os is chance.
TEST(StragglerTest, WhoDidOnlyAFewIOsIsNotJudgedByLatency) {
  const auto stragglers = [](uint64_t iops) {
    Stored data = FourHosts([&](uint32_t, uint32_t) { return iops; });
    for (uint32_t k = 0; k < 10; ++k) SetLatency(&data, 1, k, 5000000);
    return ReportOf(data).phases(0).stragglers_size();
  };
  EXPECT_EQ(stragglers(1), 0);
  EXPECT_EQ(stragglers(2), 1);
}

TEST(StragglerTest, ASecondWithoutAnIOIsNotAsSlowAsTheOneBefore) {
  Stored data = FourHosts([](uint32_t, uint32_t k) { return k < 3 ? 100 : 0; });
  SetLatency(&data, 1, 2, 5000000);
  EXPECT_EQ(ReportOf(data).phases(0).stragglers_size(), 0);
}

// The limit is the last sentence of one chain: a quota and a throttle before the device.
TEST(LimitTest, AQuotaAndAThrottleComeBeforeTheDevice) {
  Stored data = FourHosts([](uint32_t, uint32_t) { return 200; });
  for (measure::WorkerPhaseData& worker : data.phases[0].workers) {
    v1::ThreadResult* thread = worker.result.add_threads();
    thread->set_operations(2000);
    thread->set_execution_time_ns(10000000000);
    thread->set_wait_time_ns(10000000000);
    worker.result.set_throttled_ratio(0.94);
  }
  for (auto& [worker, samples] : data.intervals) HoldAbove(&samples);
  const auto limit = [&] { return ReportOf(data).phases(0).workloads(0).limited_by(); };
  EXPECT_EQ(limit(), "CPU quota");
  for (measure::WorkerPhaseData& worker : data.phases[0].workers) {
    worker.result.set_throttled_ratio(0.02);
    worker.result.add_throttles("/slow: blkio.throttle.read_iops_device sda 200");
  }
  EXPECT_EQ(limit(), "I/O throttle");
  for (measure::WorkerPhaseData& worker : data.phases[0].workers) {
    worker.result.set_throttles(0, "/slow: blkio.throttle.read_iops_device sda 1000000");
  }
  EXPECT_NE(limit(), "I/O throttle");
}

// Linux 6.18 lets 30 requests/s through under a limit of 35, 10 under 19 and 15 under 9: whole ones
// in each tenth of a second.
TEST(LimitTest, AThrottleIsReachedByTheWholeRequestsThatItLetsThrough) {
  const auto limit_at = [](uint64_t iops, const char* throttle) {
    Stored data = FourHosts([&](uint32_t, uint32_t) { return iops; });
    for (auto& [worker, samples] : data.intervals) HoldAbove(&samples);
    for (measure::WorkerPhaseData& worker : data.phases[0].workers) {
      worker.result.add_threads()->set_operations(10 * iops);
      worker.result.mutable_threads(0)->set_execution_time_ns(10000000000);
      worker.result.mutable_threads(0)->set_wait_time_ns(10000000000);
      worker.result.add_throttles(throttle);
    }
    return ReportOf(data).phases(0).workloads(0).limited_by();
  };
  for (const auto& [iops, throttle] :
       {std::pair(30, "/slow: blkio.throttle.read_iops_device sda 35"),
        {26, "/slow: io.max sda riops=35"},
        {10, "/slow: io.max sda riops=19"},
        {15, "/slow: io.max sda riops=9"}}) {
    EXPECT_EQ(limit_at(static_cast<uint64_t>(iops), throttle), "I/O throttle") << throttle;
  }
  for (const auto& [iops, throttle] : {std::pair(22, "/slow: io.max sda riops=35"),
                                       {30, "/slow: io.max sda riops=19"},
                                       {20, "/slow: io.max sda riops=9"},
                                       // For bytes, parts of a request count, too.
                                       {30, "/slow: io.max sda rbps=155648"}}) {
    EXPECT_NE(limit_at(static_cast<uint64_t>(iops), throttle), "I/O throttle") << throttle;
  }
}

// One I/O at a time, each of which the device has for most of its time: the rate is near the limit
// by chance.
TEST(LimitTest, ALimitThatTheDeviceKeepsALoadBelowIsNotReached) {
  const auto limit_with = [](uint64_t in_device_us, const std::string& throttle) {
    Stored data = FourHosts([](uint32_t, uint32_t) { return 870; }, 1150000);
    for (measure::WorkerPhaseData& worker : data.phases[0].workers) {
      v1::ThreadResult* thread = worker.result.add_threads();
      thread->set_operations(8700);
      thread->set_execution_time_ns(10000000000);
      thread->set_wait_time_ns(10000000000);
      worker.result.add_throttles(throttle);
    }
    for (auto& [worker, samples] : data.intervals) {
      for (v1::IntervalSample& sample : samples) {
        sample.mutable_devices(0)->set_read_time_ms(870 * in_device_us / 1000);
      }
    }
    return ReportOf(data).phases(0).workloads(0).limited_by();
  };
  EXPECT_NE(limit_with(1100, "/slow: io.max sda riops=1000"), "I/O throttle");
  EXPECT_NE(limit_with(900, "/slow: io.max sda riops=1000"), "I/O throttle");
  EXPECT_EQ(limit_with(800, "/slow: io.max sda riops=1000"), "I/O throttle");
  // A driver without times tells nothing of it.
  EXPECT_EQ(limit_with(0, "/slow: io.max sda riops=1000"), "I/O throttle");
}

// Four I/Os at a time, for which the device alone would do 2,000 a second: each waits a fifth of
// its time for the limit, which is reached in full.
TEST(LimitTest, ALimitThatIsReachedInFullHoldsHoweverLittleItAdds) {
  const auto limit_at = [](const std::string& throttle) {
    Stored data = FourHosts([](uint32_t, uint32_t) { return 1600; }, 2500000);
    for (measure::WorkerPhaseData& worker : data.phases[0].workers) {
      v1::ThreadResult* thread = worker.result.add_threads();
      thread->set_operations(16000);
      thread->set_execution_time_ns(10000000000);
      thread->set_wait_time_ns(10000000000);
      worker.result.add_throttles(throttle);
    }
    for (auto& [worker, samples] : data.intervals) {
      for (v1::IntervalSample& sample : samples) {
        sample.mutable_devices(0)->set_read_time_ms(3200);
      }
    }
    return ReportOf(data).phases(0).workloads(0).limited_by();
  };
  EXPECT_EQ(limit_at("/slow: io.max sda riops=1600"), "I/O throttle");
  EXPECT_EQ(limit_at("/slow: io.max sda riops=1609"), "I/O throttle");
  EXPECT_EQ(limit_at("/slow: io.max sda rbps=6553600"), "I/O throttle");
  EXPECT_NE(limit_at("/slow: io.max sda riops=1700"), "I/O throttle");
}

// A limit does not make up for stalls. It still held the load for most of the time.
TEST(LimitTest, ARateThatIsMissedIsTheLimitInPart) {
  Stored data = FourHosts([](uint32_t, uint32_t) { return 22; });
  for (measure::WorkerPhaseData& worker : data.phases[0].workers) {
    v1::ThreadResult* thread = worker.result.add_threads();
    thread->set_operations(220);
    thread->set_execution_time_ns(10000000000);
    thread->set_rate_time_ns(9000000000);
    thread->set_wait_time_ns(500000000);
  }
  const auto limit = [&](double max_iops) {
    for (v1::PhaseSpec* spec : {data.run.job.mutable_phases(0), &data.phases[0].phase.spec}) {
      spec->mutable_run()->mutable_workloads(0)->set_max_iops(max_iops);
    }
    return ReportOf(data).phases(0).workloads(0);
  };
  EXPECT_EQ(limit(92).limited_by(), "rate");
  EXPECT_EQ(limit(100).limited_by(), "rate in part");
  EXPECT_EQ(limit(100).limited_because(),
            "the threads waited for their rate for 90 % of their time and still missed more than 5 "
            "% of it: nothing makes up for the time in which something else held them (in I/O 5 %, "
            "on a processor 0 %, in syncs 0 %)");
  // A workload that waits for others of its flow waits for no rate.
  const auto flow = [&](double max_iops) {
    for (v1::PhaseSpec* spec : {data.run.job.mutable_phases(0), &data.phases[0].phase.spec}) {
      spec->mutable_run()->mutable_workloads(0)->set_flow(8);
    }
    const std::string found = limit(max_iops).limited_by();
    for (v1::PhaseSpec* spec : {data.run.job.mutable_phases(0), &data.phases[0].phase.spec}) {
      spec->mutable_run()->mutable_workloads(0)->clear_flow();
    }
    return found;
  };
  EXPECT_EQ(flow(0), "flow");
  EXPECT_EQ(flow(100), "flow");
  EXPECT_EQ(flow(92), "rate");
  // A host that is lost takes its share of the rate with it.
  data.phases[0].workers[3].has_result = false;
  EXPECT_EQ(limit(92).limited_by(), "rate");
  EXPECT_EQ(limit(100).limited_by(), "rate in part");
}

// The rate that was due is a mean from T on, which a rate that changes has no need to reach.
TEST(LimitTest, ARateThatChangesLimitsAlsoBelowItsMean) {
  Stored data = FourHosts([](uint32_t, uint32_t) { return 200; });
  for (measure::WorkerPhaseData& worker : data.phases[0].workers) {
    worker.result.mutable_workloads(0)->set_due(3000);
    v1::ThreadResult* thread = worker.result.add_threads();
    thread->set_operations(2000);
    thread->set_execution_time_ns(10000000000);
    thread->set_rate_time_ns(9000000000);
  }
  const auto limit = [&](double ramp_to) {
    for (v1::PhaseSpec* spec : {data.run.job.mutable_phases(0), &data.phases[0].phase.spec}) {
      spec->mutable_run()->set_duration_ns(10000000000);
      v1::OpenLoop* loop = spec->mutable_run()->mutable_workloads(0)->mutable_open_loop();
      loop->set_rate_per_second(1200);
      loop->set_ramp_to_ratio(ramp_to);
    }
    return ReportOf(data).phases(0).workloads(0);
  };
  EXPECT_EQ(limit(2).due_per_second(), 1200);
  EXPECT_EQ(limit(2).limited_by(), "rate");
  EXPECT_NE(limit(1).limited_by(), "rate");
}

TEST(StragglerTest, ATimeOfNothingIsStarvationAndSaysWhen) {
  const v1::PhaseReport phase = ReportOf(FourHosts([](uint32_t h, uint32_t k) {
                                  return h == 1 && k >= 4 && k < 7 ? 2 : 200;
                                })).phases(0);
  ASSERT_EQ(phase.starvations_size(), 1);
  EXPECT_EQ(phase.starvations(0).host(), "node1");
  EXPECT_DOUBLE_EQ(phase.starvations(0).begin_seconds(), 4);
  EXPECT_DOUBLE_EQ(phase.starvations(0).end_seconds(), 7);
  EXPECT_DOUBLE_EQ(phase.starvations(0).others_iops(), 200);
  EXPECT_LT(phase.jain_by_interval(5), 0.8);
  EXPECT_DOUBLE_EQ(phase.jain_by_interval(0), 1);
}

TEST(StragglerTest, AnIntervalWithoutAnIoHasNoFairness) {
  const v1::PhaseReport phase = ReportOf(FourHosts([](uint32_t h, uint32_t k) {
                                  return k == 3 ? 0 : h == 1 && k == 6 ? 100 : 200;
                                })).phases(0);
  ASSERT_EQ(phase.jain_by_interval_size(), 10);
  EXPECT_TRUE(std::isnan(phase.jain_by_interval(3)));
  EXPECT_DOUBLE_EQ(phase.jain_by_interval(2), 1);
  EXPECT_DOUBLE_EQ(phase.jain_min(), 490000.0 / 520000);
  EXPECT_DOUBLE_EQ(phase.jain_max(), 1);
}

TEST(StragglerTest, WhoDoesOtherWorkIsComparedWithNobody) {
  Stored data = FourHosts([](uint32_t h, uint32_t) { return h == 2 ? 20 : 200; });
  for (v1::JobSpec* job : {&data.run.job}) {
    v1::Workload* other = job->mutable_phases(0)->mutable_run()->add_workloads();
    other->set_name("other");
    other->add_targets("t");
  }
  data.phases[0].phase.spec = data.run.job.phases(0);
  measure::WorkerPhaseData& worker = data.phases[0].workers[2];
  worker.result.mutable_workloads(0)->set_workload(1);
  for (v1::IntervalSample& sample : data.intervals[2]) {
    sample.mutable_workloads(0)->set_workload(1);
  }
  EXPECT_EQ(ReportOf(data).phases(0).stragglers_size(), 0);
}

std::string FindingsOf(const v1::PhaseReport& phase) {
  std::string all;
  for (const v1::Finding& finding : phase.devices(0).findings()) {
    all += finding.kind() + ": " + finding.sentence() + "\n";
  }
  return all;
}

TEST(FindingsTest, OthersOnTheDeviceAreNamedWithTheirTimeAndTheirProgram) {
  Stored data = FourHosts([](uint32_t, uint32_t) { return 2000; });
  for (uint32_t k = 3; k < 6; ++k) {
    data.intervals[0][k].mutable_devices(0)->set_write_bytes(50 << 20);
  }
  v1::ProcessIo* process = data.phases[0].workers[0].result.add_others();
  process->set_command("mysqld");
  process->set_pid(77);
  process->set_write_bytes(150 << 20);
  const v1::PhaseReport phase = ReportOf(data).phases(0);
  ASSERT_EQ(phase.devices(0).findings_size(), 1) << FindingsOf(phase);
  EXPECT_EQ(phase.devices(0).findings(0).kind(), "interference");
  EXPECT_DOUBLE_EQ(phase.devices(0).findings(0).begin_seconds(), 3);
  EXPECT_DOUBLE_EQ(phase.devices(0).findings(0).end_seconds(), 6);
  EXPECT_NE(FindingsOf(phase).find("150 MiB"), std::string::npos) << FindingsOf(phase);
  EXPECT_NE(FindingsOf(phase).find("mysqld[77]"), std::string::npos) << FindingsOf(phase);
  EXPECT_EQ(phase.devices(1).findings_size(), 0);
}

// /proc has what reaped children did in their whole lives: each program alone could have moved what
// the device did beside the engines, not all of them together.
TEST(FindingsTest, ProgramsDidNoMoreTogetherThanTheDeviceMoved) {
  Stored data = FourHosts([](uint32_t, uint32_t) { return 2000; });
  for (uint32_t k = 3; k < 6; ++k) {
    data.intervals[0][k].mutable_devices(0)->set_write_bytes(50 << 20);
  }
  uint32_t pid = 77;
  for (const auto& [command, mebibytes] : {std::pair("mysqld", 150), {"tar", 20}, {"cp", 8}}) {
    v1::ProcessIo* process = data.phases[0].workers[0].result.add_others();
    process->set_command(command);
    process->set_pid(pid++);
    process->set_write_bytes(uint64_t{1048576} * static_cast<uint64_t>(mebibytes));
  }
  const v1::PhaseReport phase = ReportOf(data).phases(0);
  EXPECT_TRUE(absl::StrContains(FindingsOf(phase),
                                "mysqld[77] wrote 150 MiB, cp[79] wrote 8 MiB during that time"))
      << FindingsOf(phase);
  // Nothing bounds those of the whole kernel.
  EXPECT_EQ(phase.kernels(0).others_size(), 3);
}

// /proc was read 2 s before the load of 10 s: who writes all the time has a fifth more there.
TEST(FindingsTest, AProgramThatWritesAllTheTimeIsNamedWithWhatItDidBefore) {
  Stored data = FourHosts([](uint32_t, uint32_t) { return 2000; });
  for (uint32_t k = 0; k < 10; ++k) {
    data.intervals[0][k].mutable_devices(0)->set_write_bytes(50 << 20);
  }
  v1::PhaseResult& result = data.phases[0].workers[0].result;
  uint32_t pid = 77;
  for (const auto& [command, mebibytes] : {std::pair("mysqld", 600), {"tar", 40}}) {
    v1::ProcessIo* process = result.add_others();
    process->set_command(command);
    process->set_pid(pid++);
    process->set_write_bytes(uint64_t{1048576} * static_cast<uint64_t>(mebibytes));
  }
  // It is not known how long before: a few bytes of another one do not explain the rest.
  std::string found = FindingsOf(ReportOf(data).phases(0));
  EXPECT_TRUE(absl::StrContains(found, "most of it by whom is not known; tar[78]")) << found;
  result.set_others_ns(12000000000);
  found = FindingsOf(ReportOf(data).phases(0));
  EXPECT_TRUE(absl::StrContains(found, "from 0 to 10 s: mysqld[77] wrote 600 MiB")) << found;
}

// The last interval may be shorter than the others: others did what they did in its own time.
TEST(FindingsTest, OthersInAShortLastIntervalCountByItsLength) {
  Stored data = FourHosts([](uint32_t, uint32_t) { return 2000; });
  data.intervals[0][9].set_end_ns(9500000000);
  data.intervals[0][9].mutable_devices(0)->set_write_bytes(50 << 20);
  const v1::PhaseReport phase = ReportOf(data).phases(0);
  ASSERT_EQ(phase.devices(0).findings_size(), 1) << FindingsOf(phase);
  EXPECT_TRUE(absl::StrContains(FindingsOf(phase),
                                "others moved 50 MiB on it in 0.5 s of the time from 9 to 9.5 s"))
      << FindingsOf(phase);
  EXPECT_DOUBLE_EQ(phase.devices(0).findings(0).seconds(), 0.5);
}

// A load of 935 µs, whose counters are of 25 ms. Another program wrote during that time.
Stored ShortLoad(uint64_t others_bytes) {
  constexpr int64_t kLoadNs = 935000;
  Stored data = TwoWorkers();
  for (uint32_t i = 0; i < 2; ++i) {
    data.intervals[i].resize(1);
    data.intervals[i][0].set_end_ns(kLoadNs);
    v1::PhaseResult& result = data.phases[0].workers[i].result;
    *result.mutable_workloads(0)->mutable_measured(0) =
        data.intervals[i][0].workloads(0).operations(0);
    result.mutable_workloads(0)->set_ended_ns(kLoadNs);
    result.set_first_io_ns(result.go_ns() + 335000);
    result.set_last_io_ns(result.go_ns() + kLoadNs);
    result.set_sampled_ns(25000000);
    result.mutable_threads(0)->set_operations(result.workloads(0).measured(0).operations());
    result.mutable_threads(0)->set_execution_time_ns(kLoadNs - 335000);
  }
  data.intervals[0][0].mutable_devices(0)->set_write_bytes(others_bytes);
  return data;
}

TEST(FindingsTest, AShortLoadGetsNothingOfWhatOthersDidAroundIt) {
  const v1::PhaseReport phase = ReportOf(ShortLoad(5 << 18)).phases(0);
  const v1::DeviceReport& d = phase.devices(0);
  EXPECT_EQ(d.findings_size(), 0) << FindingsOf(phase);
  EXPECT_TRUE(absl::StrContains(d.not_rated(), "the measured time of 935 µs")) << d.not_rated();
  EXPECT_EQ(d.writes_per_second(), 0);
  EXPECT_EQ(d.reads_per_second(), 0);
  // No processor switches 800 times in a millisecond.
  EXPECT_EQ(phase.kernels_size(), 0);
  EXPECT_FALSE(phase.time_spent().has_amplification());
  EXPECT_FALSE(phase.time_spent().has_context_switches_per_second());
  // The bytes are the load's all the same.
  EXPECT_EQ(d.cross_check().verdict(), v1::CrossCheck::VERDICT_AGREE) << d.cross_check().reason();
  // Both rates are over the time from T to the last completion.
  EXPECT_NEAR(phase.threads(0).iops(), phase.hosts(0).iops(), 1);
}

TEST(FindingsTest, BytesOfALongerTimeAreNotSaidToBeTheLoads) {
  const v1::CrossCheck check = ReportOf(ShortLoad(50 << 20)).phases(0).devices(0).cross_check();
  EXPECT_EQ(check.verdict(), v1::CrossCheck::VERDICT_NOT_ATTRIBUTABLE);
  EXPECT_TRUE(absl::StrContains(check.reason(), "50 MiB more: the counters are of"))
      << check.reason();
}

// Workers of earlier versions do not say what time their counters are of.
TEST(FindingsTest, CountersOfAnUnknownTimeFitAQuarterOfASecond) {
  Stored data = TwoWorkers();
  for (uint32_t i = 0; i < 2; ++i) data.intervals[i].resize(1);
  for (const auto& [end_ns, kernels] : {std::pair(250000000, 1), {200000000, 0}}) {
    for (uint32_t i = 0; i < 2; ++i) data.intervals[i][0].set_end_ns(end_ns);
    const v1::PhaseReport phase = ReportOf(data).phases(0);
    EXPECT_EQ(phase.kernels_size(), kernels) << end_ns;
    EXPECT_EQ(phase.devices(0).not_rated().empty(), kernels == 1) << end_ns;
  }
}

TEST(FindingsTest, LostPathsAreToldWithTheirTimeAndTheStall) {
  Stored data = FourHosts([](uint32_t h, uint32_t k) { return h == 0 && k == 4 ? 0 : 2000; });
  for (uint32_t k = 0; k < 10; ++k) {
    v1::DeviceSample* device = data.intervals[0][k].mutable_devices(0);
    device->set_paths(4);
    device->set_paths_running(k >= 4 && k < 7 ? 2 : 4);
  }
  const v1::PhaseReport phase = ReportOf(data).phases(0);
  ASSERT_EQ(phase.devices(0).findings_size(), 1) << FindingsOf(phase);
  const v1::Finding& finding = phase.devices(0).findings(0);
  EXPECT_EQ(finding.kind(), "paths");
  EXPECT_DOUBLE_EQ(finding.begin_seconds(), 4);
  EXPECT_DOUBLE_EQ(finding.end_seconds(), 7);
  EXPECT_DOUBLE_EQ(finding.seconds(), 3);
  EXPECT_EQ(finding.sentence(),
            "of its 4 paths only 2 ran, in 3 s of the time from 4 to 7 s; in 1 s of them no I/O of "
            "this host completed");
  EXPECT_EQ(phase.devices(1).findings_size(), 0);
}

TEST(FindingsTest, IOsThatTheQueueSplitsAreSaidToBe) {
  Stored data = FourHosts([](uint32_t, uint32_t) { return 200; });
  for (v1::PhaseSpec* spec : {data.run.job.mutable_phases(0), &data.phases[0].phase.spec}) {
    spec->mutable_run()->mutable_workloads(0)->set_block_size_bytes(1 << 20);
  }
  data.environment[0]["device.sda.max_sectors_kb"] = "256";
  for (v1::IntervalSample& sample : data.intervals[0]) {
    sample.mutable_workloads(0)->mutable_operations(0)->set_bytes(uint64_t{200} << 20);
    sample.mutable_devices(0)->set_read_bytes(uint64_t{200} << 20);
    sample.mutable_devices(0)->set_reads(800);
  }
  const std::string found = FindingsOf(ReportOf(data).phases(0));
  EXPECT_NE(found.find("split: I/Os of 1 MiB reached the device in requests of 256 KiB (×4.0): its "
                       "queue takes at most 256 KiB"),
            std::string::npos)
      << found;
}

// 4 MiB at a time; `facts`: of the device's queue.
std::string SplitOf(uint64_t requests_per_io, const std::map<std::string, std::string>& facts) {
  // 20 a second. In ten seconds small requests of others could be hidden among those of 4 MiB.
  constexpr int kLonger = 6;
  constexpr uint64_t kReads = uint64_t{20} * kLonger;
  Stored data = FourHosts([](uint32_t, uint32_t) { return kReads; });
  for (v1::PhaseSpec* spec : {data.run.job.mutable_phases(0), &data.phases[0].phase.spec}) {
    spec->mutable_run()->mutable_workloads(0)->set_block_size_bytes(4 << 20);
  }
  for (const auto& [name, value] : facts) data.environment[0][name] = value;
  for (v1::IntervalSample& sample : data.intervals[0]) {
    sample.set_begin_ns(kLonger * sample.begin_ns());
    sample.set_end_ns(kLonger * sample.end_ns());
    sample.mutable_workloads(0)->mutable_operations(0)->set_bytes(kReads << 22);
    sample.mutable_devices(0)->set_read_bytes(kReads << 22);
    sample.mutable_devices(0)->set_reads(kReads * requests_per_io);
  }
  const std::string found = FindingsOf(ReportOf(data).phases(0));
  const size_t reason = found.find("): ");
  return reason == std::string::npos ? found : found.substr(reason + 3);
}

// A limit that allows larger requests than those that came does not split them.
TEST(FindingsTest, TheLimitThatExplainsASplitIsNamed) {
  const auto sectors =
      std::pair<const std::string, std::string>("device.sda.max_sectors_kb", "1280");
  const auto segments = [](const char* count) {
    return std::pair<const std::string, std::string>("device.sda.max_segments", count);
  };
  constexpr char kBySectors[] = "its queue takes at most 1.25 MiB at a time (max_sectors_kb)\n";
  constexpr char kUnknown[] = "by what is not known\n";
  EXPECT_EQ(SplitOf(4, {sectors}), kBySectors);
  EXPECT_EQ(SplitOf(7, {sectors}), kUnknown);
  EXPECT_EQ(
      SplitOf(7, {sectors, segments("128")}),
      "its queue takes at most 128 pieces of memory at a time (max_segments): 512 KiB, or more "
      "where pages adjoin\n");
  // Pieces of 1 MiB, of which each is a few pages too large.
  EXPECT_EQ(
      SplitOf(8, {sectors, segments("254")}),
      "its queue takes at most 254 pieces of memory at a time (max_segments): 1016 KiB, or more "
      "where pages adjoin\n");
  // Pages that adjoin are one segment.
  EXPECT_EQ(SplitOf(4, {sectors, segments("128")}), kBySectors);
  EXPECT_EQ(SplitOf(20, {sectors, segments("128")}), kUnknown);
  EXPECT_EQ(SplitOf(7, {}), kUnknown);
  // Larger pages are fewer segments.
  EXPECT_EQ(SplitOf(7, {sectors, segments("128"), {"memory.page_bytes", "65536"}}), kUnknown);
}

TEST(FindingsTest, WhatWaitsAboveTheDeviceIsTold) {
  // 200 I/Os a second of 50 ms are 10 in flight; the device has each for 1 ms.
  Stored data = FourHosts([](uint32_t, uint32_t) { return 200; }, 50000000);
  for (v1::IntervalSample& sample : data.intervals[0]) {
    sample.mutable_devices(0)->set_read_time_ms(200);
    sample.mutable_devices(0)->set_queue_time_ms(200);
  }
  const std::string found = FindingsOf(ReportOf(data).phases(0));
  EXPECT_NE(found.find("queue: the engines had 10.0 I/Os in flight, the device's queue held 0.2"),
            std::string::npos)
      << found;
}

// 512 I/Os in flight of 51.2 ms each, of which the device has 64 for 6.4 ms, all the time.
std::string QueueOf(uint64_t busy_ms, const std::string& places) {
  Stored data = FourHosts([](uint32_t, uint32_t) { return 10000; }, 51200000);
  if (!places.empty()) data.environment[0]["device.sda.nr_requests"] = places;
  for (v1::IntervalSample& sample : data.intervals[0]) {
    sample.mutable_devices(0)->set_read_time_ms(64000);
    sample.mutable_devices(0)->set_queue_time_ms(64000);
    sample.mutable_devices(0)->set_busy_time_ms(busy_ms);
  }
  return FindingsOf(ReportOf(data).phases(0));
}

// The verdict of such a load is "device".
TEST(FindingsTest, WhatWaitsForAPlaceInAFullQueueWaitsForTheDevice) {
  const std::string full = QueueOf(1000, "64");
  EXPECT_TRUE(absl::StrContains(full,
                                "; the device's queue was full (64 requests, nr_requests 64, busy "
                                "100 %): the other I/Os waited for a place in it"))
      << full;
  EXPECT_FALSE(absl::StrContains(full, "waited above the device")) << full;
  // A queue with places left keeps nobody out, and a device that is never idle may still limit.
  for (const char* places : {"1023", ""}) {
    const std::string found = QueueOf(1000, places);
    EXPECT_TRUE(absl::StrContains(found, "or something before it made the other I/Os wait is not "))
        << found;
    EXPECT_FALSE(absl::StrContains(found, "waited above the device")) << found;
  }
  const std::string idle = QueueOf(940, "64");
  EXPECT_TRUE(absl::StrContains(idle, "waited above the device (a throttle, a lock")) << idle;
}

// The I/Os take 50 ms each, however long the device has them and is busy.
TEST(FindingsTest, TheVerdictDeviceStandsBesideNoWaitAboveIt) {
  Stored data = FourHosts([](uint32_t, uint32_t) { return 1000; }, 50000000);
  for (measure::WorkerPhaseData& worker : data.phases[0].workers) {
    v1::ThreadResult* thread = worker.result.add_threads();
    thread->set_operations(10000);
    thread->set_execution_time_ns(10000000000);
    thread->set_wait_time_ns(10000000000);
  }
  int above = 0;
  for (const uint64_t busy_ms : {500, 940, 960, 1000}) {
    for (const uint64_t queue : {1, 3, 8, 24, 26, 50}) {
      for (auto& [worker, samples] : data.intervals) {
        for (v1::IntervalSample& sample : samples) {
          sample.mutable_devices(0)->set_read_time_ms(1000 * queue);
          sample.mutable_devices(0)->set_queue_time_ms(1000 * queue);
          sample.mutable_devices(0)->set_busy_time_ms(busy_ms);
        }
      }
      const v1::PhaseReport phase = ReportOf(data).phases(0);
      const bool waited = absl::StrContains(FindingsOf(phase), "waited above the device");
      const std::string& limit = phase.workloads(0).limited_by();
      EXPECT_FALSE(waited && limit == "device") << busy_ms << " ms, " << queue;
      EXPECT_FALSE(!waited && limit == "above the device") << busy_ms << " ms, " << queue;
      above += waited ? 1 : 0;
    }
  }
  EXPECT_EQ(above, 8);
}

TEST(FindingsTest, FastRequestsOfOthersAreNotThoseOfTheLoad) {
  // Its 200 I/Os take 50 ms each, on the device. Beside them are 2,000 of 100 µs.
  Stored data = FourHosts([](uint32_t, uint32_t) { return 200; }, 50000000);
  for (v1::IntervalSample& sample : data.intervals[0]) {
    sample.mutable_devices(0)->set_reads(2200);
    sample.mutable_devices(0)->set_read_time_ms(10200);
    sample.mutable_devices(0)->set_queue_time_ms(4500);
  }
  const std::string found = FindingsOf(ReportOf(data).phases(0));
  EXPECT_EQ(found.find("waited above the device"), std::string::npos) << found;
}

TEST(FindingsTest, WhatWaitsForItsSlotIsNotInFlight) {
  // An open loop: each I/O takes 1 ms, as the device's requests do, and was due 49 ms earlier.
  Stored data = FourHosts([](uint32_t, uint32_t) { return 200; }, 1000000);
  for (v1::IntervalSample& sample : data.intervals[0]) {
    sample.mutable_devices(0)->set_read_time_ms(200);
    sample.mutable_devices(0)->set_queue_time_ms(200);
  }
  for (measure::WorkerPhaseData& worker : data.phases[0].workers) {
    v1::OperationCounters* reads = worker.result.mutable_workloads(0)->mutable_measured(0);
    common::Histogram response;
    for (uint64_t i = 0; i < reads->operations(); ++i) response.Record(50000000);
    v1::Histogram* encoded = reads->add_histograms();
    encoded->set_metric(v1::METRIC_RESPONSE_TIME);
    encoded->set_scheme(common::kHistogramScheme);
    encoded->set_buckets(response.Encode());
    reads->set_latency_sum_ns(reads->operations() * 50000000);
    reads->set_latency_max_ns(50000000);
  }
  const v1::PhaseReport phase = ReportOf(data).phases(0);
  EXPECT_NEAR(phase.devices(0).engine_queue_size(), 0.2, 0.01);
  EXPECT_EQ(FindingsOf(phase).find("queue:"), std::string::npos) << FindingsOf(phase);
}

TEST(FindingsTest, WriteBackThatFillsTheQueueIsTold) {
  // dd of story 3: a buffered writer, 156 requests of 504 KiB in the device's queue.
  Stored data = FourHosts([](uint32_t, uint32_t) { return 200; });
  for (v1::PhaseSpec* spec : {data.run.job.mutable_phases(0), &data.phases[0].phase.spec}) {
    spec->mutable_run()->mutable_workloads(0)->set_direct(false);
    spec->mutable_run()->mutable_workloads(0)->set_queue_depth(1);
    spec->mutable_run()->mutable_workloads(0)->set_threads(1);
  }
  for (v1::IntervalSample& sample : data.intervals[0]) {
    sample.mutable_devices(0)->set_queue_time_ms(156000);
  }
  const std::string found = FindingsOf(ReportOf(data).phases(0));
  EXPECT_NE(found.find("the device's queue held 156 requests where the engines have at most 1"),
            std::string::npos)
      << found;
}

}  // namespace
}  // namespace lockstep::controller
