#pragma once

#include "controller/core/run_machine.h"
#include "controller/plan/assign.h"
#include "controller/plan/next_phase.h"

namespace lockstep::controller {

// What the state machine knows of a run, and of one of its phases.
RunPlan PlanOf(const SettledRun& run);
PhasePlan PlanOf(const v1::JobSpec& job, const PhaseStep& step);

// Whether this phase of the job or one after it lays out files: prepares them, or creates them
// while it runs.
bool StillLaysOut(const v1::JobSpec& job, uint32_t phase);

// How long after the phase's go a worker that hears nothing any more may still be doing I/O,
// nanoseconds of the controller's clock.
int64_t LongestHoldNs(const v1::JobSpec& job, const v1::PhaseSpec& phase);
// How long one that was assigned a phase, and hears no go, may hold its targets, nanoseconds.
int64_t HoldBeforeGoNs(const v1::JobSpec& job);

}  // namespace lockstep::controller
