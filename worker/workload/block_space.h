#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"

namespace lockstep::worker {

// The blocks that a workload may touch on one worker: slices of files or devices, cut into whole blocks of one
// size and numbered from 0, one target after the other. No block crosses the end of a file. Immutable; thread-safe.
class BlockSpace {
 public:
  // Part of an open file: bytes [begin, end) may be touched.
  struct Extent {
    uint16_t file = 0;  // index into the engine's files
    uint64_t begin = 0;
    uint64_t end = 0;
  };
  struct Place {
    uint16_t file = 0;
    uint64_t offset = 0;
  };

  // INVALID_ARGUMENT when not one block fits.
  static absl::StatusOr<BlockSpace> Make(const std::vector<Extent>& extents, uint64_t block_size_bytes);

  uint64_t blocks() const { return first_.back(); }
  uint64_t block_size_bytes() const { return block_size_bytes_; }
  // REQUIRES: block < blocks().
  Place At(uint64_t block) const;

 private:
  struct Run {
    uint16_t file;
    uint64_t offset;
  };
  uint64_t block_size_bytes_ = 0;
  std::vector<Run> runs_;
  std::vector<uint64_t> first_;  // number of each run's first block, and the total
};

}  // namespace lockstep::worker
