#pragma once

#include "proto/job.pb.h"
#include "proto/report.pb.h"

namespace lockstep::controller {

// Holds the phase's figures against what the job expects; appends a line per expectation. A phase
// without a complete result holds none.
void CheckExpectations(const v1::Expect& expect, bool complete, v1::PhaseReport* phase);

}  // namespace lockstep::controller
