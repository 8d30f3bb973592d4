#pragma once

#include "controller/analysis/sweep_points.h"
#include "proto/sweep.pb.h"

namespace lockstep::controller {

// Adds a knee along the last axis for each combination of the other axes' values, or why there is
// none. The sweep has its axes and points. Pure.
void AddKnees(const RunsByPoint& points, v1::SweepReport* sweep);

}  // namespace lockstep::controller
