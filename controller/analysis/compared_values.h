#pragma once

#include <cstddef>
#include <vector>

#include "proto/comparison.pb.h"

namespace lockstep::controller {

// A figure's values in the runs of two sets, and how they differ. All functions are pure.

// Below this p a difference is more than chance.
inline constexpr double kComparedAlpha = 0.05;

// The number of `values`, their median, and their range. `values` must not be empty.
void SetValues(const std::vector<double>& values, v1::ComparedValue* value);

// The change from the values of the first set to these, with its interval. Sets nothing if the
// first set's median is 0: from nothing there is no share.
void SetChange(std::vector<double> before, std::vector<double> after, v1::ComparedValue* value);

// Whether a test of so many runs of the first set and of another can fall below kComparedAlpha.
// `sets`: of the comparison.
bool CanTell(size_t first_runs, size_t other_runs, size_t sets);
// The least number of runs of each set with which it can.
size_t FewestThatTell(size_t sets);

// The runs of the first set and of another one, counted through, in the order of their submission.
std::vector<size_t> OrderOf(const std::vector<const v1::RunFigures*>& first,
                            const std::vector<const v1::RunFigures*>& other);

// The values of a figure in all runs of the first set and in all of another one.
struct ValuesOfTwo {
  std::vector<double> before, after;
};
struct DifferenceTest {
  double p_value = 1;    // of all figures together
  double drift_p = 0;    // of the difference beside a drift; 0 if the runs took turns
  bool is_more = false;  // by the means, which the test goes by
};
// Tests all figures together. `order`: OrderOf() their runs.
std::vector<DifferenceTest> TestDifferences(const std::vector<ValuesOfTwo>& figures,
                                            const std::vector<size_t>& order);

}  // namespace lockstep::controller
