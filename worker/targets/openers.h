#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "proto/worker.pb.h"
#include "worker/host/guard.h"
#include "worker/targets/targets.h"

namespace lockstep::worker {

// How targets of one kind are opened: each adds what it opened to `open`. Errors name the path and
// the remedy. targets.cc finds the opener by the target's kind.

struct OpenContext {
  const Guard& guard;
  const RunIdentity& who;
  const OpenOptions& options;
};

absl::Status OpenFileTarget(const OpenContext& context, const v1::TargetAssignment& target,
                            OpenTargets* open);
absl::Status OpenDeviceTarget(const OpenContext& context, const v1::TargetAssignment& target,
                              OpenTargets* open);
absl::Status OpenIscsiTarget(const OpenContext& context, const v1::TargetAssignment& target,
                             OpenTargets* open);
absl::Status OpenNullTarget(const OpenContext& context, const v1::TargetAssignment& target,
                            OpenTargets* open);

// What the guard must know of the use of a device or LUN. `identity`: as the job has it.
DeviceUse UseOf(const v1::TargetAssignment& target, const std::string& identity,
                const OpenOptions& options);

// Adds a file that begins at `base` within the target. The workload may touch only the bytes in the
// target's slice, or in its stripes, and never the stamp: slices count from behind that, stripes
// from the file's begin, so that blocks fit into them as they do without. INVALID_ARGUMENT when
// these are too many.
absl::Status AddOpened(const v1::TargetAssignment& target, uint64_t base, OpenedFile file,
                       OpenTargets* open);

}  // namespace lockstep::worker
