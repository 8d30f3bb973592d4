// What one I/O thread measures, in virtual time and against what must be true.

#include "worker/load/io_thread.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <new>
#include <thread>
#include <utility>

#include "common/timing.h"
#include "gtest/gtest.h"
#include "tests/worker/simulated_time.h"
#include "worker/engine/null_engine.h"
#include "worker/engine/uring_engine.h"
#include "worker/sampler/collector.h"

namespace {
thread_local bool counting = false;
thread_local int allocations = 0;
}  // namespace

// The compiler sees free() behind some of the deletes, and not that new is malloc().
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"
void* operator new(size_t size) {
  allocations += counting;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace lockstep::worker {
namespace {

using timing::kMs;
using timing::kSecond;

Access RandomReads(double read_ratio = 1) {
  AccessOptions options;
  options.lines = {{}};
  options.lines[0].read_ratio = read_ratio;
  return *Access::Make({{0, 0, 1 << 20}}, options);
}

IoThreadSetup SetupOf(const NullScript& script, const common::Clock* clock, uint32_t depth) {
  IoThreadSetup setup;
  setup.make_engine = [script, clock] { return NewNullEngine(script, clock); };
  setup.engine.files = {{NoStorage{}, 1 << 20}};
  setup.engine.queue_depth = depth;
  setup.paths = {"nothing"};
  setup.max_batch = std::max<uint32_t>(1, depth / 2);
  setup.drain_ns = kSecond;
  return setup;
}

Schedule::Options FixedRate(double rate) {
  Schedule::Options loop;
  loop.rate_per_second = rate;
  loop.poisson = false;
  return loop;
}

// Runs a thread in virtual time with one interval for everything, and gives out what it recorded.
struct Outcome {
  measure::OperationStats reads;
  IoThreadOutcome io;
};
Outcome RunFor(IoThreadSetup setup, Access access, SimulatedTime* time, int64_t load_ns) {
  Timeline timeline(load_ns, 0);
  const int64_t go = time->MonotonicNs() + kMs;
  timeline.Begin(go, load_ns);
  time->Drive();
  IoThread thread(std::move(setup), std::move(access), &timeline, time);
  EXPECT_TRUE(thread.Arm().ok());
  thread.Run();
  Outcome outcome;
  while (const IntervalStats* stats = thread.recorder().Front()) {
    (*stats)[0].AddTo(&outcome.reads);
    thread.recorder().Pop();
  }
  outcome.io = thread.outcome();
  return outcome;
}

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

uint64_t ResidentKib() {
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word) {
    if (word != "VmRSS:") continue;
    uint64_t kib = 0;
    status >> kib;
    return kib;
  }
  return 0;
}

TEST(IoThreadTest, TwelveHoursNeedNoMoreMemoryThanAMinute) {
  SimulatedTime time;
  constexpr uint32_t kIntervals = 43200;
  Timeline timeline(kSecond, 0);
  const int64_t go = time.MonotonicNs() + kMs;
  timeline.Begin(go, kIntervals * kSecond);
  IoThreadSetup setup = SetupOf({50 * kMs, 0, 0}, &time, 1);
  setup.start.open_loop = FixedRate(15);
  setup.start.open_loop->poisson = true;
  IoThread thread(std::move(setup), RandomReads(0.5), &timeline, &time);
  uint64_t after_a_minute = 0;
  uint64_t operations = 0;
  uint32_t seen = 0;
  Collector collector(&timeline, &time, {{&thread.recorder(), 0}}, {},
                      [&](const v1::IntervalSample& sample) {
                        EXPECT_EQ(sample.interval(), seen);
                        ++seen;
                        for (const auto& workload : sample.workloads()) {
                          for (const auto& c : workload.operations()) operations += c.operations();
                        }
                        if (sample.interval() == 60) after_a_minute = ResidentKib();
                      });
  std::thread runner([&] {
    time.Drive();
    EXPECT_TRUE(thread.Arm().ok());
    thread.Run();
    time.End();
  });
  collector.Begin();
  EXPECT_TRUE(collector.Run([] { return int64_t{1} << 62; }));
  runner.join();
  const uint64_t after_all = ResidentKib();
  EXPECT_GE(seen, kIntervals);
  EXPECT_NEAR(static_cast<double>(operations), 15.0 * kIntervals, 6 * std::sqrt(15.0 * kIntervals));
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // these keep what is freed
  EXPECT_LT(after_all, after_a_minute + 512) << "KiB";
#else
  (void)after_all;
#endif
}

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
  // What an I/O thread does in a millisecond. After a hang it hands over a few intervals at a time:
  // as many as there is room for until the collector comes by.
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

// A thread of a blocking engine cannot hand an interval over while its I/O lasts. What completed
// before that I/O stays where it was.
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

// As io_uring on a kernel that does not have it.
class RefusedEngine final : public IoEngine {
 public:
  absl::Status Open(const EngineSetup&) override { return absl::UnimplementedError("no rings"); }
  absl::StatusOr<int> Exchange(absl::Span<const IoRequest>, int, int64_t,
                               absl::Span<IoCompletion>) override {
    return absl::InternalError("was never opened");
  }
  std::string Describe() const override { return "refused"; }
};

TEST(IoThreadTest, AFallbackDoesTheLoadAndTheNotesSayWhy) {
  SimulatedTime time;
  IoThreadSetup setup = SetupOf({100000}, &time, 1);
  const auto real = setup.make_engine;
  setup.make_engine = [] { return std::make_unique<RefusedEngine>(); };
  setup.fallbacks = {setup.make_engine, real};
  const Outcome outcome = RunFor(std::move(setup), RandomReads(), &time, kSecond);
  EXPECT_GT(outcome.reads.counts().operations, 0u);
  EXPECT_EQ(outcome.io.engine, real()->Describe());
  ASSERT_FALSE(outcome.io.notes.empty());
  EXPECT_EQ(outcome.io.notes[0], real()->Describe() + " instead of the default engine: no rings");
}

TEST(IoThreadTest, WithoutAFallbackARefusedEngineIsAnError) {
  SimulatedTime time;
  Timeline timeline(kSecond, 0);
  IoThreadSetup setup = SetupOf({100000}, &time, 1);
  setup.make_engine = [] { return std::make_unique<RefusedEngine>(); };
  IoThread thread(std::move(setup), RandomReads(), &timeline, &time);
  EXPECT_EQ(thread.Arm().message(), "no rings");
}

// Counts allocations from the second batch on.
class WatchedEngine final : public IoEngine {
 public:
  absl::Status Open(const EngineSetup& setup) override {
    real_ = NewUringEngine();
    return real_->Open(setup);
  }
  absl::StatusOr<int> Exchange(absl::Span<const IoRequest> requests, int min_complete,
                               int64_t deadline_ns, absl::Span<IoCompletion> completions) override {
    counting = true;
    return real_->Exchange(requests, min_complete, deadline_ns, completions);
  }
  std::string Describe() const override { return real_->Describe(); }

 private:
  std::unique_ptr<IoEngine> real_;
};

TEST(IoThreadTest, TheSteadyHotPathDoesNotAllocate) {
  const std::string path = std::string(getenv("TEST_TMPDIR")) + "/hot";
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600);
  ASSERT_EQ(ftruncate(file, 1 << 20), 0);
  // Every part that a hot path may have: a mix of sizes, zipf, an open loop, syncs, slat,
  // verification, a copy from the file's first half to the second one.
  for (int variant = 0; variant < 4; ++variant) {
    AccessOptions options;
    options.lines = {{}};
    options.lines[0].read_ratio = 0.5;
    if (variant == 1) {
      options.lines.push_back({.block_size_bytes = 8192, .read_ratio = 0.5});
      options.offsets = ZipfOffsets{};
    }
    IoThreadSetup setup;
    setup.make_engine = [] { return std::make_unique<WatchedEngine>(); };
    setup.engine.files = {{OpenFile{file}, 1 << 20}};
    setup.engine.queue_depth = 16;
    setup.engine.buffered_writes = true;
    setup.engine.timed_submission = variant == 1;
    setup.paths = {path};
    setup.max_batch = 8;
    setup.drain_ns = kSecond;
    if (variant == 1) setup.start.open_loop = FixedRate(20000);
    if (variant == 1) setup.sync.every_writes = 100;
    if (variant == 2) {
      setup.checks.reads = setup.checks.writes = true;
      setup.checks.block_size_bytes = 4096;
      setup.checks.keys = {TargetKey(path)};
      setup.checks.ledgers = {*BlockLedger::Make(256)};
      setup.checks.written_since = {false};
    }
    uint64_t end = 1 << 20;
    if (variant == 3) {
      end /= 2;
      options.lines[0].read_ratio = 1;
      options.order = Order::kSequential;
      setup.copy =
          std::make_shared<const CopyMap>(*CopyMap::Make({{0, 0, end}}, {{0, end, 2 * end}}, 4096));
      setup.quota = uint64_t{1} << 40;
      setup.sync.every_writes = 100;
    }
    Timeline timeline(50 * kMs, 0);
    IoThread thread(std::move(setup), *Access::Make({{0, 0, end}}, options), &timeline,
                    &common::SystemClock());
    ASSERT_TRUE(thread.Arm().ok());
    timeline.Begin(common::SystemClock().MonotonicNs() + kMs, 300 * kMs);
    allocations = 0;
    thread.Run();
    counting = false;
    EXPECT_EQ(allocations, 0) << "variant " << variant;
    EXPECT_GT(thread.outcome().submitted, 1000u);
    EXPECT_EQ(thread.outcome().fatal, "");
    EXPECT_EQ(thread.outcome().first_error, "");
  }
  close(file);
}

// Fails the n-th I/O as scripted, once each.
class FailingEngine final : public IoEngine {
 public:
  FailingEngine(std::vector<int32_t> results, const SimulatedTime* time)
      : results_(std::move(results)), time_(time) {}
  absl::Status Open(const EngineSetup&) override { return absl::OkStatus(); }
  absl::StatusOr<int> Exchange(absl::Span<const IoRequest> requests, int, int64_t,
                               absl::Span<IoCompletion> completions) override {
    for (size_t i = 0; i < requests.size(); ++i) {
      time_->Pass(1000);
      completions[i] = {requests[i].slot, next_ < results_.size()
                                              ? results_[next_]
                                              : static_cast<int32_t>(requests[i].length)};
      ++next_;
    }
    return static_cast<int>(requests.size());
  }
  std::string Describe() const override { return "failing"; }

 private:
  const std::vector<int32_t> results_;
  const SimulatedTime* time_;
  size_t next_ = 0;
};

Outcome RunFailing(std::vector<int32_t> results, uint64_t error_limit) {
  SimulatedTime time;
  IoThreadSetup setup = SetupOf({}, &time, 1);
  setup.make_engine = [&] { return std::make_unique<FailingEngine>(results, &time); };
  setup.quota = 10;
  setup.error_limit = error_limit;
  return RunFor(std::move(setup), RandomReads(), &time, kSecond);
}

TEST(IoThreadTest, EachErrorHasItsConsequence) {
  Outcome retried = RunFailing({-EINTR, -EAGAIN, -EINTR}, 5);
  EXPECT_EQ(retried.reads.counts().operations, 10u);
  EXPECT_EQ(retried.reads.counts().errors, 0u);
  EXPECT_EQ(retried.io.retries, 3u);
  Outcome counted = RunFailing({-EIO, 4096, -EIO}, 5);
  EXPECT_EQ(counted.reads.counts().operations, 8u);
  EXPECT_EQ(counted.reads.counts().errors, 2u);
  EXPECT_EQ(counted.io.fatal, "");
  EXPECT_NE(counted.io.first_error.find("read of 4096 bytes at offset"), std::string::npos)
      << counted.io.first_error;
  Outcome over = RunFailing({-EIO, -EIO, -EIO}, 2);
  EXPECT_EQ(over.reads.counts().errors, 2u);
  EXPECT_NE(over.io.fatal.find("error_limit"), std::string::npos);
  Outcome hopeless = RunFailing({4096, -ENODEV}, 5);
  EXPECT_EQ(hopeless.reads.counts().operations, 1u);
  EXPECT_NE(hopeless.io.fatal.find("No such device"), std::string::npos);
  Outcome shortened = RunFailing({512}, 5);
  EXPECT_EQ(shortened.reads.counts().short_transfers, 1u);
  EXPECT_NE(shortened.io.first_error.find("short, 512 bytes"), std::string::npos);
  // beyond the end of a target that was cut: no fast reads of nothing
  Outcome ended = RunFailing({0, 0}, 5);
  EXPECT_EQ(ended.reads.counts().errors, 2u);
  EXPECT_NE(ended.io.first_error.find("the target ends"), std::string::npos);
}

}  // namespace
}  // namespace lockstep::worker
