// What limits a workload: quotas, throttles, its rate and its flow.

#include <string>
#include <utility>

#include "tests/controller/analysis/stored_phases.h"

namespace lockstep::controller {
namespace {

// The limit is the last sentence of one chain: a quota and a throttle before the device.
TEST(LimitTest, AQuotaAndAThrottleComeBeforeTheDevice) {
  Stored data = FourHosts([](uint32_t, uint32_t) { return 200; });
  for (measure::WorkerPhaseData& worker : data.phases[0].workers) {
    AddWaitingThread(2000, &worker);
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
      AddWaitingThread(10 * iops, &worker);
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
      AddWaitingThread(8700, &worker);
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
      AddWaitingThread(16000, &worker);
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

}  // namespace
}  // namespace lockstep::controller
