#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/histogram.h"
#include "measure/operation_stats.h"

namespace lockstep::measure {

// Latencies of all hosts, as they are reported, by workload and kind of operation.
using LatenciesOfKinds = std::map<WorkloadKind, common::Buckets>;

// The same, as the store has them: each encoded by Histogram::Encode().
using EncodedLatencies = std::map<WorkloadKind, std::string>;

// Some measured intervals in a row.
struct LatencyBlock {
  uint32_t intervals = 0;
  LatenciesOfKinds latencies;
};

// The latencies of a phase's measured time, divided into blocks: how much these differ tells how
// certain a percentile of them all is. There are at most kMaxBlocks, of about equal length: beyond,
// every two neighbours become one. None where the phase has more workloads and kinds than
// kMaxKinds, whose latencies would take too much memory. Pure; not thread-safe.
class LatencyBlocks {
 public:
  static constexpr size_t kMaxBlocks = 128;
  static constexpr size_t kMaxKinds = 64;

  // The next measured interval's. One in which no I/O completed is a block of nothing, too.
  void Add(LatenciesOfKinds latencies);
  const std::vector<LatencyBlock>& blocks() const { return blocks_; }

 private:
  std::vector<LatencyBlock> blocks_;
  uint32_t block_intervals_ = 1;
  bool has_too_many_ = false;
};

}  // namespace lockstep::measure
