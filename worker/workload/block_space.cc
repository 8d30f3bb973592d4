#include "worker/workload/block_space.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace lockstep::worker {

absl::StatusOr<BlockSpace> BlockSpace::Make(const std::vector<Extent>& extents, const Grid& grid) {
  BlockSpace space;
  space.step_ = grid.step;
  bool equal = true;
  for (const Extent& extent : extents) {
    const uint64_t begin = (extent.begin + grid.align - 1) / grid.align * grid.align;
    // Not begin + length, which may not fit into 64 bits.
    if (extent.end < begin || extent.end - begin < grid.length) continue;
    const uint64_t blocks = (extent.end - begin - grid.length) / grid.step + 1;
    equal = equal && (space.runs_.empty() || blocks == space.runs_[0].blocks);
    space.runs_.push_back({extent.file, begin, extent.end, space.blocks_, blocks});
    space.blocks_ += blocks;
  }
  if (space.blocks_ == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "not one block of ", grid.length, " bytes fits into the worker's part of the target"));
  }
  // At() runs at each I/O. If all runs have the same number of blocks, as files of one target have,
  // a division finds the run; otherwise it takes a search.
  space.per_run_ = equal ? space.runs_[0].blocks : 0;
  return space;
}

BlockSpace::Offset BlockSpace::Search(uint64_t block) const {
  const auto after = std::upper_bound(runs_.begin(), runs_.end(), block,
                                      [](uint64_t b, const Run& run) { return b < run.first; });
  const Run& run = *(after - 1);
  return {run.file, run.offset + (block - run.first) * step_};
}

}  // namespace lockstep::worker
