#include "worker/workload/schedule.h"

#include <algorithm>
#include <cmath>

namespace lockstep::worker {

// A thread makes up for 10 ms that it lost. More would follow a stall of the storage with a burst
// beyond the limit.
constexpr double kLostNs = 1e7;

Schedule::Schedule(const Options& options)
    : options_(options),
      rate_per_ns_(options.rate_per_second / 1e9),
      slope_(options.ramp_ns > 0
                 ? rate_per_ns_ * (options.ramp_to - 1) / static_cast<double>(options.ramp_ns)
                 : 0),
      random_(options.seed) {
  arrivals_ = options.poisson ? 0 : options.shift;
  if (options.poisson) {
    Advance();
  } else {
    next_ns_ = InstantOf(arrivals_);
  }
}

void Schedule::Advance() {
  // The gaps of a Poisson process are exponential. Unit() never is 1, so that the logarithm is
  // finite.
  arrivals_ += options_.poisson ? -std::log(1 - random_.Unit()) : 1;
  next_ns_ = InstantOf(arrivals_);
}

double Schedule::Expected(int64_t at_ns) const {
  const double at = static_cast<double>(std::max<int64_t>(at_ns, 0));
  const double ramp = static_cast<double>(options_.ramp_ns);
  if (slope_ == 0 || at <= ramp) return at * (rate_per_ns_ + slope_ * at / 2);
  return ramp * (rate_per_ns_ + slope_ * ramp / 2) + (at - ramp) * rate_per_ns_ * options_.ramp_to;
}

// Inverts Expected(): the arrivals of a process of changing rate are those of the unit-rate process
// on the integrated clock.
int64_t Schedule::InstantOf(double arrivals) const {
  if (slope_ == 0) return static_cast<int64_t>(arrivals / rate_per_ns_);
  const double ramp = static_cast<double>(options_.ramp_ns);
  const double at_end = ramp * (rate_per_ns_ + slope_ * ramp / 2);
  if (arrivals > at_end) {
    const double rate = rate_per_ns_ * options_.ramp_to;
    if (rate <= 0) return kNever;
    return static_cast<int64_t>(ramp + (arrivals - at_end) / rate);
  }
  // The root that is stable for both signs of the slope.
  const double root = std::sqrt(std::max(0.0, rate_per_ns_ * rate_per_ns_ + 2 * slope_ * arrivals));
  return static_cast<int64_t>(2 * arrivals / (rate_per_ns_ + root));
}

void Pacer::Started(int64_t now_ns, uint32_t bytes) {
  const double cost = std::max(ns_per_operation_, ns_per_byte_ * bytes);
  next_ns_ = std::max(next_ns_, static_cast<double>(now_ns) - kLostNs) + cost;
}

}  // namespace lockstep::worker
