#pragma once

#include <string>
#include <vector>

#include "proto/report.pb.h"

namespace lockstep::controller {

// Jain's index (R. Jain, D. Chiu, W. Hawe, "A Quantitative Measure of Fairness", DEC TR-301, 1984)
// and the ratio of the largest to the smallest; both 1 for fewer than two values. max/min is 0 when
// the smallest is 0 and not all are.
v1::Fairness FairnessOf(const std::string& of, const std::vector<double>& values);

struct MeanDeviation {
  double mean = 0;
  double deviation = 0;  // of the population, as sysbench computes it
};
MeanDeviation MeanDeviationOf(const std::vector<double>& values);

// Fills in the range of the phase's jain_by_interval, where it has more than one.
void AddJainRange(v1::PhaseReport* phase);

}  // namespace lockstep::controller
