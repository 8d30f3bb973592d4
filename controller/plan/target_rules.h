#pragma once

#include "controller/plan/workload_rules.h"
#include "proto/job.pb.h"

namespace lockstep::controller {

// Reports every problem of one target of a job whose defaults are filled in; fields are below the
// target. Pure.
void CheckTarget(const v1::Target& target, const Complain& complain);

}  // namespace lockstep::controller
