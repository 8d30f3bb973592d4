// Busy processors are named as the cause where I/Os wait above the device.

#include <string>

#include "absl/strings/match.h"
#include "tests/controller/analysis/stored_phases.h"

namespace lockstep::controller {
namespace {

// 200 I/Os a second of 50 ms each, of which the device has each for 1 ms. The threads do nothing
// but wait for them.
Stored WaitingAbove() {
  Stored data = FourHosts([](uint32_t, uint32_t) { return 200; }, 50000000);
  for (auto& [worker, samples] : data.intervals) {
    for (v1::IntervalSample& sample : samples) {
      sample.mutable_devices(0)->set_read_time_ms(200);
      sample.mutable_devices(0)->set_queue_time_ms(200);
    }
  }
  for (measure::WorkerPhaseData& worker : data.phases[0].workers) {
    AddWaitingThread(2000, &worker);
  }
  return data;
}

// All processors of the worker's kernel are busy, with others for all but a tenth of the time.
void MakeBusy(uint32_t worker, Stored* data) {
  for (v1::IntervalSample& sample : data->intervals[worker]) {
    sample.mutable_host()->set_user_ratio(0.9);
    sample.mutable_host()->set_system_ratio(0.1);
  }
  data->environment[worker]["cpu.count"] = "2";
  v1::PhaseResult& result = data->phases[0].workers[worker].result;
  result.set_usage_is_measured(true);
  result.set_cpu_user_ns(2000000000);
}

TEST(BusyProcessorsTest, ALimitAboveTheDeviceNamesBusyProcessors) {
  Stored data = WaitingAbove();
  const auto limit = [&] { return ReportOf(data).phases(0).workloads(0); };
  EXPECT_EQ(limit().limited_by(), "above the device") << limit().limited_because();
  EXPECT_TRUE(absl::EndsWith(limit().limited_because(),
                             "(a throttle, a lock, another layer, a lack of processor)"))
      << limit().limited_because();
  // One host of four does not explain the fleet.
  for (measure::WorkerPhaseData& worker : data.phases[0].workers) {
    worker.result.set_usage_is_measured(true);
  }
  MakeBusy(2, &data);
  EXPECT_FALSE(absl::StrContains(limit().limited_because(), "node2")) << limit().limited_because();
  MakeBusy(3, &data);
  EXPECT_EQ(limit().limited_by(), "above the device");
  EXPECT_TRUE(absl::EndsWith(limit().limited_because(),
                             ": they waited above it, probably for a processor: the processors of "
                             "node2 were busy for 100 % of the time, 10 % of that with the load "
                             "generator"))
      << limit().limited_because();
}

// Whether the workers took the processors is said only if it is known.
TEST(BusyProcessorsTest, TheRemarkSaysByWhom) {
  Stored data = WaitingAbove();
  MakeBusy(3, &data);
  const auto remark = [&] {
    const v1::PhaseReport phase = ReportOf(data).phases(0);
    for (const std::string& text : phase.remarks()) {
      if (absl::StrContains(text, "the processors of node3")) return text;
    }
    return std::string();
  };
  // The other workers are of an earlier version, which counted ramp and drain, too.
  EXPECT_EQ(remark(),
            "the processors of node3 were busy for 100 % of the time, by whom is not known: other "
            "programs may have slowed the load down, or the load generator itself did");
  for (measure::WorkerPhaseData& worker : data.phases[0].workers) {
    worker.result.set_usage_is_measured(true);
  }
  EXPECT_TRUE(absl::EndsWith(remark(),
                             "the rest, other programs and the kernel, may have slowed "
                             "it down"))
      << remark();
  data.phases[0].workers[3].result.set_cpu_user_ns(18000000000);
  EXPECT_TRUE(absl::EndsWith(remark(),
                             "the load generator, not the storage, may be what was "
                             "measured"))
      << remark();
  data.environment.clear();  // nor the number of processors
  EXPECT_TRUE(absl::StrContains(remark(), "by whom is not known")) << remark();
}

TEST(BusyProcessorsTest, AQueueAboveTheDeviceNamesThoseOfItsHost) {
  Stored data = WaitingAbove();
  MakeBusy(1, &data);
  const v1::PhaseReport phase = ReportOf(data).phases(0);
  ASSERT_EQ(phase.devices_size(), 4);
  for (const v1::DeviceReport& device : phase.devices()) {
    ASSERT_EQ(device.findings_size(), 1);
    const std::string& sentence = device.findings(0).sentence();
    const bool is_busy = device.hosts(0) == "node1";
    EXPECT_EQ(absl::StrContains(sentence, "probably for a processor: the processors of node1 were"),
              is_busy)
        << sentence;
    EXPECT_EQ(absl::StrContains(sentence, "(a throttle, a lock, another layer)"), !is_busy)
        << sentence;
  }
}

// The slow host's I/Os take four times as long as the others', the device's requests 1 ms as
// theirs.
TEST(BusyProcessorsTest, AStragglerAboveTheDeviceNamesItsRunQueue) {
  Stored data = FourHosts([](uint32_t h, uint32_t) { return h == 2 ? 50 : 200; }, 5000000);
  for (v1::IntervalSample& sample : data.intervals[2]) {
    *sample.mutable_workloads(0)->mutable_operations(0) =
        Counters(v1::OPERATION_KIND_READ, std::vector<uint64_t>(50, 20000000));
    sample.mutable_devices(0)->set_read_time_ms(50);
  }
  const auto reason = [&] {
    const v1::PhaseReport phase = ReportOf(data).phases(0);
    EXPECT_EQ(phase.stragglers_size(), 1);
    if (phase.stragglers_size() != 1) return std::string();
    EXPECT_EQ(phase.stragglers(0).cause(), "above the device");
    return phase.stragglers(0).reason();
  };
  EXPECT_TRUE(absl::EndsWith(reason(), "another layer or a lack of processor makes them"))
      << reason();
  for (v1::IntervalSample& sample : data.intervals[2]) sample.mutable_host()->set_run_queue(12);
  EXPECT_TRUE(absl::EndsWith(reason(),
                             "they waited above the device, probably for a processor: 12.0 threads "
                             "were ready to run on it on average, on the others 1.0"))
      << reason();
}

}  // namespace
}  // namespace lockstep::controller
