#pragma once

#include "proto/job.pb.h"
#include "proto/report.pb.h"

namespace lockstep::controller {

// Compares the phase's figures with what the job expects, and appends a line for each expectation.
// In a phase without a complete result no expectation holds.
enum class PhaseResults { kIncomplete, kComplete };
void CheckExpectations(const v1::Expect& expect, PhaseResults results, v1::PhaseReport* phase);

// The limits that a chart draws and the live page judges by: what the job expects, and where it has
// the phase aborted.
google::protobuf::RepeatedPtrField<v1::FigureLimit> LimitsOf(const v1::RunPhase& load);

}  // namespace lockstep::controller
