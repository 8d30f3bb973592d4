#pragma once

#include "controller/plan/workload_rules.h"
#include "proto/job.pb.h"

namespace lockstep::controller {

// Report what is wrong with a phase's sweep, below `run.sweep`: with its axes' values, each by
// itself, with its repetitions, and with the end of its rounds, which it has; and with its curve,
// below `run.curve`. Pure.
void CheckAxes(const v1::RunPhase& run, const Complain& complain);
void CheckRepetitions(const v1::Sweep& sweep, const Complain& complain);
void CheckRounds(const v1::RunPhase& run, const Complain& complain);
void CheckCurve(const v1::RunPhase& run, const Complain& complain);

}  // namespace lockstep::controller
