#pragma once

#include <vector>

#include "proto/controller.pb.h"
#include "proto/job.pb.h"

namespace lockstep::controller {

// Gives the job a target for each combination of values by which a sweep varies a target, in place
// of the target that the job file has: `files` with an axis `targets.files.file.count` of 1 and 8
// becomes "files file.count=1" and "files file.count=8". Sweeps that vary file targets get
// `prepare`. Returns what is wrong with the axes. Call it after CheckLimits() and before FillJob().
// Idempotent.
std::vector<v1::Problem> ExpandTargets(v1::JobSpec* job);

// The variants of a target count as one: one of them at a time is in use, in the same way. The
// number of the first of those that a target belongs to; of another target its own.
uint32_t FirstVariantOf(const v1::JobSpec& job, uint32_t target);

// Computes the size of each file where the job gives that of all of them, and returns where it
// gives another size, too. After FillJob(). Idempotent.
std::vector<v1::Problem> FillSizes(v1::JobSpec* job);

}  // namespace lockstep::controller
