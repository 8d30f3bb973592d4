#include "measure/rate_series.h"

namespace lockstep::measure {

void RateSeries::Thin() {
  const size_t pairs = points_.size() / 2;
  for (size_t i = 0; i < pairs; ++i) points_[i] = (points_[2 * i] + points_[2 * i + 1]) / 2;
  // An odd last point stands for half a new step. It goes back into the open sum, so that all
  // points stay equally long.
  if (points_.size() % 2 != 0) {
    sum_ += points_.back() * step_;
    count_ += step_;
  }
  points_.resize(pairs);
  // resize() keeps the capacity, and the memory is the reason for thinning.
  points_.shrink_to_fit();
  step_ *= 2;
}

std::vector<double> RateSeries::Points() const {
  std::vector<double> points = points_;
  if (count_ != 0) points.push_back(sum_ / count_);
  return points;
}

}  // namespace lockstep::measure
