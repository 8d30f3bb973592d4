#pragma once

#include <cstdint>

#include "common/ids.h"
#include "worker/engine/buffers.h"
#include "worker/engine/io_engine.h"
#include "worker/workload/content.h"
#include "worker/workload/random.h"

namespace lockstep::worker {

// The content that one thread writes to blocks that are not verified. Buffers are filled once.
// Depending on the options, a write stamps its buffer, uses the buffer of a duplicate block, or
// fills its buffer again. Not thread-safe.
class BlockContent {
 public:
  BlockContent(const ContentOptions& options, uint64_t seed)
      : options_(options), seed_(seed), random_(common::DeriveSeed(seed, 1)) {}

  // The number of buffers that it needs in addition to one for each I/O in flight.
  uint32_t extra_buffers() const {
    if (options_.zeros || options_.duplicate_ratio <= 0 || makes_duplicates()) return 0;
    return static_cast<uint32_t>(options_.duplicate_blocks);
  }
  // Fills the buffers [first, first + depth) of writes, and the extra ones after them.
  void Prepare(const IoBuffers& buffers, uint32_t first, uint32_t depth);
  // Prepares the thread's `number`-th write; may choose another buffer for it.
  void Fill(const IoBuffers& buffers, uint64_t number, IoRequest* request);
  // Whether Fill() takes so long that it must not count as service time.
  bool is_slow() const { return fresh_; }
  // Whether Fill() only stamps, or does nothing.
  bool is_plain() const { return !fresh_ && duplicate_below_ == 0; }
  bool stamps() const { return stamps_; }

 private:
  // Whether there are too many blocks that others are copies of to keep them.
  bool makes_duplicates() const { return options_.duplicate_blocks > kDuplicateBlocks; }

  const ContentOptions options_;
  const uint64_t seed_;
  Random random_;
  uint32_t duplicates_ = 0;       // the first buffer of those that are kept
  uint64_t duplicate_below_ = 0;  // a draw below this takes one of them
  bool stamps_ = false;
  bool fresh_ = false;
};

}  // namespace lockstep::worker
