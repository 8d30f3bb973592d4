#pragma once

#include <string>
#include <vector>

#include "controller/plan/selection.h"
#include "proto/inspection.pb.h"
#include "proto/job.pb.h"

namespace lockstep::controller {

// The devices that the job's observe phases are to see, as workers are asked: each list of devices
// once, in the order in which they come, with the name of its first phase.
struct Observe {
  std::string phase;
  v1::ObserveRequest request;
};
std::vector<Observe> ObservesOf(const v1::JobSpec& job);

// The place of an observe phase's list among these, and so of a worker's answer in
// Inspection.observed; -1 for a phase of another kind.
int ObserveIndexOf(const v1::JobSpec& job, const v1::PhaseSpec& phase);

// Whether each worker sees a device in each observe phase, and what the workers leave out, as
// messages that name the host and the phase. If several hosts leave out the same, the message is
// about the first one. If there are more than 100 reasons, it says that there are more. A phase
// with limits of an earlier run needs one device that this run measured, on any host.
struct ObserveCheck {
  std::vector<std::string> refusals;
  std::vector<std::string> warnings;
};
ObserveCheck CheckObserves(const v1::JobSpec& job, const std::vector<PlanWorker>& workers);

}  // namespace lockstep::controller
