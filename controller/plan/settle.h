#pragma once

#include <vector>

#include "proto/controller.pb.h"
#include "proto/job.pb.h"

namespace lockstep::controller {

// Fills in what a job leaves out, and returns everything that is wrong with it; empty if it can be
// run, as far as that depends on nothing but the job.
std::vector<v1::Problem> SettleJob(v1::JobSpec* job);

}  // namespace lockstep::controller
