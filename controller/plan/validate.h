#pragma once

#include <string>
#include <vector>

#include "proto/controller.pb.h"
#include "proto/job.pb.h"

namespace lockstep::controller {

// Checks a job from outside against the limits in the fields' options and in common/limits.h:
// sizes, counts, ranges, lengths, finite numbers, known enum values. Call it before anything else:
// the other functions rely on it.
std::vector<v1::Problem> CheckLimits(const v1::JobSpec& job);

// Fills in what a job leaves out: the defaults of proto/job.proto, and those that are a rule there
// (names, targets, sharing, the block size of a verify phase). Idempotent.
void FillJob(v1::JobSpec* job);

// Returns every problem of a job whose defaults are filled in, with field paths as a job file
// writes them ("phases[1].run.workloads[0].block_size"); empty when the job can run.
std::vector<v1::Problem> Validate(const v1::JobSpec& job);

// The things that a valid job asks for and that its author probably did not mean, in words.
std::vector<std::string> Warnings(const v1::JobSpec& job);

// Whether the job's phases write to a target, and whether one lays it out or creates it.
struct TargetUse {
  bool written = false;
  bool prepared = false;
  bool changed() const { return written || prepared; }
};
// The uses of all targets, in one pass.
std::vector<TargetUse> UseOfTargets(const v1::JobSpec& job);
// Indices of the targets that a phase uses.
std::vector<uint32_t> TargetsOf(const v1::JobSpec& job, const v1::PhaseSpec& phase);

}  // namespace lockstep::controller
