#pragma once

#include "controller/core/run_machine.h"
#include "controller/plan/assign.h"
#include "controller/plan/next_phase.h"

namespace lockstep::controller {

// What the state machine knows of a run, and of one of its phases.
RunPlan PlanOf(const SettledRun& run);
PhasePlan PlanOf(const v1::JobSpec& job, const PhaseStep& step);

}  // namespace lockstep::controller
