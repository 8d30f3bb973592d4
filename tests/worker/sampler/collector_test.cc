// Threads hand their intervals over late, and the collector waits for nobody.

#include "worker/sampler/collector.h"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "common/timing.h"
#include "gtest/gtest.h"

namespace lockstep::worker {
namespace {

using timing::kMs;
using timing::kSecond;

// Virtual time in which whoever sleeps does the others' work, step by step: what happens when is
// written in the test.
class ScriptedClock final : public common::Clock {
 public:
  explicit ScriptedClock(std::function<void(int64_t now_ns, bool first_step)> step)
      : step_(std::move(step)) {}
  int64_t MonotonicNs() const override { return now_ns_; }
  int64_t WallNs() const override { return now_ns_; }
  void SleepUntil(int64_t at_ns) const override {
    for (bool first = true; now_ns_ < at_ns; first = false) {
      now_ns_ = std::min(at_ns, now_ns_ + kMs);
      step_(now_ns_, first);
    }
  }

 private:
  const std::function<void(int64_t, bool)> step_;
  mutable int64_t now_ns_ = kSecond;
};

// A thread that hangs for many intervals, and one that does not: nobody waits for room, nothing is
// lost, and the hung one's figures come after its return.
TEST(CollectorTest, AThreadThatHangsHoldsNobodyUpAndLosesNothing) {
  Timeline timeline(50 * kMs, 0);
  Recorder healthy({}), hung({});
  uint64_t expected = 0;
  // The work of an I/O thread in a millisecond. After a hang it hands over a few intervals at a
  // time: as many as there is room for until the collector comes by.
  const auto work = [&](Recorder* recorder, int64_t now, int max_closed) {
    if (recorder->finished()) return;
    const auto behind = [&] {
      return now >= timeline.EndOf(recorder->interval()) &&
             timeline.BeginOf(recorder->interval()) < timeline.load_end_ns();
    };
    for (int closed = 0; behind() && closed < max_closed; ++closed) recorder->CloseInterval();
    if (behind()) return;
    if (now >= timeline.load_end_ns()) return recorder->Finish(now, Recorder::End::kLoadEnd);
    recorder->RecordDone(IoKind::kRead, 1000, 1000, 1, Recorder::Transfer::kWhole);
    ++expected;
  };
  ScriptedClock clock([&](int64_t now, bool first_step) {
    const int64_t into = now - timeline.go_ns();
    work(&healthy, now, 1);
    if (into <= 500 * kMs || (into >= 1800 * kMs && first_step)) work(&hung, now, 4);
  });
  timeline.Begin(clock.MonotonicNs() + kMs, 2 * kSecond);
  uint64_t total = 0;
  std::map<uint32_t, uint64_t> healthy_by_interval;
  std::map<uint32_t, uint64_t> hung_by_interval;
  Collector collector(
      &timeline, &clock, {{&healthy, 0}, {&hung, 1}}, {}, [&](const v1::IntervalSample& sample) {
        for (const auto& workload : sample.workloads()) {
          for (const auto& c : workload.operations()) {
            total += c.operations();
            (workload.workload() == 0 ? healthy_by_interval
                                      : hung_by_interval)[sample.interval()] += c.operations();
          }
        }
      });
  collector.Begin();
  EXPECT_TRUE(collector.Run([&] { return timeline.load_end_ns() + 10 * kSecond; }));
  EXPECT_EQ(total, expected);
  uint64_t measured = 0;
  for (const v1::WorkloadResult& result : collector.TakeResults()) {
    for (const auto* list : {&result.ramp(), &result.measured(), &result.drain()}) {
      for (const v1::OperationCounters& c : *list) measured += c.operations();
    }
  }
  EXPECT_EQ(measured, total);
  for (uint32_t interval = 0; interval < 40; ++interval) {
    EXPECT_GE(healthy_by_interval[interval], 49u) << interval;
  }
  for (uint32_t interval = 11; interval < 31; ++interval) {
    EXPECT_EQ(hung_by_interval[interval], 0u) << interval;
  }
}

// A thread of a blocking engine cannot hand an interval over while its I/O lasts. The I/Os that
// completed before stay in their interval.
TEST(CollectorTest, AThreadInsideALongCallHasItsIosInTheirOwnInterval) {
  Timeline timeline(50 * kMs, 0);
  Recorder recorder({});
  bool in_call = false;
  ScriptedClock clock([&](int64_t now, bool) {
    const int64_t into = now - timeline.go_ns();
    if (recorder.finished() || (in_call && into < 1800 * kMs)) return;
    if (std::exchange(in_call, false)) recorder.LeaveCall();
    while (now >= timeline.EndOf(recorder.interval()) &&
           timeline.BeginOf(recorder.interval()) < timeline.load_end_ns()) {
      recorder.CloseInterval();
    }
    if (now >= timeline.load_end_ns()) return recorder.Finish(now, Recorder::End::kLoadEnd);
    recorder.RecordDone(IoKind::kRead, 1000, 1000, 1, Recorder::Transfer::kWhole);
    in_call = into == 525 * kMs;
    if (in_call) recorder.EnterCall();
  });
  timeline.Begin(clock.MonotonicNs(), 2 * kSecond);
  std::map<uint32_t, uint64_t> by_interval;
  Collector collector(&timeline, &clock, {{&recorder, 0}}, {},
                      [&](const v1::IntervalSample& sample) {
                        for (const auto& c : sample.workloads(0).operations()) {
                          by_interval[sample.interval()] += c.operations();
                        }
                      });
  collector.Begin();
  EXPECT_TRUE(collector.Run([&] { return timeline.load_end_ns() + 10 * kSecond; }));
  EXPECT_EQ(by_interval[9], 50u);
  EXPECT_EQ(by_interval[10], 26u);
  for (uint32_t interval = 11; interval < 36; ++interval) {
    EXPECT_EQ(by_interval[interval], 0u) << interval;
  }
  for (uint32_t interval = 36; interval < 40; ++interval) {
    EXPECT_EQ(by_interval[interval], 50u) << interval;
  }
}

}  // namespace
}  // namespace lockstep::worker
