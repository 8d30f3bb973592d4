#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lockstep::measure {

// A rate, interval by interval. When it is thinned, each two points become their mean, so that a
// long series keeps its shape in half the memory. Not thread-safe.
class RateSeries {
 public:
  void Append(double rate) {
    sum_ += rate;
    if (++count_ < step_) return;
    points_.push_back(sum_ / step_);
    sum_ = 0;
    count_ = 0;
  }
  void Thin();
  // How many intervals a point stands for; the last may stand for fewer.
  uint32_t step() const { return step_; }
  size_t size() const { return points_.size(); }
  std::vector<double> Points() const;

 private:
  std::vector<double> points_;
  uint32_t step_ = 1;
  double sum_ = 0;  // of intervals that are no point yet
  uint32_t count_ = 0;
};

}  // namespace lockstep::measure
