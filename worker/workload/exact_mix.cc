#include "worker/workload/exact_mix.h"

#include <cmath>

namespace lockstep::worker {

ExactMix::ExactMix(double read_ratio, std::atomic<uint64_t>* count) : count_(count) {
  // A percentage is written with ten digits. The simplest fraction within that distance is the one
  // that was meant: 66.66666667% is 2/3. Continued fractions find it in a few steps, with a
  // denominator that is far below 2^32.
  constexpr double kDistance = 1e-9;
  constexpr int kMaxSteps = 24;
  const double share = 1 - read_ratio;
  uint64_t above = 0;
  uint64_t below = 1;
  uint64_t next_above = 1;
  uint64_t next_below = 0;
  double rest = share;
  for (int step = 0; step < kMaxSteps; ++step) {
    const double whole = std::floor(rest);
    const auto factor = static_cast<uint64_t>(whole);
    const uint64_t found_above = factor * next_above + above;
    const uint64_t found_below = factor * next_below + below;
    above = next_above;
    below = next_below;
    next_above = found_above;
    next_below = found_below;
    const double value = static_cast<double>(found_above) / static_cast<double>(found_below);
    if (std::abs(value - share) <= kDistance) break;
    rest = 1 / (rest - whole);
  }
  writes_ = next_above;
  of_ = next_below;
}

}  // namespace lockstep::worker
