#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "controller/core/run_machine.h"
#include "controller/plan/assign.h"
#include "controller/plan/next_phase.h"
#include "proto/controller.pb.h"

namespace lockstep::controller {

// The facts that the state machine needs about a run, and about one of its phases.
RunPlan PlanOf(const SettledRun& run);
PhasePlan PlanOf(const v1::JobSpec& job, const PhaseStep& step);

// The names of the job's phases after this one, at most so many.
std::vector<std::string> PhasesAfter(const v1::JobSpec& job, uint32_t phase, size_t max);
// Says which of the run's hosts are lost, at most `max` of them by name.
void DescribeLost(const SettledRun& run, const std::set<uint32_t>& lost, size_t max,
                  v1::PhaseChange* change);

// Whether this phase of the job or one after it lays out files: prepares them, or creates them
// while it runs.
bool StillLaysOut(const v1::JobSpec& job, uint32_t phase);

// How long after the phase's go a worker that has lost its controller may still be doing I/O,
// nanoseconds of the controller's clock.
int64_t LongestQuarantineNs(const v1::JobSpec& job, const v1::PhaseSpec& phase);
// How long a worker that was assigned a phase and gets no go may hold its targets, nanoseconds.
int64_t QuarantineBeforeGoNs(const v1::JobSpec& job);

}  // namespace lockstep::controller
