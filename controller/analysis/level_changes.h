#pragma once

#include <vector>

#include "controller/analysis/statistics.h"

namespace lockstep::controller {

// The points at which the level of a phase's figure changed by at least the share `least` (0.2: to
// four fifths or less, or to five fourths or more), in ascending order. Intervals that follow each
// other resemble each other, so ChangesIn() alone would find changes in noise: each change is held
// to a t-test of p < 0.001 between its neighbours whose values count by their autocorrelation (G.
// Zwiers, H. von Storch, 1995). Series of more than 50 values are judged by the means of
// neighbours. Pure.
std::vector<ChangeAt> LevelChangesIn(const std::vector<double>& series, double least);

}  // namespace lockstep::controller
