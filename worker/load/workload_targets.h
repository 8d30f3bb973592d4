#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "proto/worker.pb.h"
#include "worker/host/guard.h"
#include "worker/targets/targets.h"

namespace lockstep::worker {

// Opens the targets of a workload as it uses them. `targets` are the phase's, of which it takes its
// own. The source of a copy is opened for reading only, and its files come first. `options` are
// common to all workloads of the load. Errors name the path and the remedy.
absl::StatusOr<OpenTargets> OpenTargetsOf(const Guard& guard, const v1::Workload& workload,
                                          const std::vector<v1::TargetAssignment>& targets,
                                          const RunIdentity& who, OpenOptions options);

}  // namespace lockstep::worker
