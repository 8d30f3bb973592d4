#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>

namespace lockstep::worker {

// A phase's grid on the worker's monotonic clock: interval k is [T + k*interval, T +
// (k+1)*interval). The last one is cut at the end of the load; what completes after that belongs to
// the next interval, the drain. Set up before the load starts; afterwards the end of the load may
// only move to an earlier instant. Thread-safe.
class Timeline {
 public:
  Timeline(int64_t interval_ns, int64_t ramp_ns) : interval_ns_(interval_ns), ramp_ns_(ramp_ns) {}

  // Before any thread starts. `load_ns` is the time from T to the end of the load.
  void Begin(int64_t go_ns, int64_t load_ns) {
    go_ns_ = go_ns;
    load_end_ns_.store(go_ns + load_ns, std::memory_order_release);
  }
  // Ends the load at `at_ns`, if that is earlier than its end so far.
  void EndAt(int64_t at_ns) {
    int64_t end = load_end_ns_.load();
    while (at_ns < end && !load_end_ns_.compare_exchange_weak(end, at_ns)) {
    }
  }

  int64_t go_ns() const { return go_ns_; }
  int64_t interval_ns() const { return interval_ns_; }
  int64_t load_end_ns() const { return load_end_ns_.load(std::memory_order_acquire); }
  int64_t ramp_end_ns() const { return go_ns_ + ramp_ns_; }
  int64_t BeginOf(uint32_t interval) const { return go_ns_ + interval * interval_ns_; }
  // The end of an interval by the grid, or the load's end where that comes first.
  int64_t EndOf(uint32_t interval) const { return std::min(BeginOf(interval + 1), load_end_ns()); }
  bool IsRamp(uint32_t interval) const { return BeginOf(interval + 1) <= ramp_end_ns(); }

 private:
  const int64_t interval_ns_;
  const int64_t ramp_ns_;
  int64_t go_ns_ = 0;
  std::atomic<int64_t> load_end_ns_{std::numeric_limits<int64_t>::max()};
};

}  // namespace lockstep::worker
