#pragma once

#include "controller/plan/workload_rules.h"
#include "proto/job.pb.h"

namespace lockstep::controller {

// Reports every problem of when a workload runs and how fast it may go: its begin and end, its
// schedule, rates and pauses. As CheckWorkload(). Pure.
void CheckPace(const v1::JobSpec& job, const v1::RunPhase& run, const v1::Workload& workload,
               const Complain& complain);

}  // namespace lockstep::controller
