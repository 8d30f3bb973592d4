#include "worker/workload/block_space.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace lockstep::worker {

absl::StatusOr<BlockSpace> BlockSpace::Make(const std::vector<Extent>& extents,
                                            uint64_t length_bytes, uint64_t align_bytes) {
  BlockSpace space;
  space.align_ = align_bytes;
  bool equal = true;
  for (const Extent& extent : extents) {
    const uint64_t begin = (extent.begin + align_bytes - 1) / align_bytes * align_bytes;
    if (extent.end < begin + length_bytes) continue;
    const uint64_t blocks = (extent.end - begin - length_bytes) / align_bytes + 1;
    equal = equal && (space.runs_.empty() || blocks == space.runs_[0].blocks);
    space.runs_.push_back({extent.file, begin, extent.end, space.blocks_, blocks});
    space.blocks_ += blocks;
  }
  if (space.blocks_ == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "not one block of ", length_bytes, " bytes fits into the worker's part of the target"));
  }
  // At() runs at each I/O. Where all runs have the same number of blocks, as files of one target
  // have, a division finds the run; otherwise it takes a search.
  space.per_run_ = equal ? space.runs_[0].blocks : 0;
  return space;
}

BlockSpace::Offset BlockSpace::Search(uint64_t block) const {
  const auto after = std::upper_bound(runs_.begin(), runs_.end(), block,
                                      [](uint64_t b, const Run& run) { return b < run.first; });
  const Run& run = *(after - 1);
  return {run.file, run.offset + (block - run.first) * align_};
}

}  // namespace lockstep::worker
