#pragma once

#include <cstdint>

#include "measure/run_data.h"
#include "proto/report.pb.h"

namespace lockstep::controller {

// Adds the steps of a phase of the job that is a curve, and where its latency begins to rise. The
// report has its phases. Pure.
void AddCurve(const measure::RunData& data, uint32_t job_phase, v1::Report* report);

}  // namespace lockstep::controller
