#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "common/histogram.h"

namespace lockstep::controller {

// The decision of omissions.cc, which says what it is for. Pure: the simulation of its false alarms
// (tools/bench truth) asks the same question.

// The usual pace of a closed loop, as if nothing ever stood still.
struct Pace {
  // From one start of an I/O to the next, of each place in the queue: the median latency, and the
  // mean wait for the rate and the pauses of the job. Above 0.
  double expected_ns = 0;
  // The longest that the job lets a thread wait for its next I/O.
  double pause_ns = 0;
};

// The time that threads spent between completions.
class StallTime {
 public:
  // `gaps_ns`: as in WorkloadResult.
  void Add(std::span<const int64_t> gaps_ns, const Pace& pace) {
    constexpr double kStall = 20;  // times the expected time of an I/O
    const double shortest_ns = kStall * pace.expected_ns + 2 * pace.pause_ns;
    for (size_t i = 0; i < gaps_ns.size(); ++i) {
      const auto sum = static_cast<double>(gaps_ns[i]);
      all_ns_ += sum;
      // A class counts only if all gaps in it are long enough.
      if (std::ldexp(1.0, static_cast<int>(i)) >= shortest_ns) stalled_ns_ += sum;
    }
  }
  void Add(const StallTime& other) {
    all_ns_ += other.all_ns_;
    stalled_ns_ += other.stalled_ns_;
  }
  // Not where nothing was added: a host without any gap has no share of it.
  bool is_known() const { return all_ns_ > 0; }
  // The share in gaps that are stalls; 0 if it is not known.
  double ratio() const { return all_ns_ > 0 ? stalled_ns_ / all_ns_ : 0; }
  // Whether the I/Os that are missing can be 1 % of all: fewer do not move a p99.
  bool moves_p99() const {
    constexpr double kMoves = 0.01;
    return ratio() >= kMoves;
  }
  bool is_much() const {
    constexpr double kMuch = 0.08;
    return ratio() >= kMuch;
  }

 private:
  double all_ns_ = 0;
  double stalled_ns_ = 0;
};

// I/Os that are missing, evenly over a range of latencies.
struct MissingRange {
  double begin_ns = 0, end_ns = 0;
  double per_ns = 0;
};

// Adds those of each bucket, rounded so that the sum over the buckets is right.
inline void AddRanges(const std::vector<MissingRange>& ranges, common::Histogram* all) {
  std::map<double, double> changes;  // of the I/Os per nanosecond, by latency
  for (const MissingRange& range : ranges) {
    changes[range.begin_ns] += range.per_ns;
    changes[range.end_ns] -= range.per_ns;
  }
  auto next = changes.begin();
  if (next == changes.end()) return;
  double at = next->first;
  double per_ns = 0;
  double sum = 0;
  double given = 0;
  for (uint32_t bucket = common::BucketOf(static_cast<uint64_t>(at)); next != changes.end();
       ++bucket) {
    const auto high = static_cast<double>(common::BucketHigh(bucket));
    for (; next != changes.end() && next->first < high; ++next) {
      sum += per_ns * (next->first - at);
      at = next->first;
      per_ns += next->second;
    }
    if (next != changes.end()) sum += per_ns * (high - at);
    at = high;
    const double whole = std::floor(sum + 0.5);
    if (whole <= given) continue;
    all->AddBucket(bucket, static_cast<uint64_t>(whole - given));
    given = whole;
  }
}

// The latencies, and those that are missing beside them: for each I/O of latency L the values
// L - E, L - 2E, … that are at least E.
inline common::Histogram WithMissing(const common::Histogram& measured, double expected_ns) {
  // An I/O that hung for an hour would stand for a billion others. From so many on they are given
  // to the buckets together: a report asks this for each workload of each host.
  constexpr double kOneByOne = 16;
  common::Histogram all;
  std::vector<MissingRange> ranges;
  for (const auto& [bucket, count] : measured.Occupied()) {
    all.AddBucket(bucket, count);
    const double latency = common::BucketMidpoint(bucket);
    const double missing = std::floor(latency / expected_ns) - 1;
    if (missing > kOneByOne) {
      ranges.push_back({latency - (missing + 0.5) * expected_ns, latency - 0.5 * expected_ns,
                        static_cast<double>(count) / expected_ns});
      continue;
    }
    for (double k = 1; k <= missing; ++k) {
      all.AddBucket(common::BucketOf(static_cast<uint64_t>(latency - k * expected_ns)), count);
    }
  }
  AddRanges(ranges, &all);
  return all;
}

struct Omitted {
  double p99_ns = 0;
  double corrected_p99_ns = 0;  // with the missing I/Os
};

// Nothing where the threads stood still too little, or the p99 would be much the same.
// `corrected`: the latencies with those that are missing.
inline std::optional<Omitted> OmittedBeside(const common::Histogram& measured,
                                            const common::Histogram& corrected,
                                            const StallTime& time) {
  constexpr double kFarOff = 2;
  if (!time.is_much()) return std::nullopt;
  const Omitted omitted{measured.Percentile(99), corrected.Percentile(99)};
  if (omitted.corrected_p99_ns < kFarOff * omitted.p99_ns) return std::nullopt;
  return omitted;
}

}  // namespace lockstep::controller
