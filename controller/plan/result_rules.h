#pragma once

#include "controller/plan/workload_rules.h"
#include "proto/job.pb.h"

namespace lockstep::controller {

// Reports every problem of what a run phase holds its result to: that it is steady, and what was
// promised. Defaults are filled in; fields are below the phase. `hosts`: the job's. Pure.
void CheckResultRules(const v1::HostSelector& hosts, const v1::RunPhase& run,
                      const Complain& complain);

}  // namespace lockstep::controller
