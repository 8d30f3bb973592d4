#include "controller/analysis/drift.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "controller/analysis/statistics.h"

namespace lockstep::controller {
namespace {

double Dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// The order of so many values, around 0.
std::vector<double> Times(size_t count) {
  std::vector<double> times(count);
  for (size_t i = 0; i < count; ++i) {
    times[i] = static_cast<double>(i) - (static_cast<double>(count) - 1) / 2;
  }
  return times;
}

void Centre(std::vector<double>* values) {
  double sum = 0;
  for (const double value : *values) sum += value;
  for (double& value : *values) value -= sum / static_cast<double>(values->size());
}

// The values without their mean and their line over time.
std::vector<double> WithoutLine(std::vector<double> values, const std::vector<double>& times) {
  Centre(&values);
  const double slope = Dot(values, times) / Dot(times, times);
  for (size_t i = 0; i < values.size(); ++i) values[i] -= slope * times[i];
  return values;
}

std::vector<double> SidesOf(const std::vector<bool>& is_second) {
  std::vector<double> sides(is_second.size());
  for (size_t i = 0; i < sides.size(); ++i) sides[i] = is_second[i] ? 1 : 0;
  return sides;
}

// The squares that are left of the values without the mean of each side.
double RestOf(const std::vector<double>& values, const std::vector<bool>& is_second) {
  double sums[2] = {};
  double counts[2] = {};
  double squares = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    sums[is_second[i]] += values[i];
    ++counts[is_second[i]];
    squares += values[i] * values[i];
  }
  for (const bool side : {false, true}) {
    if (counts[side] > 0) squares -= sums[side] * sums[side] / counts[side];
  }
  return squares;
}

// Whether one change of level at some time leaves less than the sides do: the machine may have
// changed then. A line and a correlation explain such a change badly, and the sides take it.
bool ChangesElsewhere(const InOrder& runs) {
  std::vector<double> values = runs.values;
  Centre(&values);
  const double own = RestOf(values, runs.is_second);
  std::vector<bool> is_later(values.size(), true);
  for (size_t at = 1; at < values.size(); ++at) {
    is_later[at - 1] = false;
    if (RestOf(values, is_later) < own * (1 - 1e-9)) return true;
  }
  return false;
}

}  // namespace

double SuccessionOf(const std::vector<bool>& is_second) {
  if (is_second.size() < 2) return 0;
  std::vector<double> sides = SidesOf(is_second);
  Centre(&sides);
  const std::vector<double> times = Times(is_second.size());
  const double scale = std::sqrt(Dot(sides, sides) * Dot(times, times));
  return scale > 0 ? std::abs(Dot(sides, times)) / scale : 0;
}

double DriftTest(const InOrder& runs) {
  constexpr double kFitted = 3;  // mean, line and side
  const size_t count = runs.values.size();
  const auto n = static_cast<double>(count);
  if (n < kFitted + 1) return 1;
  const std::vector<double> times = Times(count);
  const std::vector<double> side = WithoutLine(SidesOf(runs.is_second), times);
  const std::vector<double> values = WithoutLine(runs.values, times);
  const double squares_of_side = Dot(side, side);
  if (squares_of_side < 1e-9 || ChangesElsewhere(runs)) return 1;
  const double difference = Dot(side, values) / squares_of_side;
  std::vector<double> rest(count);
  for (size_t i = 0; i < count; ++i) rest[i] = values[i] - difference * side[i];
  const double squares = Dot(rest, rest);
  if (squares <= 1e-12 * Dot(values, values)) return difference == 0 ? 1 : 0;
  double products = 0;
  for (size_t i = 1; i < count; ++i) products += rest[i] * rest[i - 1];
  // Fitting takes a part of the correlation away (F. H. C. Marriott, J. A. Pope, 1954). Half of
  // their correction, and the bounds of r and of the degrees of freedom, are what few runs allow:
  // with all of it 9 % of the clear differences of five and five runs were not found, where the
  // false alarms fell by 0.4 points at most.
  constexpr double kMaxCorrelation = 0.6;
  constexpr double kMinDegrees = 3;
  const double fitted = products / squares;
  const double r = std::clamp(fitted + (0.5 + 1.5 * fitted) * kFitted / n, 0.0, kMaxCorrelation);
  const double share = (1 - r) / (1 + r);  // of the values that count
  const double t = difference / std::sqrt(squares / (n - kFitted) / squares_of_side / share);
  return StudentP(t, std::max(kMinDegrees, n * share - kFitted));
}

std::vector<double> DriftTests(const std::vector<std::vector<double>>& figures,
                               const std::vector<bool>& is_second) {
  // If two figures follow each other so closely, such as IOPS and throughput, one is the other's in
  // other units, and no further chance of an alarm.
  constexpr double kSame = 0.99;
  // Such figures are near each other in a comparison: looking at all would take m² steps.
  constexpr size_t kNear = 16;
  std::vector<size_t> same_as;   // the first figure that it follows, or itself
  std::vector<size_t> distinct;  // figures
  std::vector<std::vector<double>> centred = figures;
  std::vector<double> p(figures.size());
  for (size_t k = 0; k < figures.size(); ++k) {
    Centre(&centred[k]);
    size_t like = k;
    for (size_t j = k; j-- > 0 && k - j <= kNear;) {
      const double scale = std::sqrt(Dot(centred[j], centred[j]) * Dot(centred[k], centred[k]));
      if (std::abs(Dot(centred[j], centred[k])) >= kSame * scale) like = same_as[j];
    }
    same_as.push_back(like);
    if (like == k) distinct.push_back(k);
    p[k] = DriftTest({figures[k], is_second});
  }
  // Y. Hochberg, 1988: from the largest p on. It holds for figures that vary together, as those of
  // a run do, and finds more than S. Holm's where most of them differ.
  std::sort(distinct.begin(), distinct.end(), [&](size_t a, size_t b) { return p[a] > p[b]; });
  double least = 1;
  std::vector<double> adjusted(figures.size());
  for (size_t i = 0; i < distinct.size(); ++i) {
    least = std::min(least, p[distinct[i]] * static_cast<double>(i + 1));
    adjusted[distinct[i]] = least;
  }
  // A figure that follows another one is no better known.
  for (size_t k = 0; k < figures.size(); ++k) p[k] = std::max(p[k], adjusted[same_as[k]]);
  return p;
}

}  // namespace lockstep::controller
