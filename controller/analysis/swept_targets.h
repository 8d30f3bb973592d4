#pragma once

#include "measure/run_data.h"
#include "proto/job.pb.h"
#include "proto/sweep.pb.h"

namespace lockstep::controller {

// Adds the targets of the phase's workloads, each once, as the run's hosts found them; of a target
// that the sweep varies, what it is at each of its points. Pure.
void AddSweptTargets(const measure::RunData& data, const v1::PhaseSpec& phase,
                     v1::SweepReport* sweep);

}  // namespace lockstep::controller
