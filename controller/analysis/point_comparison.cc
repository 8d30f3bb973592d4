#include "controller/analysis/point_comparison.h"

#include <algorithm>
#include <cmath>

#include "controller/analysis/statistics.h"

namespace lockstep::controller {
namespace {

using Rounds = std::vector<std::optional<double>>;

struct MeanScatter {
  size_t count = 0;
  double mean = 0;
  double deviation = 0;  // of the sample; 0 for fewer than two values
};

MeanScatter MeanScatterOf(const std::vector<double>& values) {
  MeanScatter of{values.size()};
  for (const double value : values) of.mean += value / static_cast<double>(values.size());
  double squares = 0;
  for (const double value : values) squares += (value - of.mean) * (value - of.mean);
  if (of.count > 1) of.deviation = std::sqrt(squares / static_cast<double>(of.count - 1));
  return of;
}

// Two points, compared by the differences of their logarithms in the rounds that both have.
struct Pair {
  size_t a = 0, b = 0;
  MeanScatter differences;  // a's minus b's
  double p_value = 1;
  double adjusted = 1;
  double comparisons = 1;  // by which Holm divides the level for it
};

// The two-sided p of differences with this mean and scatter after so many rounds.
double PairedP(const MeanScatter& differences, size_t rounds) {
  // The figures of a rate limit are equal but for the rounding of their logarithms.
  constexpr double kRounding = 1e-9;
  if (std::abs(differences.mean) < kRounding) return 1;
  if (!(differences.deviation > 0)) return 0;
  const double t =
      differences.mean * std::sqrt(static_cast<double>(rounds)) / differences.deviation;
  return StudentP(t, static_cast<double>(rounds - 1));
}

std::vector<Pair> PairsOf(const std::vector<Rounds>& values) {
  std::vector<Pair> pairs;
  for (size_t a = 0; a < values.size(); ++a) {
    for (size_t b = a + 1; b < values.size(); ++b) {
      std::vector<double> differences;
      for (size_t round = 0; round < values[a].size(); ++round) {
        const auto& x = values[a][round];
        const auto& y = values[b][round];
        if (x && y) differences.push_back(std::log(*x) - std::log(*y));
      }
      if (differences.empty()) continue;
      Pair pair{a, b, MeanScatterOf(differences)};
      if (differences.size() >= kMinRounds) {
        pair.p_value = PairedP(pair.differences, differences.size());
      }
      pairs.push_back(pair);
    }
  }
  return pairs;
}

// Step-down: the smallest p is held to the level over the number of pairs, the next one to the
// level over one less, and none after the first that fails.
void Adjust(double level, std::vector<Pair>* pairs) {
  std::vector<Pair*> order;
  for (Pair& pair : *pairs) {
    // A pair that cannot be told apart, whatever its values, is no attempt to do so.
    if (pair.differences.count >= kMinRounds) order.push_back(&pair);
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const Pair* x, const Pair* y) { return x->p_value < y->p_value; });
  double adjusted = 0;
  auto comparisons = static_cast<double>(order.size());
  bool all_differ = true;
  for (size_t k = 0; k < order.size(); ++k) {
    const double left = static_cast<double>(order.size() - k);
    adjusted = std::max(adjusted, std::min(1.0, order[k]->p_value * left));
    order[k]->adjusted = adjusted;
    // After the first failure the divisor stays. With the smaller one of its own step, an interval
    // could exclude 1 although the pair is not told apart.
    if (all_differ) comparisons = left;
    all_differ = all_differ && adjusted <= level;
    order[k]->comparisons = comparisons;
  }
}

// How far the pair's first point is ahead.
double LeadOf(const Pair& pair, Better better) {
  return better == Better::kHigher ? pair.differences.mean : -pair.differences.mean;
}

// None where no two points have enough rounds in common, or each point is told apart from a better
// one.
std::optional<size_t> BestOf(size_t points, const std::vector<Pair>& pairs, Better better,
                             double level) {
  std::vector<double> sums(points, 0);
  std::vector<double> counts(points, 0);
  // With gaps, the point with the largest lead over all others can be behind one of them, in the
  // rounds that the two have in common.
  std::vector<bool> is_beaten(points, false);
  for (const Pair& pair : pairs) {
    // A point with few rounds may have had the luckiest of them.
    if (pair.differences.count < kMinRounds) continue;
    const double lead = LeadOf(pair, better);
    sums[pair.a] += lead;
    sums[pair.b] -= lead;
    ++counts[pair.a];
    ++counts[pair.b];
    if (pair.adjusted <= level) is_beaten[lead < 0 ? pair.a : pair.b] = true;
  }
  std::optional<size_t> best;
  for (size_t p = 0; p < points; ++p) {
    if (!(counts[p] > 0) || is_beaten[p]) continue;
    if (!best || sums[p] / counts[p] > sums[*best] / counts[*best]) best = p;
  }
  return best;
}

std::optional<size_t> MoreRoundsFor(const Pair& pair, double level) {
  for (size_t rounds = pair.differences.count + 1; rounds <= kMaxRounds; ++rounds) {
    if (PairedP(pair.differences, rounds) * pair.comparisons <= level) {
      return rounds - pair.differences.count;
    }
  }
  return std::nullopt;
}

PointStanding Against(const Pair& pair, size_t best, double level) {
  PointStanding point;
  const MeanScatter& differences = pair.differences;
  point.rounds = differences.count;
  point.standing = Standing::kTooFewRounds;
  if (differences.count < kMinRounds) return point;
  const double lead = pair.a == best ? differences.mean : -differences.mean;
  const auto n = static_cast<double>(differences.count);
  point.ratio = std::exp(-lead);
  point.p_value = pair.adjusted;
  point.margin =
      StudentQuantile(level / pair.comparisons, n - 1) * differences.deviation / std::sqrt(n);
  // No point is told apart from the best one as a better one.
  const bool is_worse = pair.adjusted <= level;
  point.standing = is_worse ? Standing::kWorse : Standing::kNotDistinguishable;
  if (!is_worse) point.more_rounds = MoreRoundsFor(pair, level);
  return point;
}

}  // namespace

