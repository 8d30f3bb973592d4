#include "controller/analysis/knee.h"

#include <algorithm>
#include <cmath>

namespace lockstep::controller {
namespace {

// Noise bends a straight line a little, too.
constexpr double kFar = 0.1;
constexpr double kTop = 0.99;
constexpr double kLogarithmic = 8;

enum class Axis { kLinear, kLogarithmic };

// From 0 to 1; empty where they do not span anything.
std::vector<double> Scaled(std::vector<double> values, Axis axis) {
  if (axis == Axis::kLogarithmic) {
    for (double& value : values) value = std::log(value);
  }
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  const double least = *low;
  const double span = *high - least;
  if (!(span > 0) || !std::isfinite(span)) return {};
  for (double& value : values) value = (value - least) / span;
  return values;
}

// The farthest above the line, or with `sign` -1 below it.
std::optional<size_t> Farthest(const std::vector<double>& x, const std::vector<double>& y,
                               double sign) {
  if (x.size() < kMinKneePoints || x.size() != y.size()) return std::nullopt;
  // Parallelism is swept in powers of two. On a linear axis from 1 to 64 the first four points
  // would share a ninth of the width, and the knee would always be among them. A curve's load is a
  // share and stays linear.
  const bool logarithmic = x.front() > 0 && x.back() / x.front() >= kLogarithmic;
  const std::vector<double> across =
      Scaled(x, logarithmic && sign > 0 ? Axis::kLogarithmic : Axis::kLinear);
  const std::vector<double> up = Scaled(y, Axis::kLinear);
  if (across.empty() || up.empty()) return std::nullopt;
  size_t best = 0;
  double most = 0;
  for (size_t i = 0; i < across.size(); ++i) {
    // The vertical distance from the diagonal is the perpendicular one times the square root of 2:
    // the farthest point is the same.
    const double distance = sign * (up[i] - across[i]);
    if (distance <= most) continue;
    most = distance;
    best = i;
  }
  if (most < kFar) return std::nullopt;
  return best;
}

}  // namespace

std::optional<size_t> KneeOfGain(const std::vector<double>& x, const std::vector<double>& y) {
  if (x.size() != y.size() || y.empty()) return std::nullopt;
  const double most = *std::max_element(y.begin(), y.end());
  // The line must end on the plateau. Points after it, where the throughput falls again, would pull
  // the end of the line down and move the knee.
  size_t points = y.size();
  while (points > 0 && y[points - 1] < kTop * most) --points;
  return Farthest({x.begin(), x.begin() + static_cast<ptrdiff_t>(points)},
                  {y.begin(), y.begin() + static_cast<ptrdiff_t>(points)}, 1);
}

std::optional<size_t> KneeOfCost(const std::vector<double>& x, const std::vector<double>& y) {
  const std::optional<size_t> found = Farthest(x, y, -1);
  // If the latency is no higher at the end than there, it does not rise beyond it.
  return found && y.back() > y[*found] ? found : std::nullopt;
}

std::optional<size_t> LastServed(const std::vector<double>& served) {
  size_t count = 0;
  while (count < served.size() && served[count] >= kServed) ++count;
  return count == 0 ? std::nullopt : std::optional(count - 1);
}

}  // namespace lockstep::controller
