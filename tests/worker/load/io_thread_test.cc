// The measurements of one I/O thread, in virtual time and against known truths.

#include "worker/load/io_thread.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "common/timing.h"
#include "gtest/gtest.h"
#include "tests/worker/load/io_thread_run.h"

namespace lockstep::worker {
namespace {

using timing::kMs;
using timing::kSecond;

double Exact(std::vector<int64_t> values, double percent) {
  std::sort(values.begin(), values.end());
  return static_cast<double>(
      values[static_cast<size_t>(std::ceil(percent / 100 * static_cast<double>(values.size()))) -
             1]);
}

// A device of 100 µs that stalls for 200 ms once per second, behind a queue of one.
constexpr NullScript kStalling = {100000, kSecond, 200 * kMs};

TEST(IoThreadTest, OpenLoopStallInflatesResponseTimeNotServiceTime) {
  SimulatedTime time;
  constexpr int kSeconds = 20;
  IoThreadSetup setup = SetupOf(kStalling, &time, 1);
  setup.start.open_loop = FixedRate(1000);
  const Outcome outcome = RunFor(std::move(setup), RandomReads(), &time, kSeconds * kSecond);
  EXPECT_NEAR(static_cast<double>(outcome.reads.counts().operations), 1000 * kSeconds, 1);
  // Theory: one server, first come first served; what would complete in a stall completes at its
  // end.
  std::vector<int64_t> response, service;
  int64_t free_at = 0;
  for (int64_t i = 0; i < int64_t{1000} * kSeconds; ++i) {
    const int64_t due = i * kMs;
    const int64_t start = std::max(due, free_at);
    int64_t done = start + kStalling.latency_ns;
    const int64_t into = done % kStalling.stall_every_ns;
    if (into < kStalling.stall_ns) done += kStalling.stall_ns - into;
    free_at = done;
    response.push_back(done - due);
    service.push_back(done - start);
  }
  for (double percent : {50.0, 90.0, 99.0, 99.9}) {
    EXPECT_NEAR(outcome.reads.histogram(v1::METRIC_RESPONSE_TIME).Percentile(percent),
                Exact(response, percent), 0.02 * Exact(response, percent))
        << percent;
  }
  EXPECT_GT(outcome.reads.histogram(v1::METRIC_RESPONSE_TIME).Percentile(99),
            180.0 * kMs);  // the stall
  // is not in the service time
  EXPECT_LT(outcome.reads.histogram(v1::METRIC_SERVICE_TIME).Percentile(99), 110000);
  EXPECT_NEAR(static_cast<double>(outcome.io.longest_backlog_ns), 200.0 * kMs, 2.0 * kMs);
  EXPECT_EQ(outcome.io.unstarted, 0u);
}

TEST(IoThreadTest, ClosedLoopHidesTheStallAndSaysServiceTime) {
  SimulatedTime time;
  const Outcome outcome = RunFor(SetupOf(kStalling, &time, 1), RandomReads(), &time, 20 * kSecond);
  EXPECT_LT(outcome.reads.histogram(v1::METRIC_SERVICE_TIME).Percentile(99.9), 110000);
  EXPECT_FALSE(outcome.reads.has(v1::METRIC_RESPONSE_TIME));
  EXPECT_GT(outcome.reads.counts().latency_max_ns, 190u * kMs);
}

TEST(IoThreadTest, ABacklogThatCannotBeServedIsCountedAndWaitsInNoMemory) {
  SimulatedTime time;
  IoThreadSetup setup = SetupOf({100000, 0, 0}, &time, 1);
  setup.start.open_loop = FixedRate(20000);
  const Outcome outcome = RunFor(std::move(setup), RandomReads(), &time, 10 * kSecond);
  EXPECT_NEAR(static_cast<double>(outcome.io.due), 200000, 2);
  EXPECT_NEAR(static_cast<double>(outcome.io.unstarted), 100000, 500);
  EXPECT_NEAR(static_cast<double>(outcome.io.longest_backlog_ns), 5.0 * kSecond, 0.05 * kSecond);
}

TEST(IoThreadTest, TheThreadsTimeIsAccountedFor) {
  {
    SimulatedTime time;
    IoThreadSetup setup = SetupOf({1000000, 0, 0}, &time, 1);
    setup.start.open_loop = FixedRate(250);
    const Outcome outcome = RunFor(std::move(setup), RandomReads(), &time, 10 * kSecond);
    EXPECT_NEAR(static_cast<double>(outcome.io.rate_ns), 7.5 * kSecond, 0.1 * kSecond);
    EXPECT_NEAR(static_cast<double>(outcome.io.io_ns), 2.5 * kSecond, 0.1 * kSecond);
  }
  {
    SimulatedTime time;
    IoThreadSetup setup = SetupOf({1000000, 0, 0}, &time, 1);
    setup.start.think_ns = 3 * kMs;
    const Outcome outcome = RunFor(std::move(setup), RandomReads(), &time, 10 * kSecond);
    EXPECT_NEAR(static_cast<double>(outcome.reads.counts().operations), 2500, 3);
    EXPECT_NEAR(static_cast<double>(outcome.io.think_ns), 7.5 * kSecond, 0.1 * kSecond);
  }
  {
    SimulatedTime time;
    const Outcome outcome =
        RunFor(SetupOf({1000000, 0, 0}, &time, 4), RandomReads(), &time, 10 * kSecond);
    EXPECT_NEAR(static_cast<double>(outcome.io.queue_full_ns), 10.0 * kSecond, 0.1 * kSecond);
  }
}

TEST(IoThreadTest, RampAndDrainAreInNoShareOfTheThreadsTime) {
  SimulatedTime time;
  IoThreadSetup setup = SetupOf({1000000, 0, 0}, &time, 1);
  setup.start.open_loop = FixedRate(250);
  Timeline timeline(2 * kSecond, 2 * kSecond);
  timeline.Begin(time.MonotonicNs() + kMs, 10 * kSecond);
  time.Drive();
  IoThread thread(std::move(setup), RandomReads(), &timeline, &time);
  ASSERT_TRUE(thread.Arm().ok());
  thread.Run();
  const IoThreadOutcome& io = thread.outcome();
  EXPECT_NEAR(static_cast<double>(io.rate_ns), 6.0 * kSecond, 0.05 * kSecond);
  EXPECT_NEAR(static_cast<double>(io.io_ns), 2.0 * kSecond, 0.05 * kSecond);
  EXPECT_LE(io.rate_ns + io.io_ns, 8 * kSecond);
  EXPECT_TRUE(io.usage.has_begun());
}

// The same on the short way of I/Os that wait for nothing, also where the end moves.
TEST(IoThreadTest, RampAndDrainAreInNoShareOfAClosedLoopsTime) {
  for (const int64_t end : {10 * kSecond, 7 * kSecond + 3 * kMs / 2}) {
    SimulatedTime time;
    Timeline timeline(2 * kSecond, 2 * kSecond);
    timeline.Begin(time.MonotonicNs() + kMs, 10 * kSecond);
    timeline.EndAt(timeline.go_ns() + end);
    time.Drive();
    IoThread thread(SetupOf({kMs, 0, 0}, &time, 1), RandomReads(), &timeline, &time);
    ASSERT_TRUE(thread.Arm().ok());
    thread.Run();
    const IoThreadOutcome& io = thread.outcome();
    EXPECT_NEAR(static_cast<double>(io.io_ns), static_cast<double>(end - 2 * kSecond), 0.5 * kMs);
    EXPECT_EQ(io.queue_full_ns, io.io_ns);
  }
}

TEST(IoThreadTest, ALoadThatEndsInItsRampHasNoTimeOfItsThread) {
  SimulatedTime time;
  IoThreadSetup setup = SetupOf({1000000, 0, 0}, &time, 1);
  Timeline timeline(2 * kSecond, 4 * kSecond);
  timeline.Begin(time.MonotonicNs() + kMs, 3 * kSecond);
  time.Drive();
  IoThread thread(std::move(setup), RandomReads(), &timeline, &time);
  ASSERT_TRUE(thread.Arm().ok());
  thread.Run();
  EXPECT_GT(thread.outcome().submitted, 1000u);
  EXPECT_EQ(thread.outcome().io_ns, 0);
  EXPECT_EQ(thread.outcome().usage.cpu_ns(), 0);
}

TEST(ThreadUsageTest, OnlyWhatLiesBetweenTheReadingsCounts) {
  const auto sleep = [](int times) {
    // A timer that ends before the thread has left the processor makes no switch.
    for (int i = 0; i < times; ++i) usleep(100);
  };
  ThreadUsage usage;
  usage.End();  // which has not begun
  EXPECT_EQ(usage.voluntary_switches(), 0u);
  sleep(400);
  usage.Begin();
  sleep(20);
  usage.Begin();
  usage.End();
  const uint64_t switches = usage.voluntary_switches();
  EXPECT_GE(switches, 1u);
  EXPECT_LT(switches, 200u);
  EXPECT_GT(usage.cpu_ns(), 0);
  sleep(10);
  usage.End();
  EXPECT_EQ(usage.voluntary_switches(), switches);
}

TEST(IoThreadTest, ABrakeHoldsTheRateAndLimitsEndTheLoad) {
  SimulatedTime time;
  IoThreadSetup setup = SetupOf({1000, 0, 0}, &time, 4);
  setup.start.max_iops = 500;
  EXPECT_NEAR(
      static_cast<double>(
          RunFor(std::move(setup), RandomReads(), &time, 10 * kSecond).reads.counts().operations),
      5000, 10);
  setup = SetupOf({1000, 0, 0}, &time, 4);
  setup.start.max_bytes_per_second = 4096 * 100;
  EXPECT_NEAR(
      static_cast<double>(
          RunFor(std::move(setup), RandomReads(), &time, 10 * kSecond).reads.counts().operations),
      1000, 5);
  setup = SetupOf({1000, 0, 0}, &time, 4);
  setup.quota = 777;
  EXPECT_EQ(RunFor(std::move(setup), RandomReads(), &time, 10 * kSecond).reads.counts().operations,
            777u);
  setup = SetupOf({1000, 0, 0}, &time, 4);
  setup.quota = 777;
  setup.quota_bytes = 409600;
  EXPECT_EQ(RunFor(std::move(setup), RandomReads(), &time, 10 * kSecond).reads.counts().operations,
            100u);
}

// Completes each I/O of a batch 100 ns after the one before, inside the call, and remembers what is
// true.
class InlineEngine final : public IoEngine {
 public:
  InlineEngine(const SimulatedTime* time, int64_t* truth) : time_(time), truth_(truth) {}
  absl::Status Open(const EngineSetup&) override { return absl::OkStatus(); }
  absl::StatusOr<int> Exchange(absl::Span<const IoRequest> requests, int, int64_t,
                               absl::Span<IoCompletion> completions) override {
    for (size_t i = 0; i < requests.size(); ++i) {
      time_->Pass(100);
      *truth_ += 100 * static_cast<int64_t>(i + 1);
      completions[i] = {requests[i].slot, static_cast<int32_t>(requests[i].length)};
    }
    return static_cast<int>(requests.size());
  }
  std::string Describe() const override { return "inline"; }

 private:
  const SimulatedTime* time_;
  int64_t* truth_;
};

// One clock reading per batch: never less than the truth, and never more by more than the batch
// took.
TEST(IoThreadTest, ARecordedLatencyIsNeverTooShortAndTooLongByLessThanABatch) {
  for (uint32_t batch : {1u, 8u, 32u}) {
    constexpr int64_t kStep = 10;
    SimulatedTime time(kStep);
    int64_t truth = 0;
    IoThreadSetup setup = SetupOf({}, &time, 64);
    setup.make_engine = [&] { return std::make_unique<InlineEngine>(&time, &truth); };
    setup.max_batch = batch;
    const Outcome outcome = RunFor(std::move(setup), RandomReads(), &time, kMs);
    const auto sum = static_cast<int64_t>(outcome.reads.counts().latency_sum_ns);
    const auto count = static_cast<int64_t>(outcome.reads.counts().operations);
    EXPECT_GE(sum, truth);
    EXPECT_LE(sum - truth, count * (100 * (int64_t{batch} - 1) + 3 * kStep));
    EXPECT_LE(outcome.reads.counts().latency_max_ns, int64_t{100} * batch + 3 * kStep);
  }
}

}  // namespace
}  // namespace lockstep::worker
