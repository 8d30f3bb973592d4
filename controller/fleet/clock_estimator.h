#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

#include "common/timing.h"

namespace lockstep::controller {

// Estimates what a worker's monotonic clock shows, from exchanges as NTP makes them (D. Mills, RFC
// 5905, section 8): the controller notes when a ping was sent (t0) and when its reply came (t3),
// the worker when it came (t1) and when it answered (t2). Not thread-safe; pure.
//
// Each exchange gives two facts that hold whatever the path did: the worker's clock was at most t1
// - t0 ahead at t0, and at least t2 - t3 ahead at t3 (F. Cristian 1989; K. Marzullo 1984). A line
// through time that stays below all of the former and above all of the latter is what the clocks
// may have done; the least delay in each direction counts by itself, so that a reply that queued
// does not spoil what its ping showed. Offset and drift are the middle of what is possible, the
// bounds half of it: the truth lies in offset ± bound as long as the clocks' rates differ by no
// more than kDriftBound and change by no more than kWander over the kept minute. How much of the
// delay lay in which direction cannot be known: it is inside the bound.
class ClockEstimator {
 public:
  // 200 ppm: twice what commodity oscillators are specified for, on either side.
  static constexpr double kDriftBound = 200e-6;
  // How far the rates' difference may move while exchanges are kept.
  static constexpr double kWander = 2e-6;
  static constexpr int64_t kGranularityNs = timing::kUs;

  struct Estimate {
    bool known = false;
    int64_t offset_ns = 0;  // worker's clock minus the controller's
    int64_t bound_ns = 0;
    int64_t round_trip_ns = 0;  // the least of the kept exchanges
    int64_t slowest_ns = 0;     // the longest round trip of the last few seconds
    double drift = 0;           // worker's rate over the controller's, minus 1
    double drift_bound = 0;
  };

  // All in nanoseconds; t0 and t3 of the controller's clock, t1 and t2 of the worker's. Impossible
  // exchanges are ignored.
  void Add(int64_t t0, int64_t t1, int64_t t2, int64_t t3);
  // At an instant of the controller's clock, which may lie ahead.
  Estimate At(int64_t now_ns) const;

 private:
  // The tightest facts of a stretch of time.
  struct Slot {
    int64_t begin_ns = 0;
    int64_t high = 0, high_at = 0;  // the offset was at most `high` at `high_at`
    int64_t low = 0, low_at = 0;
    int64_t min_round_trip_ns = 0, longest_round_trip_ns = 0;
  };
  // Whether no clock of a possible rate fits both the exchange and a slot.
  bool Contradicts(int64_t high, int64_t high_at, int64_t low, int64_t low_at) const;
  void EstimateDrift();
  // The offsets that are possible at an instant.
  void Range(int64_t at_ns, double* low, double* high) const;

  static constexpr size_t kKept = 32;
  static constexpr int64_t kSlotNs = 2 * timing::kSecond;
  std::deque<Slot> slots_;
  double drift_ = 0;
  double drift_bound_ = kDriftBound;
};

}  // namespace lockstep::controller
