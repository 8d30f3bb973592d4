#pragma once

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "common/clock.h"

namespace lockstep::worker {

// Virtual time that one thread drives by sleeping; the others wait until it has come so far. Every
// reading of the driver takes `step_ns`, so that time passes in a loop that never sleeps.
class SimulatedTime final : public common::Clock {
 public:
  explicit SimulatedTime(int64_t step_ns = 10) : step_ns_(step_ns) {}

  // The calling thread drives from now on.
  void Drive() { driver_ = std::this_thread::get_id(); }
  // Nobody drives any more: whoever sleeps is let go.
  void End() { now_ns_ = int64_t{1} << 62; }

  int64_t MonotonicNs() const override {
    if (std::this_thread::get_id() != driver_.load()) return now_ns_;
    return now_ns_ += step_ns_;
  }
  int64_t WallNs() const override { return now_ns_; }
  void SleepUntil(int64_t at_ns) const override {
    if (std::this_thread::get_id() == driver_.load()) {
      now_ns_ = std::max(now_ns_.load(), at_ns);
      return;
    }
    while (now_ns_ < at_ns) usleep(20);
  }
  void Pass(int64_t nanoseconds) const { now_ns_ += nanoseconds; }

 private:
  const int64_t step_ns_;
  std::atomic<std::thread::id> driver_{};
  mutable std::atomic<int64_t> now_ns_{1000000000};
};

}  // namespace lockstep::worker
