#pragma once

#include <cstdint>
#include <vector>

#include "controller/plan/steady_rounds.h"
#include "measure/run_data.h"
#include "proto/report.pb.h"

namespace lockstep::controller {

// What the steps of the job's phase came to, as the plan takes it.
std::vector<StepResult> ResultsOf(const measure::RunData& data, uint32_t job_phase);

// The rounds whose figures count for the points of the sweep that this phase of the job is.
struct CountedRounds {
  RoundsState state;
  RoundWindow window;
};
CountedRounds CountedRoundsOf(const measure::RunData& data, uint32_t job_phase);

// Adds to the sweep whether its rounds were steady. Once no further round comes, adds the warning
// that they were not, and the expectation that they are, to the last phase of the sweep.
void AddSteadyRounds(const measure::RunData& data, uint32_t job_phase, const RoundsState& state,
                     v1::SweepReport* sweep, v1::Report* report);

}  // namespace lockstep::controller
