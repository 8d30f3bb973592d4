#include "measure/rate_series.h"

namespace lockstep::measure {

void RateSeries::Thin() {
  const size_t pairs = points_.size() / 2;
  for (size_t i = 0; i < pairs; ++i) points_[i] = (points_[2 * i] + points_[2 * i + 1]) / 2;
  if (points_.size() % 2 != 0) {
    sum_ += points_.back() * step_;
    count_ += step_;
  }
  points_.resize(pairs);
  points_.shrink_to_fit();
  step_ *= 2;
}

std::vector<double> RateSeries::Points() const {
  std::vector<double> points = points_;
  if (count_ != 0) points.push_back(sum_ / count_);
  return points;
}

}  // namespace lockstep::measure
