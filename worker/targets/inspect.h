#pragma once

#include "proto/worker.pb.h"
#include "worker/host/guard.h"
#include "worker/host/host_policy.h"
#include "worker/targets/targets.h"

namespace lockstep::worker {

// Looks at a job's targets as this worker would use them and says what it found: nothing is opened
// for writing, made or removed. A target that cannot be used has a `refused` text; the rest of the
// inspection is still made.
v1::Inspection InspectTargets(const Guard& guard, const HostPolicy& policy,
                              const v1::Inspect& request, const RunIdentity& who);

}  // namespace lockstep::worker
