#pragma once

#include <atomic>
#include <cstdint>

#include "worker/workload/io_kind.h"

namespace lockstep::worker {

// Reads and writes in a fixed order that has the workload's share at each moment: an I/O is a write
// as soon as there would be too few of them. With r reads for each write that is sysbench's rule,
// which reads while (reads + 1) / (writes + 1) < r. The order depends on the share alone.
class ExactMix {
 public:
  // `read_ratio` lies in [0, 1]. `count`: the I/Os so far of all threads that keep the share
  // together; outlives this.
  ExactMix(double read_ratio, std::atomic<uint64_t>* count);

  // Counts an I/O, and says what it does. From any thread.
  IoKind Take() {
    // Only the number passes between the threads, so that relaxed order is enough.
    const uint64_t number = count_->fetch_add(1, std::memory_order_relaxed);
    // The first n I/Os have floor(n * writes / of) writes, counted from one I/O before the first.
    const uint64_t rest = (number + 1) % of_ * writes_ % of_;
    return rest + writes_ >= of_ ? IoKind::kWrite : IoKind::kRead;
  }

 private:
  // The share of writes, as a fraction. Shares are given as decimals, whose binary form would move
  // an I/O from time to time.
  uint64_t writes_ = 0;
  uint64_t of_ = 1;
  std::atomic<uint64_t>* count_;
};

}  // namespace lockstep::worker