std::vector<PointStanding> ComparePoints(const std::vector<Rounds>& values, Better better,
                                         double level) {
  std::vector<PointStanding> points(values.size());
  size_t with_values = 0;
  for (size_t p = 0; p < values.size(); ++p) {
    const auto rounds = std::count_if(values[p].begin(), values[p].end(),
                                      [](const auto& value) { return value.has_value(); });
    points[p].rounds = static_cast<size_t>(rounds);
    if (rounds == 0) continue;
    points[p].standing = Standing::kTooFewRounds;
    ++with_values;
  }
  // A thousand points of one round have half a million pairs, none of which can be compared.
  const bool has_rounds = !values.empty() && values.front().size() >= kMinRounds;
  std::vector<Pair> pairs = has_rounds ? PairsOf(values) : std::vector<Pair>();
  Adjust(level, &pairs);
  const std::optional<size_t> best = BestOf(values.size(), pairs, better, level);
  for (size_t p = 0; p < values.size() && with_values == 1; ++p) {
    if (points[p].rounds > 0) points[p].standing = Standing::kAlone;
  }
  for (const Pair& pair : pairs) {
    if (best || pair.differences.count < kMinRounds) continue;
    points[pair.a].standing = Standing::kNoOrder;
    points[pair.b].standing = Standing::kNoOrder;
  }
  if (!best) return points;
  // A point that has no round in common with the best one has no pair with it.
  for (size_t p = 0; p < values.size(); ++p) {
    if (p != *best && points[p].standing != Standing::kNoValue) points[p].rounds = 0;
  }
  for (const Pair& pair : pairs) {
    if (pair.a != *best && pair.b != *best) continue;
    points[pair.a == *best ? pair.b : pair.a] = Against(pair, *best, level);
  }
  points[*best].standing = Standing::kBest;
  return points;
}

GeometricMean GeometricMeanOf(const std::vector<double>& values) {
  std::vector<double> logarithms;
  for (const double value : values) logarithms.push_back(std::log(value));
  const MeanScatter of = MeanScatterOf(logarithms);
  GeometricMean result{std::exp(of.mean), std::nullopt, std::nullopt};
  if (of.count < kMinRounds) return result;
  const auto n = static_cast<double>(of.count);
  const double margin = StudentQuantile(0.05, n - 1) * of.deviation / std::sqrt(n);
  result.low = std::exp(of.mean - margin);
  result.high = std::exp(of.mean + margin);
  return result;
}

}  // namespace lockstep::controller
