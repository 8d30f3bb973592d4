#pragma once

#include <vector>

namespace lockstep::controller {

// Values of two sides in the order in which they were made. Pure.
struct InOrder {
  std::vector<double> values;
  std::vector<bool> is_second;
};

// How far the sides followed one after the other: the correlation of side and order, from 0
// (interleaved) to nearly 1 (all of the one, then all of the other).
double SuccessionOf(const std::vector<bool>& is_second);

// Two-sided p of a difference between the sides beside a linear drift that both share: the t-test
// of the side in a regression on order and side (analysis of covariance). The residuals count by
// their autocorrelation, since runs that follow each other resemble each other. 1 where fewer than
// four values are there, where side and order are one, and where one change of level at some other
// time explains the values better than the sides do.
//
// If one set follows the other, a test that takes the order for chance (PermutationTest) alarms in
// 37 % (4 runs each) to 100 % (8) of the cases in which the machine drifts by half a standard
// deviation per run, and in 19 to 43 % of those in which it wanders. With the larger p of both it
// is about 5 % and less with lines of 0.1 to 3 deviations per run, with AR(1) of 0.3, 0.6 and 0.9,
// random walks, two steps, and sines of 8 to 96 runs (by simulation: tools/bench truth, and the
// test). No test can tell a machine that changes just between the sets from a change: that is one
// in 2n - 1 of the steps at random times for sets of n, 14 % with 4 runs and 5 % with 10, and 9 %
// of the sines of which each set has half a period.
double DriftTest(const InOrder& runs);

// The same for several figures of the same runs, by their values in the order of the runs: p with
// Hochberg's correction for their number, so that at most 5 % of the comparisons have one below 5
// %. Without it 5 to 19 % of those with five figures would have one (lines).
std::vector<double> DriftTests(const std::vector<std::vector<double>>& figures,
                               const std::vector<bool>& is_second);

}  // namespace lockstep::controller
