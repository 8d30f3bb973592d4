#pragma once

#include "controller/analysis/phase_view.h"
#include "proto/result.pb.h"

namespace lockstep::controller {

// Adds when each host's first I/O started, on the controller's clock, and their spread, in
// nanoseconds. The job's limit of it becomes an expectation, and marks the phase invalid when it
// does not hold. Hosts must have been added. Pure.
void AddSkew(const PhaseView& view, v1::PhaseReport* report);

}  // namespace lockstep::controller
