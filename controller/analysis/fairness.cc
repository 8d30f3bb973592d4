#include "controller/analysis/fairness.h"

#include <algorithm>
#include <cmath>

namespace lockstep::controller {

v1::Fairness FairnessOf(const std::string& of, const std::vector<double>& values) {
  v1::Fairness fairness;
  fairness.set_of(of);
  fairness.set_count(static_cast<uint32_t>(values.size()));
  double sum = 0;
  double squares = 0;
  for (double value : values) {
    sum += value;
    squares += value * value;
  }
  fairness.set_jain(squares > 0 ? sum * sum / (static_cast<double>(values.size()) * squares) : 1);
  fairness.set_max_over_min(1);
  if (values.size() > 1 && sum > 0) {
    const auto [least, most] = std::minmax_element(values.begin(), values.end());
    fairness.set_max_over_min(*least > 0 ? *most / *least : 0);
  }
  return fairness;
}

MeanDeviation MeanDeviationOf(const std::vector<double>& values) {
  if (values.empty()) return {};
  double sum = 0;
  for (double value : values) sum += value;
  const double mean = sum / static_cast<double>(values.size());
  double squares = 0;
  for (double value : values) squares += (value - mean) * (value - mean);
  return {mean, std::sqrt(squares / static_cast<double>(values.size()))};
}

}  // namespace lockstep::controller
