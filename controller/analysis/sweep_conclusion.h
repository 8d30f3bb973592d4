#pragma once

#include <cstdint>
#include <vector>

#include "proto/job.pb.h"
#include "proto/sweep.pb.h"

namespace lockstep::controller {

// The figures of one whole run of a point.
struct RoundFigures {
  uint32_t round = 0;  // the repetition of the sweep, from 0, warm-up included
  double iops = 0;
  double bytes_per_second = 0;
  double p99_ns = 0;  // 0: too few I/Os for one
};

// Adds how the points compare with the best one, and the sentence about it. `rounds`: those of each
// point of the sweep, in its order. The sweep has its knees already.
void AddConclusion(const v1::RunPhase& load, const std::vector<std::vector<RoundFigures>>& rounds,
                   v1::SweepReport* sweep);

}  // namespace lockstep::controller
