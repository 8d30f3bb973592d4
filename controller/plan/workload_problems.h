#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "controller/plan/loads.h"
#include "controller/plan/selection.h"
#include "proto/job.pb.h"

namespace lockstep::controller {

// A workload of one step, on a worker that runs it.
struct WorkloadOnWorker {
  const v1::Workload& workload;
  const PlanWorker& worker;
  const TargetIndex& targets;
};
// Takes one problem of the workload there, as a clause.
using AddProblem = std::function<void(const std::string& problem)>;

// The problems that only inspected workers show, as sentences that name the host, the phase and the
// workload; at most 100, and each once, for the first host that has it: a fleet of equal hosts gets
// one. `concerns`: which phases are looked at; each point of their sweeps may have values and
// targets of its own. Workloads have their defaults. Pure.
std::vector<std::string> ProblemsOnWorkers(
    const v1::JobSpec& job, const std::vector<PlanWorker>& workers,
    absl::FunctionRef<bool(const v1::PhaseSpec&)> concerns,
    absl::FunctionRef<void(const WorkloadOnWorker&, const AddProblem&)> find);

}  // namespace lockstep::controller
