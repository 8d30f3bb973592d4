#pragma once

#include <cassert>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"

namespace lockstep::worker {

// The offsets at which I/Os of one length may begin on one worker: slices of files or devices, one
// after the other, and in each the offsets from which the whole I/O fits. Numbered from 0.
// Immutable; thread-safe.
class BlockSpace {
 public:
  // Part of an open file: bytes [begin, end) may be touched.
  struct Extent {
    uint16_t file = 0;  // index into the engine's files
    uint64_t begin = 0;
    uint64_t end = 0;
  };
  struct Offset {
    uint16_t file = 0;
    uint64_t offset = 0;
  };
  // The offsets in one extent: numbers [first, first + blocks).
  struct Run {
    uint16_t file = 0;
    uint64_t offset = 0;  // of the first
    uint64_t end = 0;     // of the extent
    uint64_t first = 0;
    uint64_t blocks = 0;
  };

  // The offsets in an extent at which I/Os may begin. All in bytes, at least 1.
  struct Grid {
    uint64_t length = 1;  // of an I/O
    uint64_t align = 1;   // the first offset is a multiple of this
    uint64_t step = 1;    // from one offset to the next one
  };

  BlockSpace() = default;
  // Blocks of one size, side by side. INVALID_ARGUMENT when not one fits.
  static absl::StatusOr<BlockSpace> Make(const std::vector<Extent>& extents,
                                         uint64_t block_size_bytes) {
    return Make(extents, block_size_bytes, block_size_bytes);
  }
  // Every multiple of an alignment.
  static absl::StatusOr<BlockSpace> Make(const std::vector<Extent>& extents, uint64_t length_bytes,
                                         uint64_t align_bytes) {
    return Make(extents, Grid{length_bytes, align_bytes, align_bytes});
  }
  static absl::StatusOr<BlockSpace> Make(const std::vector<Extent>& extents, const Grid& grid);

  uint64_t blocks() const { return blocks_; }
  uint64_t step_bytes() const { return step_; }
  const std::vector<Run>& runs() const { return runs_; }
  // `block` < blocks().
  Offset At(uint64_t block) const {
    assert(block < blocks_);
    if (per_run_ == 0) return Search(block);
    if (runs_.size() == 1) return {runs_[0].file, runs_[0].offset + block * step_};
    const uint64_t run = block / per_run_;
    return {runs_[run].file, runs_[run].offset + (block - run * per_run_) * step_};
  }

 private:
  Offset Search(uint64_t block) const;

  uint64_t step_ = 1;
  uint64_t blocks_ = 0;
  uint64_t per_run_ = 0;  // blocks of every run; 0 when they differ
  std::vector<Run> runs_;
};

}  // namespace lockstep::worker
