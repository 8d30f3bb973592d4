#pragma once

#include "controller/analysis/phase_view.h"
#include "proto/result.pb.h"

namespace lockstep::controller {

// Adds each kernel's processors and context switches over the measured time, per I/O of the engines on it.
void AddKernels(const PhaseView& view, v1::PhaseReport* report);

// Adds when each host's first I/O started, on the controller's clock, and their spread; marks the phase invalid beyond the
// job's limit. Hosts must have been added.
void AddSkew(const PhaseView& view, v1::PhaseReport* report);

}  // namespace lockstep::controller
