#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "proto/job.pb.h"
#include "proto/result.pb.h"

namespace lockstep::controller {

// One phase as it is run: a phase of the job, or one point of its curve or sweep.
struct PhaseStep {
  v1::PhaseSpec spec;      // without curve and sweep; its rates are figures
  uint32_t job_phase = 0;  // the phase of the job that it comes from
  uint32_t step = 0;       // the point of its curve or sweep
  bool last = false;       // nothing follows it, whatever it measures
  // Which rates were computed from earlier results, in words.
  std::vector<std::string> notes;
};

// The result of a step that has ended.
struct StepResult {
  uint32_t job_phase = 0;
  uint32_t step = 0;
  std::string name;
  bool done = false;  // false: it ended early, and what it measured is no basis for another
  v1::PhaseFigures figures;
};

// The rest of a job: all further steps, or only those that clean up, for a run that is ending.
enum class Remaining { kAll, kCleanup };

// The step that follows those that have ended, in their order; none when the job is at its end.
// FAILED_PRECONDITION when a rate is a share of what no phase has reached.
//
// Pure: the same job and the same results give the same step, so that a controller that takes a run
// over goes on with the same plan.
absl::StatusOr<std::optional<PhaseStep>> NextPhase(const v1::JobSpec& job,
                                                   const std::vector<StepResult>& results,
                                                   Remaining remaining);

// Whether nothing follows this step, whatever it measures.
bool IsLast(const v1::JobSpec& job, uint32_t job_phase, uint32_t step);

// Calls `visit` with each step of each phase, in order: with the job's own phase where it has
// neither curve nor sweep. A step that is made lasts for the call.
void ForEachStep(const v1::JobSpec& job, absl::FunctionRef<void(const v1::PhaseSpec&)> visit);

// How many steps a phase has, without making them.
uint32_t CountSteps(const v1::PhaseSpec& phase);
// Those of all phases.
uint32_t CountSteps(const v1::JobSpec& job);

// The bytes that the job's prepare phases write on so many workers.
double PreparedBytes(const v1::JobSpec& job, size_t workers);

// The job with each phase that has a curve or a sweep replaced by its steps, as far as they are
// known without results: rates that are shares of a measured one stay shares.
v1::JobSpec Unrolled(const v1::JobSpec& job);

}  // namespace lockstep::controller
