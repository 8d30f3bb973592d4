#include "worker/load/thread_extents.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "proto/region.h"

namespace lockstep::worker {
namespace {

uint64_t SmallestBlock(const v1::Workload& w) {
  auto smallest = static_cast<uint64_t>(
      w.block_sizes().empty() && w.access().empty() ? w.block_size_bytes() : INT64_MAX);
  const auto note = [&](const auto& line) {
    smallest = std::min(smallest, static_cast<uint64_t>(line.block_size_bytes()));
  };
  for (const v1::WeightedBlockSize& line : w.block_sizes()) note(line);
  for (const v1::AccessLine& line : w.access()) note(line);
  return smallest;
}

}  // namespace

bool HasOwnExtents(const v1::Workload& w) {
  return w.files_per_thread() || w.region().increment_bytes() != 0 ||
         w.region().increment_share_ratio() != 0;
}

absl::StatusOr<std::vector<BlockSpace::Extent>> ThreadExtents(const v1::Workload& w,
                                                              const OpenTargets& targets,
                                                              uint32_t thread) {
  std::vector<BlockSpace::Extent> own;
  const size_t step = w.files_per_thread() ? std::max(1U, w.threads()) : 1;
  for (size_t i = w.files_per_thread() ? thread : 0; i < targets.extents.size(); i += step) {
    own.push_back(targets.extents[i]);
  }
  if (!w.has_region()) return own;
  for (BlockSpace::Extent& extent : own) {
    const auto region =
        v1::RegionOf(w.region(), extent.end - extent.begin, thread, SmallestBlock(w));
    if (!region.ok()) {
      return absl::OutOfRangeError(absl::StrCat(targets.files[extent.file].path, ": ",
                                                std::string(region.status().message())));
    }
    // RegionOf() keeps to the length of the extent, so that the sums stay within it.
    extent.end = extent.begin + region->end;
    extent.begin += region->begin;
  }
  return own;
}

}  // namespace lockstep::worker
