#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "controller/plan/selection.h"
#include "proto/job.pb.h"
#include "proto/worker.pb.h"

namespace lockstep::controller {

// A run whose job, seed and workers are settled.
struct SettledRun {
  std::string run_id;
  v1::JobSpec job;  // defaults filled in, valid
  uint64_t seed = 0;
  std::vector<PlanWorker> workers;  // by worker index, inspected
};

// The assignment of each member of a phase, in the order of `members` (worker indices). `phase` is
// what it does (NextPhase), `phase_index` its number in the run. Slices, seeds and shares of limits
// depend only on the arguments. A workload whose host selector matches no member fails.
absl::StatusOr<std::vector<v1::Assignment>> MakeAssignments(const SettledRun& run,
                                                            const v1::PhaseSpec& phase,
                                                            uint32_t phase_index, uint32_t attempt,
                                                            const std::vector<uint32_t>& members);

// Bytes of a target on a worker: what the job says, else what the worker's inspection found. 0 if
// that is not known.
uint64_t TargetBytes(const v1::Target& target, const PlanWorker& worker, uint32_t index);
// The length of a worker's slice of a target that `count` workers share, in bytes: a multiple of
// 1 MiB if each worker gets one, else of 4 KiB.
uint64_t SliceBytes(uint64_t total, uint64_t count);

// The part of a target that is a worker's own in each phase that writes: a slice, stripes, or all.
v1::TargetAssignment OwnPart(const SettledRun& run, uint32_t target, uint32_t worker);

// How long a phase may last from T to the last I/O submitted, nanoseconds. Workers enforce it.
int64_t HardStopNs(const v1::JobSpec& job, const v1::PhaseSpec& phase);
// How long a worker stays armed without a go, nanoseconds.
int64_t GoWithinNs(const v1::JobSpec& job);
// From T to the last result, nanoseconds.
int64_t PhaseDeadlineNs(const v1::JobSpec& job, const v1::PhaseSpec& phase);

}  // namespace lockstep::controller
