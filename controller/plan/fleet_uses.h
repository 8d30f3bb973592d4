#pragma once

#include <string>
#include <vector>

#include "controller/plan/selection.h"
#include "proto/controller.pb.h"

namespace lockstep::controller {

// Whether the job writes a block device or a LUN, which other hosts may have mounted.
bool WritesDevices(const v1::JobSpec& job);

// Why the job must not write its devices: a host of the fleet, in the job or not, has one of them,
// its disk or a partition of it mounted, in swap, or as a part of something; or it did not say.
// `kernels`: what each attached host's kernel says. Pure.
std::vector<std::string> UsesInFleet(const v1::JobSpec& job, const std::vector<PlanWorker>& workers,
                                     const v1::DevicesReply& kernels);

}  // namespace lockstep::controller
