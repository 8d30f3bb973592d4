#pragma once

#include "measure/run_data.h"
#include "proto/report.pb.h"

namespace lockstep::controller {

// Adds the report's sweeps: the figures of its phases, put together by their points. Pure.
void AddSweeps(const measure::RunData& data, v1::Report* report);

}  // namespace lockstep::controller
