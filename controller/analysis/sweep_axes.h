#pragma once

#include <vector>

#include "proto/job.pb.h"

namespace lockstep::controller {

// The values of an axis as numbers, in the field's unit: bytes, nanoseconds, shares or counts.
// Empty if the field has no numbers, if one of the values is none, or if they neither ascend nor
// descend. Pure.
std::vector<double> OrderedValuesOf(const v1::SweepAxis& axis);

}  // namespace lockstep::controller
