#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

namespace lockstep::controller {

// Estimates what a worker's monotonic clock shows, from exchanges as NTP makes them (D. Mills, RFC 5905, section 8): the
// controller notes when a ping was sent (t0) and when its reply came (t3), the worker when it came (t1) and when it answered
// (t2). The exchange with the least round trip, aged by the assumed drift, counts. Not thread-safe; pure.
//
// The bound holds for whatever asymmetry the path has, because half the round trip covers it: the true offset lies in
// offset ± bound as long as the clocks drift apart by no more than kDriftBound.
class ClockEstimator {
 public:
  // 200 ppm: twice what commodity oscillators are specified for, on either side.
  static constexpr double kDriftBound = 200e-6;
  static constexpr int64_t kGranularityNs = 1000;

  struct Estimate {
    bool known = false;
    int64_t offset_ns = 0;      // worker's clock minus the controller's
    int64_t bound_ns = 0;
    int64_t round_trip_ns = 0;  // of the exchange that counts
  };

  // All in nanoseconds; t0 and t3 of the controller's clock, t1 and t2 of the worker's. Impossible exchanges are ignored.
  void Add(int64_t t0, int64_t t1, int64_t t2, int64_t t3);
  Estimate At(int64_t now_ns) const;

 private:
  struct Exchange {
    int64_t at_ns;
    int64_t offset_ns;
    int64_t round_trip_ns;
  };
  static int64_t BoundOf(const Exchange& exchange, int64_t now_ns);
  static constexpr size_t kKept = 64;
  std::deque<Exchange> exchanges_;
};

}  // namespace lockstep::controller
