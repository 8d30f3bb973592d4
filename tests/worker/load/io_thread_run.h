#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "common/timing.h"
#include "gtest/gtest.h"
#include "tests/worker/simulated_time.h"
#include "worker/engine/null_engine.h"
#include "worker/load/io_thread.h"

namespace lockstep::worker {

// One I/O thread on the null engine, in virtual time.

inline Access RandomReads(double read_ratio = 1) {
  AccessOptions options;
  options.lines = {{}};
  options.lines[0].read_ratio = read_ratio;
  return *Access::Make({{0, 0, 1 << 20}}, options);
}

inline IoThreadSetup SetupOf(const NullScript& script, const common::Clock* clock, uint32_t depth) {
  IoThreadSetup setup;
  setup.make_engine = [script, clock] { return NewNullEngine(script, clock); };
  setup.engine.files = {{NoStorage{}, 1 << 20}};
  setup.engine.queue_depth = depth;
  setup.paths = {"nothing"};
  setup.max_batch = std::max<uint32_t>(1, depth / 2);
  setup.drain_ns = timing::kSecond;
  return setup;
}

inline Schedule::Options FixedRate(double rate) {
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
inline Outcome RunFor(IoThreadSetup setup, Access access, SimulatedTime* time, int64_t load_ns) {
  Timeline timeline(load_ns, 0);
  const int64_t go = time->MonotonicNs() + timing::kMs;
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

}  // namespace lockstep::worker
