// Workloads whose I/Os are kept in proportion.

#include "worker/load/flow.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <thread>
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

TEST(FlowTest, NobodyBeginsARoundBeforeTheOthers) {
  Flow flow;
  Flow::Member* one = flow.Add(1);
  Flow::Member* three = flow.Add(3);
  one->Join();
  three->Join();
  EXPECT_TRUE(one->Take());
  EXPECT_FALSE(one->Take()) << "the other one has not done its three";
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(three->Take());
  EXPECT_TRUE(three->Take()) << "both have done their first round";
  EXPECT_TRUE(one->Take());
  EXPECT_FALSE(one->Take());
}

TEST(FlowTest, NobodyWaitsForThoseThatEndedOrHaveNotBegun) {
  Flow flow;
  Flow::Member* early = flow.Add(1);
  Flow::Member* late = flow.Add(2);
  early->Join();
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(early->Take());
  late->Join();
  // It does not make up for what went before.
  int ahead = 0;
  while (ahead < 100 && late->Take()) ++ahead;
  EXPECT_LE(ahead, 4);
  EXPECT_TRUE(early->Take());
  late->Leave();
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(early->Take());
}

TEST(FlowTest, ManyThreadsKeepTheProportion) {
  constexpr std::array<uint32_t, 3> kShares = {1, 4, 2};
  Flow flow;
  std::vector<Flow::Member*> members;
  for (const uint32_t share : kShares) members.push_back(flow.Add(share));
  std::array<std::atomic<uint64_t>, 3> taken{};
  std::atomic<bool> stop{false};
  for (Flow::Member* member : members) {
    member->Join();
    member->Join();
  }
  std::vector<std::thread> threads;
  for (size_t i = 0; i < 6; ++i) {
    threads.emplace_back([&, which = i % 3] {
      while (!stop) {
        if (members[which]->Take()) {
          ++taken[which];
        } else {
          std::this_thread::yield();
        }
      }
    });
  }
  while (taken[0] < 2000) std::this_thread::yield();
  stop = true;
  for (std::thread& thread : threads) thread.join();
  const uint64_t rounds = taken[0];
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_GE(taken[i] + kShares[i], rounds * kShares[i] - kShares[i]);
    EXPECT_LE(taken[i], (rounds + 2) * kShares[i]);
  }
}

IoThreadSetup NullSetup(SimulatedTime* time, Flow::Member* flow) {
  IoThreadSetup setup;
  setup.make_engine = [time] { return NewNullEngine({kMs, 0, 0}, time); };
  setup.engine.files = {{NoStorage{}, 1 << 20}};
  setup.engine.queue_depth = 4;
  setup.paths = {"nothing"};
  setup.drain_ns = kSecond;
  setup.flow = flow;
  return setup;
}

// Until T has come nobody knows which thread wakes up first.
TEST(FlowTest, OthersWaitForAThreadThatIsArmedAndNotYetAwake) {
  SimulatedTime time;
  Flow flow;
  Flow::Member* other = flow.Add(1);
  other->Join();
  IoThreadSetup setup = NullSetup(&time, flow.Add(5));
  AccessOptions options;
  options.lines = {{}};
  Timeline timeline(kSecond, 0);
  IoThread thread(std::move(setup), *Access::Make({{0, 0, 1 << 20}}, options), &timeline, &time);
  ASSERT_TRUE(thread.Arm().ok());
  EXPECT_TRUE(other->Take());
  EXPECT_FALSE(other->Take());
  thread.Skip();
  EXPECT_TRUE(other->Take()) << "it will not begin";
}

// A thread that is ahead of a slower workload waits, and goes on when that one has ended.
TEST(FlowTest, AThreadKeepsItsShare) {
  SimulatedTime time;
  Flow flow;
  Flow::Member* other = flow.Add(1);
  other->Join();
  for (int i = 0; i < 9; ++i) EXPECT_TRUE(other->Take());
  IoThreadSetup setup = NullSetup(&time, flow.Add(5));
  AccessOptions options;
  options.lines = {{}};
  Timeline timeline(kSecond, 0);
  const int64_t go = time.MonotonicNs() + kMs;
  timeline.Begin(go, kSecond);
  time.Drive();
  IoThread thread(std::move(setup), *Access::Make({{0, 0, 1 << 20}}, options), &timeline, &time);
  EXPECT_TRUE(thread.Arm().ok());
  thread.Run();
  uint64_t done = 0;
  while (const IntervalStats* stats = thread.recorder().Front()) {
    done += (*stats)[static_cast<int>(IoKind::kRead)].counts.operations;
    thread.recorder().Pop();
  }
  // It joined in the round of the other one, which did nothing from then on: one round is left.
  EXPECT_EQ(done, 5u);
  EXPECT_GT(thread.outcome().rate_ns, kSecond * 9 / 10);
}

}  // namespace
}  // namespace lockstep::worker
