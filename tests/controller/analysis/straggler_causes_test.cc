// The causes of stragglers that are slow for a part of the phase, or beside a limit.

#include <functional>

#include "absl/strings/match.h"
#include "controller/analysis/io_throttles.h"
#include "tests/controller/analysis/stored_phases.h"

namespace lockstep::controller {
namespace {

TEST(StragglerTest, TheCauseOfAStretchIsWhatDiffersInIt) {
  // Over the whole phase the device's mean is not 1.5 times the others'.
  Stored data = FourHosts([](uint32_t h, uint32_t k) { return h == 2 && k >= 5 ? 60 : 200; });
  for (uint32_t k = 0; k < 10; ++k) {
    v1::DeviceSample* d = data.intervals[2][k].mutable_devices(0);
    d->set_read_time_ms(d->reads() * (k < 5 ? 1 : 4));
    for (const uint32_t other : {0, 1, 3}) {
      v1::DeviceSample* peer = data.intervals[other][k].mutable_devices(0);
      peer->set_read_time_ms(peer->reads() * (k < 5 ? 4 : 1));
    }
  }
  const v1::PhaseReport phase = ReportOf(data).phases(0);
  ASSERT_EQ(phase.stragglers_size(), 1);
  EXPECT_EQ(phase.stragglers(0).begin_seconds(), 5);
  EXPECT_EQ(phase.stragglers(0).end_seconds(), 10);
  EXPECT_EQ(phase.stragglers(0).cause(), "device");
  EXPECT_EQ(phase.stragglers(0).reason(),
            "its device's requests took 4 ms on average, 1 ms before, the others' 1 ms");
}

// The straggler of a phase in which node2 is slow from 4 s to 9 s of ten, and `set` puts figures
// into its samples: those of the stretch, and those of the rest.
v1::Straggler StragglerWith(
    const std::function<void(v1::IntervalSample* sample, bool is_slow)>& set) {
  const auto is_slow = [](uint32_t k) { return k >= 4 && k < 9; };
  Stored data = FourHosts([&](uint32_t h, uint32_t k) { return h == 2 && is_slow(k) ? 60 : 200; });
  for (uint32_t k = 0; k < 10; ++k) set(&data.intervals[2][k], is_slow(k));
  const v1::PhaseReport phase = ReportOf(data).phases(0);
  EXPECT_EQ(phase.stragglers_size(), 1);
  if (phase.stragglers_size() != 1) return {};
  EXPECT_EQ(phase.stragglers(0).host(), "node2");
  EXPECT_EQ(phase.stragglers(0).begin_seconds(), 4);
  EXPECT_EQ(phase.stragglers(0).end_seconds(), 9);
  return phase.stragglers(0);
}

TEST(StragglerTest, StealIsTheCauseOfTheStretchInWhichItIs) {
  const auto with = [](double in_stretch, double in_rest) {
    return StragglerWith([&](v1::IntervalSample* sample, bool is_slow) {
      sample->mutable_host()->set_steal_ratio(is_slow ? in_stretch : in_rest);
    });
  };
  const v1::Straggler found = with(0.3, 0.01);
  EXPECT_EQ(found.cause(), "CPU steal");
  EXPECT_EQ(found.reason(),
            "the hypervisor took 30 % of its processors' time, 1 % before, of the others' 0 %");
  EXPECT_EQ(with(0.3, 0.19).cause(), "CPU steal");
  EXPECT_EQ(with(0.3, 0.21).cause(), "not known") << "as much all the time";
  EXPECT_EQ(with(0.04, 0).cause(), "not known");
  // Over the whole phase its mean is 30 %, too.
  EXPECT_EQ(with(0, 0.6).cause(), "not known") << "at another time";
}

TEST(StragglerTest, ARunQueueIsTheCauseOfTheStretchInWhichItIs) {
  const auto with = [](uint32_t in_stretch, uint32_t in_rest) {
    return StragglerWith([&](v1::IntervalSample* sample, bool is_slow) {
      sample->mutable_host()->set_run_queue(is_slow ? in_stretch : in_rest);
    });
  };
  const v1::Straggler found = with(12, 2);
  EXPECT_EQ(found.cause(), "run queue");
  EXPECT_EQ(found.reason(),
            "12.0 threads were ready to run on it on average, 2.0 before, on the others 1.0");
  EXPECT_EQ(with(12, 7).cause(), "run queue");
  EXPECT_EQ(with(12, 9).cause(), "not known") << "as many all the time";
  EXPECT_EQ(with(2, 1).cause(), "not known");
  EXPECT_EQ(with(1, 24).cause(), "not known") << "at another time";
}

// Also those of a host that is slow because of a run queue: whatever comes first in the order is
// the cause only if it belongs to the stretch.
TEST(StragglerTest, AFigureThatIsTheSameAllTheTimeHidesNoCause) {
  const v1::Straggler found = StragglerWith([](v1::IntervalSample* sample, bool is_slow) {
    sample->mutable_host()->set_steal_ratio(0.2);
    v1::DeviceSample* device = sample->mutable_devices(0);
    device->set_read_time_ms(2 * device->reads());
    sample->mutable_host()->set_run_queue(is_slow ? 12 : 1);
  });
  EXPECT_EQ(found.cause(), "run queue") << found.reason();
}

TEST(StragglerTest, ADeviceIsTheCauseOfTheStretchInWhichItIsSlower) {
  // Milliseconds of ten requests; those of the others' take 0.5 ms each.
  const auto with = [](uint64_t in_stretch, uint64_t in_rest) {
    return StragglerWith([&](v1::IntervalSample* sample, bool is_slow) {
      v1::DeviceSample* device = sample->mutable_devices(0);
      device->set_read_time_ms(device->reads() * (is_slow ? in_stretch : in_rest) / 10);
    });
  };
  const v1::Straggler found = with(20, 5);
  EXPECT_EQ(found.cause(), "device");
  EXPECT_EQ(found.reason(),
            "its device's requests took 2 ms on average, 500 µs before, the others' 500 µs");
  EXPECT_EQ(with(20, 13).cause(), "device");
  EXPECT_EQ(with(20, 14).cause(), "not known") << "as slow all the time";
  EXPECT_EQ(with(7, 5).cause(), "not known");
  EXPECT_EQ(with(5, 20).cause(), "not known") << "at another time";
}

// Rates are those of the phase. In the seconds before a limit was set a host did more than it.
TEST(StragglerTest, ALimitThatWasSetMeanwhileIsTheCauseOfAStretch) {
  Stored data = FourHosts([](uint32_t h, uint32_t k) { return h == 2 && k >= 5 ? 60 : 200; });
  data.phases[0].workers[2].result.add_throttles("/slow: io.max sda riops=60 wbps=max");
  HoldAbove(&data.intervals[2]);
  v1::PhaseReport phase = ReportOf(data).phases(0);
  ASSERT_EQ(phase.stragglers_size(), 1);
  EXPECT_EQ(phase.stragglers(0).begin_seconds(), 5);
  EXPECT_EQ(phase.hosts(2).iops(), 130);
  EXPECT_EQ(phase.stragglers(0).cause(), "I/O throttle");
  // The limit does not hold a host that was slow all the time, and did far more than it.
  data = FourHosts([](uint32_t h, uint32_t) { return h == 2 ? 100 : 200; });
  data.phases[0].workers[2].result.add_throttles("/slow: io.max sda riops=60 wbps=max");
  HoldAbove(&data.intervals[2]);
  phase = ReportOf(data).phases(0);
  ASSERT_EQ(phase.stragglers_size(), 1);
  EXPECT_EQ(phase.stragglers(0).cause(), "not known");
}

// Over the phase it did 125 IOPS, which is near the limit. While it was slow it did 50.
TEST(StragglerTest, ALimitThatIsNotReachedInAStretchIsNoCause) {
  Stored data = FourHosts([](uint32_t h, uint32_t k) { return h == 2 && k >= 5 ? 50 : 200; });
  data.phases[0].workers[2].result.add_throttles("/slow: io.max sda riops=130 wbps=max");
  HoldAbove(&data.intervals[2]);
  const v1::PhaseReport phase = ReportOf(data).phases(0);
  ASSERT_EQ(phase.stragglers_size(), 1);
  EXPECT_EQ(phase.stragglers(0).cause(), "not known");
}

// Workers of earlier versions count a quota over the load alone.
TEST(StragglerTest, AQuotaThatHeldForLessThanTheStretchIsNoCause) {
  Stored data = FourHosts([](uint32_t h, uint32_t k) { return h == 2 && k >= 5 ? 50 : 200; });
  const auto cause = [&](double ratio) {
    data.phases[0].workers[2].result.set_throttled_ratio(ratio);
    const v1::PhaseReport phase = ReportOf(data).phases(0);
    return phase.stragglers_size() == 1 ? phase.stragglers(0).cause() : "";
  };
  EXPECT_EQ(cause(0.2), "not known");
  EXPECT_EQ(cause(0.4), "CPU quota");
}

// A host does many I/Os between two stretches, and none of the cause is there.
TEST(StragglerTest, TheCauseOfTwoStretchesIsWhatDiffersInBoth) {
  const auto is_slow = [](uint32_t k) { return k < 4 || k >= 6; };
  Stored data = FourHosts([&](uint32_t h, uint32_t k) { return h == 2 && is_slow(k) ? 4 : 400; });
  for (uint32_t k = 0; k < 10; ++k) {
    v1::DeviceSample* d = data.intervals[2][k].mutable_devices(0);
    d->set_read_time_ms(d->reads() * (is_slow(k) ? 8 : 1));
    for (const uint32_t other : {0, 1, 3}) {
      v1::DeviceSample* peer = data.intervals[other][k].mutable_devices(0);
      peer->set_read_time_ms(peer->reads());
    }
  }
  const v1::PhaseReport phase = ReportOf(data).phases(0);
  ASSERT_EQ(phase.stragglers_size(), 1);
  EXPECT_EQ(phase.stragglers(0).slow_seconds(), 8);
  EXPECT_EQ(phase.stragglers(0).end_seconds(), 10);
  EXPECT_EQ(phase.stragglers(0).cause(), "device");
  EXPECT_TRUE(absl::StartsWith(phase.stragglers(0).reason(), "its device's requests took 8 ms on"))
      << phase.stragglers(0).reason();
}

// Two workers on one kernel, which the other one samples; an interval of that one did not arrive.
TEST(StragglerTest, AnIntervalThatTheKernelsSamplerLostHidesNoCause) {
  Stored data = FourHosts([](uint32_t h, uint32_t) { return h == 2 ? 100 : 200; });
  data.workers[2].boot_id = data.workers[3].boot_id;
  for (v1::IntervalSample& sample : data.intervals[2]) {
    sample.clear_host();
    sample.clear_devices();
  }
  for (v1::IntervalSample& sample : data.intervals[3]) sample.mutable_host()->set_steal_ratio(0.3);
  data.intervals[3].erase(data.intervals[3].begin() + 4);
  const v1::PhaseReport phase = ReportOf(data).phases(0);
  ASSERT_EQ(phase.stragglers_size(), 1);
  EXPECT_EQ(phase.stragglers(0).host(), "node2");
  EXPECT_EQ(phase.stragglers(0).cause(), "CPU steal");
  EXPECT_TRUE(absl::StartsWith(phase.stragglers(0).reason(), "the hypervisor took 30 %"))
      << phase.stragglers(0).reason();
}

void AddSpan(const std::string& limit, double begin, double end, v1::PhaseResult* result) {
  v1::ThrottleSpan* span = result->add_throttle_spans();
  span->set_throttle(limit);
  span->set_begin_ns(static_cast<int64_t>(1e9 * begin));
  span->set_end_ns(static_cast<int64_t>(1e9 * end));
}

// It was set at 2.5 s and removed at 7.5 s.
TEST(StragglerTest, ALimitOfAPartIsTheCauseOfThatPart) {
  constexpr char kLimit[] = "/slow: io.max sda riops=60";
  Stored data =
      FourHosts([](uint32_t h, uint32_t k) { return h == 2 && k >= 3 && k < 8 ? 60 : 200; });
  v1::PhaseResult& result = data.phases[0].workers[2].result;
  result.add_throttles(kLimit);
  AddSpan(kLimit, 3, 7, &result);
  HoldAbove(&data.intervals[2]);
  v1::PhaseReport phase = ReportOf(data).phases(0);
  ASSERT_EQ(phase.stragglers_size(), 1);
  EXPECT_EQ(phase.stragglers(0).begin_seconds(), 3);
  EXPECT_EQ(phase.stragglers(0).end_seconds(), 8);
  EXPECT_EQ(phase.stragglers(0).cause(), "I/O throttle");
  EXPECT_TRUE(absl::StrContains(phase.stragglers(0).reason(),
                                "is limited from 3 to 7 s (/slow: io.max sda riops=60)"))
      << phase.stragglers(0).reason();
  // The same limit, but after the host was slow.
  result.clear_throttle_spans();
  AddSpan(kLimit, 8, 10, &result);
  phase = ReportOf(data).phases(0);
  ASSERT_EQ(phase.stragglers_size(), 1);
  EXPECT_NE(phase.stragglers(0).cause(), "I/O throttle");
}

TEST(StragglerTest, APeersLimitOfAnotherTimeExcusesNobody) {
  Stored data =
      FourHosts([](uint32_t h, uint32_t k) { return h == 2 && k >= 3 && k < 8 ? 60 : 200; });
  v1::PhaseResult& result = data.phases[0].workers[2].result;
  const std::string limit = "/slow: io.max sda riops=60";
  result.add_throttles(limit);
  AddSpan(limit, 3, 7, &result);
  HoldAbove(&data.intervals[2]);
  v1::PhaseResult& peer = data.phases[0].workers[0].result;
  peer.add_throttles(limit);
  AddSpan(limit, 9, 10, &peer);
  const v1::PhaseReport phase = ReportOf(data).phases(0);
  ASSERT_EQ(phase.stragglers_size(), 1);
  EXPECT_EQ(phase.stragglers(0).cause(), "I/O throttle") << phase.stragglers(0).reason();
}

TEST(StragglerTest, ALimitCountsWhateverItsValueFromWhenItWasSet) {
  v1::PhaseResult result;
  AddSpan("/g: io.max sda riops=200", 1, 5, &result);
  AddSpan("/g: io.max sda riops=100", 6, 10, &result);
  AddSpan("/g: io.max sdb riops=100", 0, 10, &result);
  EXPECT_DOUBLE_EQ(HeldShare(result, "/g: io.max sda riops=100", 1, 0, 10), 1);
  EXPECT_DOUBLE_EQ(HeldShare(result, "/g: io.max sda riops=100", 0, 0, 10), 0.8);
  EXPECT_DOUBLE_EQ(HeldShare(result, "/h: io.max sda riops=100", 1, 0, 10), 0);
}

TEST(StragglerTest, TheShareOfALimitIsThatOfItsOwnSpans) {
  v1::PhaseResult result;
  EXPECT_EQ(HeldShare(result, "a", 0, 0, 10), 1) << "earlier versions do not tell";
  AddSpan("a", 1, 2, &result);
  AddSpan("a", 4, 20, &result);
  AddSpan("b", 0, 10, &result);
  EXPECT_DOUBLE_EQ(HeldShare(result, "a", 0, 0, 10), 0.7);
  EXPECT_DOUBLE_EQ(HeldShare(result, "a", 0, 2, 4), 0);
  EXPECT_DOUBLE_EQ(HeldShare(result, "c", 0, 0, 10), 0);
}

TEST(StragglerTest, ALimitThatIsNeverReachedIsNoCause) {
  Stored data = FourHosts([](uint32_t h, uint32_t) { return h == 2 ? 100 : 200; });
  data.phases[0].workers[2].result.add_throttles("/slow: io.max sda riops=1000000 wbps=max");
  for (v1::IntervalSample& sample : data.intervals[2]) {
    sample.mutable_devices(0)->set_read_time_ms(10 * sample.devices(0).read_time_ms());
  }
  const v1::PhaseReport phase = ReportOf(data).phases(0);
  ASSERT_EQ(phase.stragglers_size(), 1);
  EXPECT_EQ(phase.stragglers(0).cause(), "device");
}

// The device takes 5 ms, the others' 2 ms, at a depth of 4: 800 IOPS, which is near the limit.
TEST(StragglerTest, ALimitNearTheRateOfASlowDeviceIsNoCause) {
  const auto straggler = [](uint64_t in_device_ms, uint32_t from) {
    Stored data = FourHosts(
        [&](uint32_t h, uint32_t k) { return h == 2 && k >= from ? 800 : 2000; }, 2000000);
    data.phases[0].workers[2].result.add_throttles("/slow: io.max sda riops=1000 wbps=max");
    for (uint32_t k = from; k < 10; ++k) {
      v1::IntervalSample& sample = data.intervals[2][k];
      *sample.mutable_workloads(0)->mutable_operations(0) =
          Counters(v1::OPERATION_KIND_READ, std::vector<uint64_t>(800, 5000000));
      sample.mutable_devices(0)->set_read_time_ms(800 * in_device_ms);
    }
    const v1::PhaseReport phase = ReportOf(data).phases(0);
    EXPECT_EQ(phase.stragglers_size(), 1);
    return phase.stragglers_size() == 1 ? phase.stragglers(0) : v1::Straggler();
  };
  for (const uint32_t from : {0, 5}) {  // all the time, or a stretch of it
    const v1::Straggler slow = straggler(5, from);
    EXPECT_EQ(slow.cause(), "device") << slow.reason();
    const v1::Straggler held = straggler(2, from);
    EXPECT_EQ(held.cause(), "I/O throttle") << held.reason();
  }
}

// An I/O of an open loop that waits for a free slot does not wait for a limit.
TEST(StragglerTest, TheWaitForASlotIsNoWaitAboveTheDevice) {
  Stored data = FourHosts([](uint32_t h, uint32_t) { return h == 2 ? 800 : 2000; }, 2000000);
  for (v1::PhaseSpec* spec : {data.run.job.mutable_phases(0), &data.phases[0].phase.spec}) {
    v1::Workload* workload = spec->mutable_run()->mutable_workloads(0);
    workload->mutable_open_loop()->set_rate_per_second(8000);
    workload->set_threads(1);
    workload->set_queue_depth(4);
  }
  data.phases[0].workers[2].result.add_throttles("/slow: io.max sda riops=1000 wbps=max");
  for (v1::IntervalSample& sample : data.intervals[2]) {
    // The backlog grows, and with it the response time.
    *sample.mutable_workloads(0)->mutable_operations(0) =
        Counters(v1::OPERATION_KIND_READ, std::vector<uint64_t>(800, 3000000000));
    sample.mutable_devices(0)->set_read_time_ms(4000);
  }
  const v1::PhaseReport phase = ReportOf(data).phases(0);
  ASSERT_EQ(phase.stragglers_size(), 1);
  EXPECT_EQ(phase.stragglers(0).cause(), "device") << phase.stragglers(0).reason();
}

// The device of another machine of this name, whose kernel calls it sdb, is not the slow one's.
TEST(StragglerTest, CausesAreThoseOfTheWorkerNotOfItsName) {
  Stored data = FourHosts([](uint32_t h, uint32_t) { return h == 2 ? 100 : 200; });
  data.phases[0].workers[2].result.add_throttles("/slow: io.max sdb riops=100");
  data.workers[1].inspection.mutable_targets(0)->set_device_name("sdb");
  for (v1::IntervalSample& sample : data.intervals[1]) {
    sample.mutable_devices(0)->set_name("sdb");
  }
  const auto cause = [&] {
    const v1::PhaseReport phase = ReportOf(data).phases(0);
    EXPECT_EQ(phase.stragglers_size(), 1);
    return phase.stragglers_size() == 1 ? phase.stragglers(0).cause() : "";
  };
  EXPECT_EQ(cause(), "not known");
  data.workers[1].host = data.workers[2].host;
  EXPECT_EQ(cause(), "not known");
}

}  // namespace
}  // namespace lockstep::controller
