#pragma once

#include <string>

#include "proto/report.pb.h"

namespace lockstep::controller {

// The points of a sweep: of one axis a line each; of several a matrix for each figure, the last
// axis across. A mark behind a figure says how it stands among all points: from ` ` (the worst) to
// `█` (the best).
std::string RenderSweep(const v1::SweepReport& sweep, size_t width);
// Whether a point was measured: a run that was refused has none.
bool HasMeasuredPoint(const v1::SweepReport& sweep);
// The shares of the points' time, and what limited them, a row each; empty if they are not known.
std::string RenderTimeSpent(const v1::SweepReport& sweep, size_t width);
// The same of one phase: "cs/s 24,800, cs per I/O 7.1, …"; empty where nothing is known.
std::string TimeSpentText(const v1::TimeSpent& spent);

}  // namespace lockstep::controller
