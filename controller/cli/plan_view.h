#pragma once

#include "proto/controller.pb.h"

namespace lockstep::cli {

// Prints what `lockstep plan` says of a job, in lines of at most so many columns.
void PrintPlan(const v1::PlanReply& plan, size_t width);

}  // namespace lockstep::cli
