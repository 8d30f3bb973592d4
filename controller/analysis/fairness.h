#pragma once

#include <string>
#include <vector>

#include "proto/report.pb.h"

namespace lockstep::controller {

// Jain's index (R. Jain, D. Chiu, W. Hawe, "A Quantitative Measure of Fairness", DEC TR-301, 1984)
// and the ratio of the largest to the smallest. Fewer than two values have neither, and no
// deviation. The index is absent if all are 0, and the ratio if the smallest is.
v1::Fairness FairnessOf(const std::string& of, const std::vector<double>& values);

// IOPS of the phase's threads, without those that ran for no part of the measured time.
std::vector<double> ThreadRatesOf(const v1::PhaseReport& phase);

struct MeanDeviation {
  double mean = 0;
  double deviation = 0;  // of the population, as sysbench computes it
};
MeanDeviation MeanDeviationOf(const std::vector<double>& values);

// Fills in the range of the phase's jain_by_interval, where it has more than one.
void AddJainRange(v1::PhaseReport* phase);

}  // namespace lockstep::controller
