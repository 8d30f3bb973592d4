#include "controller/analysis/level_changes.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

namespace lockstep::controller {
namespace {

constexpr double kMaxP = 0.001;

struct Segment {
  size_t begin, end;
};

double MeanIn(const std::vector<double>& series, const Segment& s) {
  const auto at = [&](size_t i) { return series.begin() + static_cast<std::ptrdiff_t>(i); };
  return std::accumulate(at(s.begin), at(s.end), 0.0) / static_cast<double>(s.end - s.begin);
}

// The correlation of neighbours in the series, without its levels.
double LagOne(const std::vector<double>& series, const std::vector<Segment>& segments) {
  double products = 0;
  double squares = 0;
  for (const Segment& s : segments) {
    const double mean = MeanIn(series, s);
    for (size_t i = s.begin; i < s.end; ++i) {
      squares += (series[i] - mean) * (series[i] - mean);
      if (i > s.begin) products += (series[i] - mean) * (series[i - 1] - mean);
    }
  }
  if (!(squares > 0)) return 0;
  return CorrectedCorrelation(products / squares, static_cast<double>(segments.size()),
                              static_cast<double>(segments.back().end));
}

// Two-sided p of a difference between neighbouring segments, `count` values for each of theirs.
double TestBetween(const std::vector<double>& series, const Segment& a, const Segment& b,
                   double count) {
  const double mean_a = MeanIn(series, a);
  const double mean_b = MeanIn(series, b);
  double squares = 0;
  for (size_t i = a.begin; i < a.end; ++i) squares += std::pow(series[i] - mean_a, 2);
  for (size_t i = b.begin; i < b.end; ++i) squares += std::pow(series[i] - mean_b, 2);
  const auto n = static_cast<double>(a.end - a.begin);
  const auto m = static_cast<double>(b.end - b.begin);
  const double variance = squares / (n + m - 2);
  // Without any noise a difference cannot be chance.
  if (!(variance > 0)) return mean_a == mean_b ? 1 : 0;
  const double t = (mean_a - mean_b) / std::sqrt(variance * (1 / (n * count) + 1 / (m * count)));
  return StudentP(t, std::max(1.0, (n + m) * count - 2));
}

// Two-sided p of a difference between the rates of neighbouring segments that are Poisson
// processes, whose values are of `seconds` each: the likelihood ratio, which is the square of a
// normal value.
double CountTestBetween(const std::vector<double>& series, const Segment& a, const Segment& b,
                        double seconds) {
  const double n = seconds * static_cast<double>(a.end - a.begin);
  const double m = seconds * static_cast<double>(b.end - b.begin);
  const double rate_a = MeanIn(series, a);
  const double rate_b = MeanIn(series, b);
  const double both = (n * rate_a + m * rate_b) / (n + m);
  const auto part = [&](double time, double rate) {
    return rate > 0 ? time * rate * std::log(rate / both) : 0;
  };
  const double ratio = std::max(0.0, 2 * (part(n, rate_a) + part(m, rate_b)));
  return std::erfc(std::sqrt(ratio / 2));
}

std::vector<Segment> SegmentsOf(const std::vector<ChangeAt>& changes, size_t size) {
  std::vector<Segment> segments{{0, size}};
  for (const ChangeAt& change : changes) {
    segments.back().end = change.index;
    segments.push_back({change.index, size});
  }
  return segments;
}

// The mean of each `group` values; a rest of less than half of them joins the group before.
std::vector<double> Thinned(const std::vector<double>& series, size_t group) {
  std::vector<double> points;
  for (size_t i = 0; i < series.size();) {
    size_t end = std::min(i + group, series.size());
    if (series.size() - end < (group + 1) / 2) end = series.size();
    points.push_back(MeanIn(series, {i, end}));
    i = end;
  }
  return points;
}

}  // namespace

std::vector<ChangeAt> LevelChangesIn(const std::vector<double>& series, double least,
                                     std::optional<double> seconds) {
  // ChangesIn() looks at windows of so many values. In one window it sees the whole phase, and
  // means of neighbours depend less on each other than the values do.
  constexpr size_t kPoints = 50;
  const size_t group = (series.size() + kPoints - 1) / kPoints;
  if (group == 0) return {};
  const std::vector<double> points = Thinned(series, group);
  std::vector<ChangeAt> changes = ChangesIn(points);
  // The weakest goes first: its removal joins two segments, and changes the test of both its
  // neighbours.
  while (!changes.empty()) {
    const std::vector<Segment> segments = SegmentsOf(changes, points.size());
    const double r = LagOne(points, segments);
    size_t weakest = changes.size();
    double most = 0;
    for (size_t i = 0; i < changes.size(); ++i) {
      ChangeAt& change = changes[i];
      change.mean_before = MeanIn(points, segments[i]);
      change.mean_after = MeanIn(points, segments[i + 1]);
      change.p_value = TestBetween(points, segments[i], segments[i + 1], (1 - r) / (1 + r));
      if (seconds) {
        const double of_point = *seconds * static_cast<double>(group);
        change.p_value = std::max(change.p_value,
                                  CountTestBetween(points, segments[i], segments[i + 1], of_point));
      }
      const double low = std::min(change.mean_before, change.mean_after);
      const bool small = low > (1 - least) * std::max(change.mean_before, change.mean_after);
      const double doubt = small ? 1 : change.p_value;
      if (doubt < kMaxP || doubt < most) continue;
      most = doubt;
      weakest = i;
    }
    if (weakest == changes.size()) break;
    changes.erase(changes.begin() + static_cast<std::ptrdiff_t>(weakest));
  }
  // From the thinned points back to the values of the series.
  for (ChangeAt& change : changes) change.index *= group;
  return changes;
}

}  // namespace lockstep::controller
