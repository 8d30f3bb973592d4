#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "worker/workload/block_space.h"

namespace lockstep::worker {

// Maps each block of a copy's source to its destination: the n-th block of the source's extents is
// the n-th one of the destination's. Immutable; thread-safe.
class CopyMap {
 public:
  // INVALID_ARGUMENT, with what to do, when a byte of the source would not be copied: its extents,
  // or those of the destination, are not whole blocks, or the destination has fewer.
  static absl::StatusOr<CopyMap> Make(const std::vector<BlockSpace::Extent>& from,
                                      const std::vector<BlockSpace::Extent>& to,
                                      uint32_t block_size_bytes);

  // The destination of the block that begins at `offset` of `file`. Both sides count the engine's
  // files, and bytes from a file's begin.
  BlockSpace::Offset DestinationOf(uint16_t file, uint64_t offset) const;

 private:
  CopyMap() = default;

  BlockSpace from_;
  BlockSpace to_;
};

}  // namespace lockstep::worker
