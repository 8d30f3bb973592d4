// When a thread begins and ends, in virtual time.

#include <algorithm>
#include <utility>
#include <vector>

#include "common/timing.h"
#include "gtest/gtest.h"
#include "tests/worker/simulated_time.h"
#include "worker/engine/null_engine.h"
#include "worker/load/io_thread.h"

namespace lockstep::worker {
namespace {

using timing::kMs;
using timing::kSecond;

constexpr int64_t kLatencyNs = 10 * kMs;

IoThreadSetup SetupOf(const common::Clock* clock, uint32_t depth = 1) {
  IoThreadSetup setup;
  setup.make_engine = [clock] { return NewNullEngine({kLatencyNs, 0, 0}, clock); };
  setup.engine.files = {{NoStorage{}, 1 << 20}};
  setup.engine.queue_depth = depth;
  setup.paths = {"nothing"};
  setup.drain_ns = kSecond;
  return setup;
}

Access Mix(double read_ratio) {
  AccessOptions options;
  options.lines = {{}};
  options.lines[0].read_ratio = read_ratio;
  return *Access::Make({{0, 0, 1 << 20}}, options);
}

struct Ran {
  std::vector<uint64_t> reads, writes;  // by interval
  IoThreadOutcome io;
  int64_t go_ns = 0, finished_ns = 0;
  bool all_done = false;
};

// A load of four intervals of a second each.
Ran RunFor(IoThreadSetup setup, double read_ratio, SimulatedTime* time) {
  Timeline timeline(kSecond, 0);
  Ran ran;
  ran.go_ns = time->MonotonicNs() + kMs;
  timeline.Begin(ran.go_ns, 4 * kSecond);
  time->Drive();
  IoThread thread(std::move(setup), Mix(read_ratio), &timeline, time);
  EXPECT_TRUE(thread.Arm().ok());
  thread.Run();
  while (const IntervalStats* stats = thread.recorder().Front()) {
    ran.reads.push_back((*stats)[static_cast<int>(IoKind::kRead)].counts.operations);
    ran.writes.push_back((*stats)[static_cast<int>(IoKind::kWrite)].counts.operations);
    thread.recorder().Pop();
  }
  ran.io = thread.outcome();
  ran.finished_ns = thread.recorder().finished_at_ns();
  ran.all_done = thread.recorder().all_done();
  return ran;
}

uint64_t SumOf(const std::vector<uint64_t>& counts) {
  uint64_t sum = 0;
  for (const uint64_t count : counts) sum += count;
  return sum;
}

TEST(PaceTest, BeforeItsBeginAThreadDoesNothing) {
  SimulatedTime time;
  IoThreadSetup setup = SetupOf(&time);
  setup.begin_ns = 2 * kSecond;
  const Ran ran = RunFor(std::move(setup), 1, &time);
  ASSERT_GE(ran.reads.size(), 4u);
  EXPECT_EQ(ran.reads[0] + ran.reads[1], 0u);
  EXPECT_NEAR(static_cast<double>(ran.reads[2]), 100, 2);
  EXPECT_GE(ran.io.first_io_ns, ran.go_ns + 2 * kSecond);
  EXPECT_FALSE(ran.all_done);
  // The wait for the begin is no gap between completions.
  int64_t longest = 0;
  for (size_t i = 0; i < ran.io.gaps_ns.size(); ++i) {
    if (ran.io.gaps_ns[i] > 0) longest = int64_t{1} << i;
  }
  EXPECT_LE(longest, kLatencyNs);
}

// A write and its sync take 10 ms each, in turn: the syncs' half of the time is in no gap.
TEST(PaceTest, ThePauseOfASyncIsNoGap) {
  SimulatedTime time;
  IoThreadSetup setup = SetupOf(&time);
  setup.sync.every_writes = 1;
  const Ran ran = RunFor(std::move(setup), 0, &time);
  int64_t gaps = 0;
  for (const int64_t sum : ran.io.gaps_ns) gaps += sum;
  EXPECT_NEAR(static_cast<double>(SumOf(ran.writes)), 200, 2);
  EXPECT_NEAR(static_cast<double>(ran.io.sync_ns), 2e9, 2e7);
  EXPECT_NEAR(static_cast<double>(gaps), 2e9, 2e7);
}

TEST(PaceTest, AThreadEndsOnTimeAndSaysWhen) {
  SimulatedTime time;
  IoThreadSetup setup = SetupOf(&time);
  setup.end_ns = 3 * kSecond / 2;
  const Ran ran = RunFor(std::move(setup), 1, &time);
  EXPECT_TRUE(ran.all_done);
  EXPECT_GE(ran.finished_ns, ran.go_ns + 3 * kSecond / 2);
  EXPECT_LE(ran.finished_ns, ran.go_ns + 3 * kSecond / 2 + kLatencyNs);
  EXPECT_NEAR(static_cast<double>(SumOf(ran.reads)), 150, 2);
}

// Reads of 300 ms, four at a time: eight take 600 ms, which is 100 ms more than the thread's time.
TEST(PaceTest, TheTimeOfAThreadHasAllItsIosOfTheInterval) {
  SimulatedTime time;
  IoThreadSetup setup = SetupOf(&time, 4);
  setup.make_engine = [&time] { return NewNullEngine({300 * kMs, 0, 0}, &time); };
  setup.end_ns = kSecond / 2;
  const Ran ran = RunFor(std::move(setup), 1, &time);
  EXPECT_EQ(ran.reads.at(0), 8u);
  EXPECT_NEAR(static_cast<double>(ran.finished_ns - ran.go_ns), 0.6 * kSecond, kMs);
}

// I/Os of the next interval do not count for the time before it.
TEST(PaceTest, AThreadThatEndsWithAnIntervalHasNoTimeInTheNext) {
  SimulatedTime time;
  IoThreadSetup setup = SetupOf(&time, 4);
  setup.make_engine = [&time] { return NewNullEngine({300 * kMs, 0, 0}, &time); };
  setup.end_ns = kSecond;
  const Ran ran = RunFor(std::move(setup), 1, &time);
  EXPECT_EQ(ran.reads.at(0), 12u);
  EXPECT_EQ(ran.finished_ns, ran.go_ns + kSecond);
}

TEST(PaceTest, AnEndBeyondTheLoadsIsNone) {
  SimulatedTime time;
  IoThreadSetup setup = SetupOf(&time);
  setup.end_ns = 4 * kSecond;
  const Ran ran = RunFor(std::move(setup), 1, &time);
  EXPECT_FALSE(ran.all_done);
  EXPECT_EQ(ran.finished_ns, ran.io.last_io_ns);
}

TEST(PaceTest, AScheduleBeginsAndEndsWithItsWorkload) {
  SimulatedTime time;
  IoThreadSetup setup = SetupOf(&time, 16);
  setup.begin_ns = kSecond;
  setup.end_ns = 3 * kSecond;
  Schedule::Options loop;
  loop.rate_per_second = 50;
  loop.poisson = false;
  setup.start.open_loop = loop;
  const Ran ran = RunFor(std::move(setup), 1, &time);
  EXPECT_EQ(ran.io.due, 100u);
  EXPECT_EQ(ran.io.unstarted, 0u);
  EXPECT_EQ(SumOf(ran.reads), 100u);
  EXPECT_LE(ran.io.longest_backlog_ns, kMs);
}

TEST(PaceTest, EachDirectionHasItsOwnRate) {
  SimulatedTime time;
  IoThreadSetup setup = SetupOf(&time, 8);
  setup.start.reads.iops = 100;
  setup.start.writes.bytes_per_second = 50 * 4096;
  // The limits decide, not the mix.
  const Ran ran = RunFor(std::move(setup), 0.5, &time);
  EXPECT_NEAR(static_cast<double>(SumOf(ran.reads)), 400, 4);
  EXPECT_NEAR(static_cast<double>(SumOf(ran.writes)), 200, 4);
  EXPECT_GT(ran.io.rate_ns, 0);
}

TEST(PaceTest, OneLimitKeepsTheMix) {
  SimulatedTime time;
  IoThreadSetup setup = SetupOf(&time, 8);
  setup.start.reads.iops = 100;
  const Ran ran = RunFor(std::move(setup), 0.8, &time);
  const auto reads = static_cast<double>(SumOf(ran.reads));
  EXPECT_NEAR(reads, 400, 8);
  EXPECT_NEAR(static_cast<double>(SumOf(ran.writes)), reads / 4, 40);
}

}  // namespace
}  // namespace lockstep::worker
