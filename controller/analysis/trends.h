#pragma once

#include <vector>

#include "proto/comparison.pb.h"

namespace lockstep::controller {

// How each figure went over its runs, for each job among `runs`, which are oldest first, and where
// its level changed. Runs that are not done, are invalid or lost hosts are left out. Series of
// fewer than two points are left out.
std::vector<v1::Trend> TrendsOf(const std::vector<v1::RunFigures>& runs);

}  // namespace lockstep::controller
