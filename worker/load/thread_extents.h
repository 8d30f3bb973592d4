#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/load.pb.h"
#include "worker/targets/targets.h"
#include "worker/workload/block_space.h"

namespace lockstep::worker {

// The bytes that one thread of a workload may touch: of all of its targets' extents or, with files
// of its own, of every n-th one; of each the workload's region. Never a byte that lies in no extent
// of the targets. OUT_OF_RANGE, with the file, where the region does not lie in one.
absl::StatusOr<std::vector<BlockSpace::Extent>> ThreadExtents(const v1::Workload& workload,
                                                              const OpenTargets& targets,
                                                              uint32_t thread);

// Whether each thread has extents of its own, which it shares with no other thread of its worker.
bool HasOwnExtents(const v1::Workload& workload);

}  // namespace lockstep::worker
