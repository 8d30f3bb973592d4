#include "controller/fleet/clock_estimator.h"

#include <algorithm>

namespace lockstep::controller {

void ClockEstimator::Add(int64_t t0, int64_t t1, int64_t t2, int64_t t3) {
  const int64_t round_trip = (t3 - t0) - (t2 - t1);
  if (t3 < t0 || t2 < t1 || round_trip < 0) return;
  exchanges_.push_back({t3, ((t1 - t0) + (t2 - t3)) / 2, round_trip});
  if (exchanges_.size() > kKept) exchanges_.pop_front();
}

int64_t ClockEstimator::BoundOf(const Exchange& exchange, int64_t now_ns) {
  const double age = static_cast<double>(std::max<int64_t>(0, now_ns - exchange.at_ns));
  return exchange.round_trip_ns / 2 + static_cast<int64_t>(kDriftBound * age) + kGranularityNs;
}

ClockEstimator::Estimate ClockEstimator::At(int64_t now_ns) const {
  if (exchanges_.empty()) return {};
  const auto best = std::min_element(exchanges_.begin(), exchanges_.end(), [now_ns](const Exchange& a, const Exchange& b) {
    return BoundOf(a, now_ns) < BoundOf(b, now_ns);
  });
  return {true, best->offset_ns, BoundOf(*best, now_ns), best->round_trip_ns};
}

}  // namespace lockstep::controller
