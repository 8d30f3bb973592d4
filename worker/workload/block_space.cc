#include "worker/workload/block_space.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace lockstep::worker {

absl::StatusOr<BlockSpace> BlockSpace::Make(const std::vector<Extent>& extents, uint64_t block_size_bytes) {
  BlockSpace space;
  space.block_size_bytes_ = block_size_bytes;
  space.first_.push_back(0);
  for (const Extent& extent : extents) {
    const uint64_t begin = (extent.begin + block_size_bytes - 1) / block_size_bytes * block_size_bytes;
    if (extent.end < begin + block_size_bytes) continue;
    space.runs_.push_back({extent.file, begin});
    space.first_.push_back(space.first_.back() + (extent.end - begin) / block_size_bytes);
  }
  if (space.blocks() == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("not one block of ", block_size_bytes, " bytes fits into the worker's part of the target"));
  }
  return space;
}

BlockSpace::Place BlockSpace::At(uint64_t block) const {
  if (runs_.size() == 1) return {runs_[0].file, runs_[0].offset + block * block_size_bytes_};
  const size_t run = std::upper_bound(first_.begin(), first_.end(), block) - first_.begin() - 1;
  return {runs_[run].file, runs_[run].offset + (block - first_[run]) * block_size_bytes_};
}

}  // namespace lockstep::worker
