#pragma once

#include "controller/plan/target_rules.h"
#include "proto/job.pb.h"

namespace lockstep::controller {

// Reports what an observe phase cannot have, with the field's path within it (".devices[1]").
void CheckObserve(const v1::ObservePhase& observe, const Complain& complain);

}  // namespace lockstep::controller
