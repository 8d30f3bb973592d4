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
// four values are there, or side and order are one.
//
// Where one set follows the other, a test that takes the order for chance (PermutationTest) alarms
// in 37 % (4 runs each) to 100 % (8) of the cases in which the machine drifts by half a standard
// deviation per run, and in 19 to 43 % of those in which it wanders. With the larger p of both it
// is 5 % and less there, and 7 % where the machine changes its level once, by three standard
// deviations (by simulation: tools/bench truth, and the test).
double DriftTest(const InOrder& runs);

}  // namespace lockstep::controller
