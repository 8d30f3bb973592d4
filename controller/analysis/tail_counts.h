#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/histogram.h"
#include "proto/report.pb.h"

namespace lockstep::controller {

// How many latencies of each block of the measured time lie above the percentiles of a report: all
// that their confidence intervals need of the intervals (AddConfidence()), in less memory than
// histograms take. A block is an interval, or some in a row. Pure; not thread-safe.
class TailCounts {
 public:
  struct Share {
    double above = 0, count = 0;
  };

  // Counts above the percentiles of `report` that have a latency. There are at most `max_blocks` (>
  // 0): beyond, every two neighbours become one.
  TailCounts(const v1::OperationReport& report, size_t max_blocks);

  // Latencies of this interval, in the metric of the report. Intervals come in ascending order; one
  // of them may come in parts.
  void Add(uint32_t interval, const common::Buckets& latencies);

  // The share of latencies above the bucket of `latency_ns`, a percentile of the report, for each
  // block in which an operation completed. Blocks without an operation are left out: the load had
  // ended, or had not begun.
  std::vector<Share> SharesAbove(double latency_ns) const;
  // How many blocks that are.
  size_t blocks() const;

  // The numbers that a block of such a report takes.
  static size_t NumbersOfBlock(const v1::OperationReport& report);

 private:
  void Halve();

  std::vector<uint32_t> bounds_;  // buckets, ascending
  size_t max_blocks_;
  uint32_t first_ = 0;            // the first interval
  uint32_t block_intervals_ = 1;  // that make a block
  // For each block its count, then the counts above each bound.
  std::vector<double> numbers_;
};

}  // namespace lockstep::controller
