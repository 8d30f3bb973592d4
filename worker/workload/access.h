#pragma once

#include <cstdint>

#include "worker/workload/block_space.h"
#include "worker/workload/random.h"

namespace lockstep::worker {

enum class Order { kSequential, kRandom };

// What one thread does next: which block, and whether it reads or writes it. A pure function of its arguments and
// of how often it was asked. Not thread-safe.
class Access {
 public:
  struct Options {
    Order order = Order::kRandom;
    double read_ratio = 1;  // share of reads
    uint64_t seed = 0;
    uint32_t thread = 0;    // of `threads` on this worker: a sequential thread has its own part of the space
    uint32_t threads = 1;
  };
  struct Next {
    BlockSpace::Place place;
    bool read = true;
  };

  // `space` outlives this.
  Access(const BlockSpace* space, const Options& options);

  Next Take() {
    Next next;
    next.place = space_->At(order_ == Order::kRandom ? random_.Below(space_->blocks()) : TakeSequential());
    next.read = always_read_ || (!always_write_ && random_.Next() < read_below_);
    return next;
  }

 private:
  uint64_t TakeSequential() {
    const uint64_t block = begin_ + position_;
    if (++position_ == length_) position_ = 0;
    return block;
  }

  const BlockSpace* space_;
  const Order order_;
  const bool always_read_;
  const bool always_write_;
  const uint64_t read_below_;
  Random random_;
  uint64_t begin_ = 0;
  uint64_t length_ = 1;
  uint64_t position_ = 0;
};

}  // namespace lockstep::worker
