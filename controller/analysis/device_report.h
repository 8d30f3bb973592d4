#pragma once

#include "controller/analysis/phase_view.h"
#include "proto/result.pb.h"

namespace lockstep::controller {

// Adds what each block device did over the measured time, and how that compares with what the
// engines working on it did.
void AddDevices(const PhaseView& view, v1::PhaseReport* report);

}  // namespace lockstep::controller
