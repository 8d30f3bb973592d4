#include "controller/fleet/clock_estimator.h"

#include <algorithm>
#include <cmath>

namespace lockstep::controller {
namespace {

// Offsets beyond this (146 years) are not of clocks, and are kept out of the arithmetic.
constexpr int64_t kLongest = int64_t{1} << 62;
// A stall of minutes does not make the next T lie minutes ahead.
constexpr int64_t kSlowest = 5000000000;

}  // namespace

void ClockEstimator::Add(int64_t t0, int64_t t1, int64_t t2, int64_t t3) {
  // A worker may say anything. An exchange whose times do not fit each other is ignored.
  int64_t replied_after = 0, high = 0, low = 0;
  if (t3 < t0 || __builtin_sub_overflow(t2, t1, &replied_after) || replied_after < 0 ||
      replied_after > t3 - t0) {
    return;
  }
  // Two facts hold, however unequal the two ways are: the offset was at most `high` at t0, and at
  // least `low` at t3.
  if (__builtin_sub_overflow(t1, t0, &high) || __builtin_sub_overflow(t2, t3, &low) ||
      std::abs(high) > kLongest || std::abs(low) > kLongest) {
    return;
  }
  // The worker's own time between receiving and replying is no part of the way, and does not widen
  // the bound.
  const int64_t round_trip = (t3 - t0) - replied_after;
  // A clock that contradicts the facts has jumped, or is another machine's. The middle between
  // before and after would be right for neither, and a go by it would come seconds too late or too
  // early.
  if (Contradicts(high, t0, low, t3)) {
    slots_.clear();
    drift_ = 0;
    drift_bound_ = kDriftBound;
  }
  if (slots_.empty() || t3 - slots_.back().begin_ns >= kSlotNs) {
    slots_.push_back({t3, high, t0, low, t3, round_trip, round_trip});
    // Old facts are worth little, since drift widens them, and their number bounds
    // EstimateDrift()'s pairs.
    if (slots_.size() > kKept) slots_.pop_front();
    return EstimateDrift();
  }
  Slot& slot = slots_.back();
  // Within a slot the clocks move apart by at most 0.2 µs per ms: what is older is compared as it
  // could be now.
  const auto aged = [](int64_t from, int64_t to) {
    return static_cast<int64_t>(kDriftBound * static_cast<double>(std::abs(to - from)));
  };
  if (high <= slot.high + aged(slot.high_at, t0)) slot.high = high, slot.high_at = t0;
  if (low >= slot.low - aged(slot.low_at, t3)) slot.low = low, slot.low_at = t3;
  slot.min_round_trip_ns = std::min(slot.min_round_trip_ns, round_trip);
  slot.longest_round_trip_ns = std::max(slot.longest_round_trip_ns, round_trip);
}

bool ClockEstimator::Contradicts(int64_t high, int64_t high_at, int64_t low, int64_t low_at) const {
  // One fact may be off in one direction as far as the other fact is in the opposite one, so the
  // drift counts twice.
  const auto apart = [](int64_t from, int64_t to) {
    return kGranularityNs +
           static_cast<int64_t>(2 * kDriftBound * static_cast<double>(std::abs(to - from)));
  };
  return std::any_of(slots_.begin(), slots_.end(), [&](const Slot& slot) {
    return low - slot.high > apart(slot.high_at, low_at) ||
           slot.low - high > apart(slot.low_at, high_at);
  });
}

// Every pair of an upper and a lower fact at different times bounds the rate between them.
void ClockEstimator::EstimateDrift() {
  double least = -kDriftBound;
  double most = kDriftBound;
  for (size_t i = 0; i < slots_.size(); ++i) {
    for (size_t j = i + 1; j < slots_.size(); ++j) {
      const Slot& a = slots_[i];
      const Slot& b = slots_[j];
      if (b.high_at > a.low_at) {
        most = std::min(
            most, static_cast<double>(b.high - a.low) / static_cast<double>(b.high_at - a.low_at));
      }
      if (b.low_at > a.high_at) {
        least = std::max(
            least, static_cast<double>(b.low - a.high) / static_cast<double>(b.low_at - a.high_at));
      }
    }
  }
  if (least > most) {
    // No single rate explains them all (a clock was changed, or a machine was moved): what is old
    // says nothing any more.
    while (slots_.size() > 1) slots_.pop_front();
    drift_ = 0;
    drift_bound_ = kDriftBound;
    return;
  }
  // The middle: neither end is likelier, and the bound is half of the width.
  drift_ = (least + most) / 2;
  drift_bound_ = std::min(kDriftBound + std::abs(drift_), (most - least) / 2 + kWander);
}

void ClockEstimator::Range(int64_t at_ns, double* low, double* high) const {
  bool first = true;
  const int64_t origin = slots_.back().low;  // doubles hold differences, not clocks
  for (const Slot& slot : slots_) {
    const auto since_high = static_cast<double>(at_ns - slot.high_at);
    const auto since_low = static_cast<double>(at_ns - slot.low_at);
    const double h = static_cast<double>(slot.high - origin) + drift_ * since_high +
                     drift_bound_ * std::abs(since_high);
    const double l = static_cast<double>(slot.low - origin) + drift_ * since_low -
                     drift_bound_ * std::abs(since_low);
    *high = first ? h : std::min(*high, h);
    *low = first ? l : std::max(*low, l);
    first = false;
  }
}

ClockEstimator::Estimate ClockEstimator::At(int64_t now_ns) const {
  if (slots_.empty()) return {};
  double low = 0;
  double high = 0;
  Range(now_ns, &low, &high);
  Estimate estimate;
  estimate.known = true;
  const double width = std::max(0.0, high - low);
  estimate.offset_ns = slots_.back().low + std::llround((low + high) / 2);
  // Facts that contradict each other by rounding leave no width; by more, their contradiction is
  // the bound.
  estimate.bound_ns = std::llround(std::max(width, low - high) / 2) + kGranularityNs;
  estimate.round_trip_ns = slots_.front().min_round_trip_ns;
  for (const Slot& slot : slots_) {
    estimate.round_trip_ns = std::min(estimate.round_trip_ns, slot.min_round_trip_ns);
  }
  // Three slots are about the last six seconds. A stall that is a minute old does not move T.
  for (size_t i = slots_.size() - std::min<size_t>(3, slots_.size()); i < slots_.size(); ++i) {
    estimate.slowest_ns =
        std::max(estimate.slowest_ns, std::min(slots_[i].longest_round_trip_ns, kSlowest));
  }
  estimate.drift = drift_;
  estimate.drift_bound = drift_bound_;
  return estimate;
}

}  // namespace lockstep::controller
