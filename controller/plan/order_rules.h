#pragma once

#include "controller/plan/workload_rules.h"
#include "proto/job.pb.h"

namespace lockstep::controller {

// Whether a workload ever syncs.
bool Syncs(const v1::Workload& workload);

// Reports every problem of the order in which a workload reads, writes and syncs: its mix and its
// fsync. As CheckWorkload() does. Pure.
void CheckOrder(const v1::Workload& workload, const Complain& complain);

}  // namespace lockstep::controller
