#pragma once

#include <string>
#include <vector>

#include "controller/plan/selection.h"
#include "proto/job.pb.h"

namespace lockstep::controller {

// The problems of the hosts that run the workloads, at each step of each phase: a selector that no
// worker of the run matches, an owned target that several hosts write, and fairness that is
// expected of one host. Each is said once, at the first step that has it. Pure.
std::vector<std::string> HostProblems(const v1::JobSpec& job,
                                      const std::vector<PlanWorker>& workers);

}  // namespace lockstep::controller
