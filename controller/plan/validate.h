#pragma once

#include <string>
#include <vector>

#include "proto/controller.pb.h"
#include "proto/job.pb.h"

namespace lockstep::controller {

// Fills in what a job leaves out, as proto/job.proto says: names, default targets, block size, depth, deadlines, interval. Idempotent.
void FillDefaults(v1::JobSpec* job);

// Everything that is wrong with a job whose defaults are filled in, with field paths as a job file writes them
// ("phases[1].run.workloads[0].block_size"); empty when it can be run by this version. What the contract has and
// this version does not do is refused here, in words.
std::vector<v1::Problem> Validate(const v1::JobSpec& job);

// Whether the job's phases write to the target with this index, and whether one lays it out or creates it.
bool IsWritten(const v1::JobSpec& job, int target);
bool IsPrepared(const v1::JobSpec& job, int target);
// Indices of the targets that a phase uses.
std::vector<uint32_t> TargetsOf(const v1::JobSpec& job, const v1::PhaseSpec& phase);

}  // namespace lockstep::controller
