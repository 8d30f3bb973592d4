#include "worker/workload/copy_map.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace lockstep::worker {
namespace {

// BlockSpace leaves out what is no whole block. A copy must not.
absl::Status CheckWhole(const char* side, const BlockSpace::Extent& extent, uint64_t block) {
  if (extent.begin % block == 0 && extent.end % block == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("this worker's part of the copy's ", side, ", bytes ", extent.begin, " to ",
                   extent.end, ", is no whole number of blocks of ", block,
                   " bytes; use a block_size that divides both numbers"));
}

}  // namespace

absl::StatusOr<CopyMap> CopyMap::Make(const std::vector<BlockSpace::Extent>& from,
                                      const std::vector<BlockSpace::Extent>& to,
                                      uint32_t block_size_bytes) {
  for (const BlockSpace::Extent& extent : from) {
    absl::Status status = CheckWhole("source", extent, block_size_bytes);
    if (!status.ok()) return status;
  }
  for (size_t i = 0; i < to.size(); ++i) {
    BlockSpace::Extent extent = to[i];
    // Nothing is written behind the last block.
    if (i + 1 == to.size()) extent.end -= extent.end % block_size_bytes;
    absl::Status status = CheckWhole("destination", extent, block_size_bytes);
    if (!status.ok()) return status;
  }
  CopyMap map;
  auto source = BlockSpace::Make(from, block_size_bytes);
  if (!source.ok()) return source.status();
  map.from_ = *std::move(source);
  auto destination = BlockSpace::Make(to, block_size_bytes);
  if (!destination.ok()) return destination.status();
  map.to_ = *std::move(destination);
  if (map.to_.blocks() >= map.from_.blocks()) return map;
  return absl::InvalidArgumentError(
      absl::StrCat("the copy's source has ", map.from_.blocks(),
                   " blocks in this worker's part, its "
                   "destination ",
                   map.to_.blocks(),
                   "; give the source a smaller size, or the destination a "
                   "larger one"));
}

BlockSpace::Offset CopyMap::DestinationOf(uint16_t file, uint64_t offset) const {
  // The runs are in the order of the extents, which are in the order of files and offsets.
  const std::vector<BlockSpace::Run>& runs = from_.runs();
  const auto after = std::upper_bound(runs.begin(), runs.end(), std::pair(file, offset),
                                      [](const auto& at, const BlockSpace::Run& run) {
                                        return at < std::pair(run.file, run.offset);
                                      });
  const BlockSpace::Run& run = *(after - 1);
  return to_.At(run.first + (offset - run.offset) / from_.step_bytes());
}

}  // namespace lockstep::worker
