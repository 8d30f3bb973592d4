#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "common/histogram.h"

namespace lockstep::controller {

// The decision of omissions.cc, which says what it is for. Pure: the simulation of its false alarms
// (tools/bench truth) asks the same question.

// The time that threads spent between completions.
class StallTime {
 public:
  // `gaps_ns`: as in WorkloadResult. `median_ns`: of the latencies.
  void Add(std::span<const int64_t> gaps_ns, double median_ns) {
    constexpr double kStall = 20;  // times the median
    for (size_t i = 0; i < gaps_ns.size(); ++i) {
      const auto sum = static_cast<double>(gaps_ns[i]);
      all_ns_ += sum;
      // A class counts only if all gaps in it are long enough.
      if (std::ldexp(1.0, static_cast<int>(i)) >= kStall * median_ns) stalled_ns_ += sum;
    }
  }
  // Not where nothing was added: a host without any gap has no share of it.
  bool is_known() const { return all_ns_ > 0; }
  // The share in gaps that are stalls; 0 if it is not known.
  double ratio() const { return all_ns_ > 0 ? stalled_ns_ / all_ns_ : 0; }
  bool is_much() const {
    constexpr double kMuch = 0.08;
    return ratio() >= kMuch;
  }

 private:
  double all_ns_ = 0;
  double stalled_ns_ = 0;
};

// The latencies, and those that are missing beside them: for each I/O of latency L the values
// L - E, L - 2E, … that are at least E.
inline common::Histogram WithMissing(const common::Histogram& measured, double expected_ns) {
  // An I/O that hung for an hour would stand for a billion others; steps grow so that there are at
  // most so many, each of more weight.
  constexpr double kMaxSteps = 1000;
  common::Histogram all;
  for (const auto& [bucket, count] : measured.Occupied()) {
    all.AddBucket(bucket, count);
    const double latency = common::BucketMidpoint(bucket);
    const double missing = std::floor(latency / expected_ns) - 1;
    if (missing < 1) continue;
    const double weight = std::max(1.0, missing / kMaxSteps);
    for (double k = 1; k <= missing; k += weight) {
      all.AddBucket(common::BucketOf(static_cast<uint64_t>(latency - k * expected_ns)),
                    static_cast<uint64_t>(static_cast<double>(count) * weight));
    }
  }
  return all;
}

struct Omitted {
  double p99_ns = 0;
  double corrected_p99_ns = 0;  // with the missing I/Os
};

// Nothing where the threads stood still too little, or the p99 would be much the same.
// `median_ns`: of the latencies, and above 0.
inline std::optional<Omitted> OmittedBeside(const common::Histogram& measured, double median_ns,
                                            const StallTime& time) {
  constexpr double kFarOff = 2;
  if (!time.is_much()) return std::nullopt;
  const Omitted omitted{measured.Percentile(99), WithMissing(measured, median_ns).Percentile(99)};
  if (omitted.corrected_p99_ns < kFarOff * omitted.p99_ns) return std::nullopt;
  return omitted;
}

}  // namespace lockstep::controller
