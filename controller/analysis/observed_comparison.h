#pragma once

#include <string>
#include <vector>

#include "controller/analysis/comparison.h"
#include "proto/comparison.pb.h"

namespace lockstep::controller {

// Compares the observe phases of the sets' runs with those of the first set. Adds the figures, the
// runs and the conclusions about them to `comparison`, which has the sets, their titles and
// `fewest_runs`. Returns warnings about the comparison: what only one of two sets observed, and
// figures that a drift of the machine could explain. Pure.
std::vector<std::string> CompareObserved(const std::vector<RunSet>& sets,
                                         v1::Comparison* comparison);

}  // namespace lockstep::controller
