#pragma once

#include <optional>
#include <vector>

#include "controller/analysis/statistics.h"

namespace lockstep::controller {

// The points at which the level of a phase's figure changed by at least the share `least` (0.2: to
// four fifths or less, or to five fourths or more), in ascending order. Intervals that follow each
// other resemble each other, so ChangesIn() alone would find changes in noise: each change is held
// to a t-test of p < 0.001 between its neighbours whose values count by their autocorrelation (G.
// Zwiers, H. von Storch, 1995). Series of more than 50 values are judged by the means of
// neighbours. `seconds`: of each value, where these are I/Os per second. A change must then be no
// chance of the counts, either (p < 0.001 for Poisson processes): a few I/Os that happen to come
// before many empty intervals make none. Pure.
std::vector<ChangeAt> LevelChangesIn(const std::vector<double>& series, double least,
                                     std::optional<double> seconds = std::nullopt);

}  // namespace lockstep::controller
