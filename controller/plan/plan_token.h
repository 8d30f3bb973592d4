#pragma once

#include <string>
#include <vector>

#include "controller/plan/selection.h"

namespace lockstep::controller {

// What the job would overwrite although it is not Lockstep's, in words: each device once, whatever
// hosts see it. What workers have approved by a label is left out.
std::vector<std::string> OverwritesOf(const v1::JobSpec& job,
                                      const std::vector<PlanWorker>& workers);

// Names exactly this plan: the job, its workers, and what was found on their targets. The same
// again for the same; 16 hexadecimal digits.
std::string TokenOf(const v1::JobSpec& job, const std::vector<PlanWorker>& workers);

}  // namespace lockstep::controller
