#pragma once

#include <cstdint>
#include <vector>

#include "measure/operation_stats.h"

namespace lockstep::worker {

// One second of a device: histograms of latencies drawn from a mixture of log-normal distributions
// (a fast and a slow path, and a tail), 200 to 500 buckets occupied at 10,000 I/Os per second. A
// pool of them is made once, with the work of drawing; a phase then takes one after the other, and
// its result is the sum of those that it took. Immutable; thread-safe.
class LatencyModel {
 public:
  // Kind and bytes are the workload's to say.
  struct Second {
    v1::OperationCounters counters;
    measure::OperationStats stats;
  };
  LatencyModel(uint64_t iops, uint64_t seed);
  const Second& At(size_t index) const { return seconds_[index % seconds_.size()]; }
  size_t size() const { return seconds_.size(); }
  uint64_t iops() const { return iops_; }

 private:
  const uint64_t iops_;
  std::vector<Second> seconds_;
};

}  // namespace lockstep::worker
