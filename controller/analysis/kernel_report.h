#pragma once

#include "controller/analysis/phase_view.h"
#include "proto/result.pb.h"

namespace lockstep::controller {

// Adds each kernel's processors and context switches over the measured time, per I/O of the engines
// on it.
void AddKernels(const PhaseView& view, v1::PhaseReport* report);

}  // namespace lockstep::controller
