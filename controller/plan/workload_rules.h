#pragma once

#include <functional>
#include <string>

#include "controller/plan/loads.h"
#include "proto/job.pb.h"

namespace lockstep::controller {

// Reports a problem: the field's path below the workload (".block_size", or empty) and what is
// wrong with it.
using Complain = std::function<void(const std::string& field, const std::string& problem)>;

// Reports every problem of one workload of a run phase whose defaults are filled in. `targets` is
// the job's. Pure.
void CheckWorkload(const v1::JobSpec& job, const TargetIndex& targets, const v1::RunPhase& run,
                   const v1::Workload& workload, const Complain& complain);

}  // namespace lockstep::controller
