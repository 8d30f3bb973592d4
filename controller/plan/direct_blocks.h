#pragma once

#include <string>
#include <vector>

#include "controller/plan/selection.h"
#include "proto/job.pb.h"

namespace lockstep::controller {

// The sizes and offsets of the job's direct I/O that are no whole number of the logical blocks of
// the devices of these inspected workers, as sentences, at most 100. The kernel would refuse each
// such I/O with a mere EINVAL (open(2), "O_DIRECT"). Pure.
std::vector<std::string> DirectBlockProblems(const v1::JobSpec& job,
                                             const std::vector<PlanWorker>& workers);

}  // namespace lockstep::controller
