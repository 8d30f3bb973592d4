#pragma once

#include <string>
#include <vector>

#include "proto/controller.pb.h"
#include "proto/job.pb.h"

namespace lockstep::controller {

// Everything that is outside of what the fields' options and common/limits.h allow: sizes, counts,
// ranges, lengths, numbers that are not finite, unknown enum values. Before anything else is done
// with a job that came from outside; what passes can be worked with.
std::vector<v1::Problem> CheckLimits(const v1::JobSpec& job);

// Fills in what a job leaves out: the defaults of proto/job.proto, and those that are a rule there
// (names, targets, sharing, the block size of a verify phase). Idempotent.
void FillJob(v1::JobSpec* job);

// Everything that is wrong with a job whose defaults are filled in, with field paths as a job file
// writes them ("phases[1].run.workloads[0].block_size"); empty when it can be run by this version.
// What the contract has and this version does not do is refused here, in words.
std::vector<v1::Problem> Validate(const v1::JobSpec& job);

// What a valid job does that may not be what was meant: in words.
std::vector<std::string> Warnings(const v1::JobSpec& job);

// Whether the job's phases write to a target, and whether one lays it out or creates it.
struct TargetUse {
  bool written = false;
  bool prepared = false;
  bool changed() const { return written || prepared; }
};
// Of each target, in one pass.
std::vector<TargetUse> UseOfTargets(const v1::JobSpec& job);
// Indices of the targets that a phase uses.
std::vector<uint32_t> TargetsOf(const v1::JobSpec& job, const v1::PhaseSpec& phase);

}  // namespace lockstep::controller
