#pragma once

#include <string>

#include "proto/sweep.pb.h"

namespace lockstep::controller {

// A point by its values: "block_size=4KiB queue_depth=16"; "the load" if the sweep has no axes.
std::string PointName(const v1::SweepReport& sweep, const v1::SweepPointReport& point);

// The answer of the sweep, in one sentence: the best point, those that cannot be told from it, the
// others, the fairness of threads, and the knee. Made of the conclusion's figure, the points'
// comparisons and the knees, which must be there.
std::string SentenceOf(const v1::SweepReport& sweep);

}  // namespace lockstep::controller
