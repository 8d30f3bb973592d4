#pragma once

#include <cstdint>

#include "controller/plan/workload_rules.h"
#include "proto/job.pb.h"

namespace lockstep::controller {

// Reports every problem of one target of a job whose defaults are filled in; fields are below the
// target. Pure.
void CheckTarget(const v1::Target& target, const Complain& complain);

// The size in bytes of the target's file or null target. INT64_MAX where it is not known yet, and
// where CheckTarget() refuses it: one problem is said once.
int64_t KnownSizeOf(const v1::Target& target);

}  // namespace lockstep::controller
