#pragma once

#include <string>

#include "proto/comparison.pb.h"

namespace lockstep::controller {

// "sdb of db-1", "db-1" or "all devices": what a figure of Comparison.observed is of. A device
// whose name differs has both: "sdb → sdc of db-1".
std::string ObservedNameOf(const v1::ComparedFigure& figure, int set);

// Adds a conclusion about the observe phases for each set after the first. The figures, their tests
// and the titles must be there.
void AddObservedConclusions(v1::Comparison* comparison);

}  // namespace lockstep::controller
