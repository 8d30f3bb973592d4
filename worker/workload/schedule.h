#pragma once

#include <cstdint>

#include "worker/workload/random.h"

namespace lockstep::worker {

// When one thread's I/Os of an open loop are due. A pure function of its arguments: nothing waits
// in memory, however far the storage falls behind. Not thread-safe.
class Schedule {
 public:
  struct Options {
    double rate_per_second = 0;  // of this thread, at the start; > 0
    bool poisson = true;         // else equal gaps
    // equal gaps: the first is due after this share of a gap, in [0, 1)
    double shift = 0;
    double ramp_to = 1;   // the rate changes evenly to this multiple of itself …
    int64_t ramp_ns = 0;  // … over this time, and stays there; 0 is a constant rate
    uint64_t seed = 0;
  };
  static constexpr int64_t kNever = INT64_MAX;

  explicit Schedule(const Options& options);
  // When the next one is due, nanoseconds from T; kNever when the rate has fallen to nothing.
  int64_t next_ns() const { return next_ns_; }
  void Advance();
  // How many I/Os are due until `at_ns`, on average: the integral of the rate.
  double Expected(int64_t at_ns) const;

 private:
  int64_t InstantOf(double arrivals) const;

  const Options options_;
  const double rate_per_ns_;
  const double slope_;  // change of the rate, per ns²
  Random random_;
  double arrivals_ = 0;  // on the unit-rate process
  int64_t next_ns_ = 0;
};

// The rate limit of one thread: at most so many I/Os and bytes per second. Up to 10 ms that were
// lost are made up for. Not thread-safe.
class Pacer {
 public:
  // 0 is no limit.
  Pacer(double operations_per_second, double bytes_per_second)
      : ns_per_operation_(operations_per_second > 0 ? 1e9 / operations_per_second : 0),
        ns_per_byte_(bytes_per_second > 0 ? 1e9 / bytes_per_second : 0) {}
  bool active() const { return ns_per_operation_ > 0 || ns_per_byte_ > 0; }
  void Begin(int64_t now_ns) { next_ns_ = static_cast<double>(now_ns); }
  // When the next I/O may start.
  int64_t next_ns() const { return static_cast<int64_t>(next_ns_); }
  void Started(int64_t now_ns, uint32_t bytes);

 private:
  const double ns_per_operation_;
  const double ns_per_byte_;
  double next_ns_ = 0;
};

}  // namespace lockstep::worker
