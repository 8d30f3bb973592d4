#include "controller/analysis/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <random>

namespace lockstep::controller {
namespace {

// The regularised incomplete beta function by its continued fraction (NIST DLMF 8.17.22), evaluated
// after W. J. Lentz.
double BetaFraction(double a, double b, double x) {
  constexpr double kTiny = 1e-300;
  // Lentz's method divides by these terms. A zero becomes a tiny number, whose effect cancels in
  // the next factor.
  const auto bounded = [](double value) { return std::abs(value) < kTiny ? kTiny : value; };
  double c = 1;
  double d = 1 / bounded(1 - (a + b) * x / (a + 1));
  double fraction = d;
  for (int m = 1; m <= 500; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / bounded(1 + even * d);
    c = bounded(1 + even / c);
    fraction *= d * c;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / bounded(1 + odd * d);
    c = bounded(1 + odd / c);
    fraction *= d * c;
    if (std::abs(d * c - 1) < 1e-15) break;
  }
  return fraction;
}

double IncompleteBeta(double a, double b, double x) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  // These are logarithms because the gamma function itself overflows a double beyond 171.
  const double front = std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) +
                                a * std::log(x) + b * std::log1p(-x));
  // The fraction converges rapidly only below this bound (DLMF 8.17(v)). Beyond it the symmetry
  // I_x(a, b) = 1 - I_1-x(b, a) (DLMF 8.17.4) leads back below it.
  return x < (a + 1) / (a + b + 2) ? front * BetaFraction(a, b, x) / a
                                   : 1 - front * BetaFraction(b, a, 1 - x) / b;
}

// The point between 0 and `end` at which `below` changes from true to false.
template <typename Below>
double Bisect(double end, const Below& below) {
  double low = 0;
  double high = end;
  // Until no double lies between them.
  for (double middle = high / 2; middle > low && middle < high; middle = (low + high) / 2) {
    (below(middle) ? low : high) = middle;
  }
  return low;
}

double MeanOf(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// The mean is known before the squares are added up. The sum of the squares minus the square of the
// sum would lose the digits of a small spread around a large mean.
double SquaresOf(const std::vector<double>& values, double mean) {
  double sum = 0;
  for (const double value : values) sum += (value - mean) * (value - mean);
  return sum;
}

// The largest c with P(U <= c) <= 2.5 %, U being Mann and Whitney's statistic of two samples that
// do not differ; -1 where there is none.
int64_t CriticalU(size_t a, size_t b) {
  constexpr double kTail = 0.025;
  // The exact count takes about (a + b) a² b additions: 12 million for 50 runs on each side.
  constexpr size_t kExact = 2500;
  if (a * b > kExact) {  // the normal approximation
    // 1.959964 is the 97.5 % point of the normal distribution. The half corrects for continuity,
    // since U takes whole numbers only.
    const auto product = static_cast<double>(a * b);
    const double deviation = std::sqrt(product * static_cast<double>(a + b + 1) / 12);
    return static_cast<int64_t>(std::floor(product / 2 - 1.959964 * deviation - 0.5));
  }
  // ways[n][u]: how many choices of n of the first `taken` ranks have a U of u.
  // The counts are doubles: 50 of 100 ranks can be chosen in 10^29 ways, more than 64 bits hold,
  // and only the share of all of them matters.
  std::vector<std::vector<double>> ways(a + 1, std::vector<double>(a * b + 1, 0));
  ways[0][0] = 1;
  for (size_t taken = 1; taken <= a + b; ++taken) {
    // n descends, so that ways[n - 1] does not contain the current rank yet: each rank is chosen
    // once.
    for (size_t n = std::min(taken, a); n > 0; --n) {
      const size_t above = taken - n;  // of the other side, smaller than this one
      if (above > b) continue;
      for (size_t u = a * b + 1; u-- > above;) ways[n][u] += ways[n - 1][u - above];
    }
  }
  const double all = std::accumulate(ways[a].begin(), ways[a].end(), 0.0);
  double sum = 0;
  int64_t critical = -1;
  for (size_t u = 0; u <= a * b; ++u) {
    sum += ways[a][u];
    if (sum / all > kTail) break;
    critical = static_cast<int64_t>(u);
  }
  return critical;
}

double Choose(size_t n, size_t k) {
  return std::exp(std::lgamma(n + 1.0) - std::lgamma(k + 1.0) - std::lgamma(n - k + 1.0));
}

// A figure's values, prepared so that |t| of any choice of side `a` needs their sum alone.
struct Figure {
  const std::vector<double>* values;
  double sum = 0, squares = 0;

  double AbsoluteT(const std::vector<size_t>& chosen, size_t b) const {
    const auto n = static_cast<double>(chosen.size());
    const auto m = static_cast<double>(b);
    double first = 0;
    for (const size_t index : chosen) first += (*values)[index];
    const double second = sum - first;
    const double within = squares - first * first / n - second * second / m;
    const double difference = std::abs(first / n - second / m);
    // Without a spread, t is infinite or whatever rounding makes of it. One large value instead
    // makes all such choices equal, so that each counts as reached.
    if (within <= 1e-12 * squares) {  // nothing varies within the sides, but for rounding
      return difference <= 1e-6 * std::sqrt(squares) ? 0 : 1e12;
    }
    const double scale = std::sqrt(within / (n + m - 2) * (1 / n + 1 / m));
    return difference / scale;
  }
};

Figure Prepare(const std::vector<double>& values, std::vector<double>* centred) {
  // AbsoluteT() subtracts squares of sums from the sum of squares. Around 0 this loses no digits,
  // and a common offset does not change t.
  const double mean = MeanOf(values);
  *centred = values;
  for (double& value : *centred) value -= mean;
  Figure figure;
  figure.values = centred;
  figure.sum = std::accumulate(centred->begin(), centred->end(), 0.0);
  figure.squares = SquaresOf(*centred, 0);
  return figure;
}

// Calls `take` with every choice of `a` of `all` places, or with `most` random ones where there are
// more. The observed choice, the first `a`, is always among them: p is then never 0 (B. Phipson, G.
// K. Smyth, "Permutation P-values Should Never Be Zero", 2010).
template <typename Take>
size_t EachChoice(size_t all, size_t a, double most, Take take) {
  std::vector<size_t> chosen(a);
  std::iota(chosen.begin(), chosen.end(), 0);
  size_t count = 0;
  // Choose() goes through logarithms. The half absorbs its rounding error where the count is the
  // limit itself.
  if (Choose(all, a) <= most + 0.5) {
    while (true) {
      take(chosen);
      ++count;
      size_t i = a;
      while (i > 0 && chosen[i - 1] == all - a + i - 1) --i;
      if (i == 0) return count;
      ++chosen[i - 1];
      for (; i < a; ++i) chosen[i] = chosen[i - 1] + 1;
    }
  }
  // The seed is fixed: the same runs must give the same p each time, or a gate in CI would change
  // its mind. The modulo replaces std::uniform_int_distribution, whose algorithm the C++ standard
  // leaves to the library. Its bias is negligible with 64 bits.
  std::mt19937_64 random(1);
  std::vector<size_t> places(all);
  std::iota(places.begin(), places.end(), 0);
  take(chosen);  // as they are
  for (count = 1; count < static_cast<size_t>(most); ++count) {
    for (size_t i = 0; i < a; ++i) std::swap(places[i], places[i + random() % (all - i)]);
    std::copy_n(places.begin(), a, chosen.begin());
    take(chosen);
  }
  return count;
}

// The split of [begin, end) of which the sides differ most, by their energy distance; 0 where the
// range is too short.
size_t BestSplit(const std::vector<double>& series, size_t begin, size_t end) {
  // Sides of one or two values would make a change of every outlier.
  constexpr size_t kMinSegment = 3;
  if (end - begin < 2 * kMinSegment) return 0;
  const size_t n = end - begin;
  // Sums of distances: within the left side, within the right one, and between them. Each split
  // changes them by the distances of one value, so that all splits of a range cost n² steps, not
  // n³.
  double left = 0;
  double right = 0;
  double between = 0;
  for (size_t i = begin; i < end; ++i) {
    for (size_t j = i + 1; j < end; ++j) right += std::abs(series[i] - series[j]);
  }
  size_t best = 0;
  double most = 0;
  for (size_t split = begin + 1; split < end; ++split) {
    const size_t moved = split - 1;  // from the right side to the left
    double to_left = 0;
    double to_right = 0;
    for (size_t i = begin; i < moved; ++i) to_left += std::abs(series[i] - series[moved]);
    for (size_t i = split; i < end; ++i) to_right += std::abs(series[i] - series[moved]);
    left += to_left;
    right -= to_right;
    between += to_right - to_left;
    const auto l = static_cast<double>(split - begin);
    const double r = static_cast<double>(n) - l;
    if (l < kMinSegment || r < kMinSegment) continue;
    const double energy =
        l * r / (l + r) * (2 * between / (l * r) - 2 * left / (l * l) - 2 * right / (r * r));
    if (energy > most) {
      most = energy;
      best = split;
    }
  }
  return best;
}

// Matteson and James test each split by permutations. The t-test takes their place here: it needs
// no random numbers, so that a history keeps its changes from one evaluation to the next.
double TestAt(const std::vector<double>& series, size_t begin, size_t split, size_t end) {
  const auto at = [&](size_t i) { return series.begin() + static_cast<std::ptrdiff_t>(i); };
  return StudentTest({at(begin), at(split)}, {at(split), at(end)});
}

// Splits as long as both sides may differ. The threshold is weak on purpose: beside a larger change
// a real one is only visible after the larger one has been split off. ChangesIn() applies the
// strict threshold afterwards.
void SplitAll(const std::vector<double>& series, size_t begin, size_t end,
              std::vector<size_t>* found) {
  constexpr double kWeak = 0.2;
  const size_t split = BestSplit(series, begin, end);
  if (split == 0 || TestAt(series, begin, split, end) > kWeak) return;
  found->push_back(split);
  SplitAll(series, begin, split, found);
  SplitAll(series, split, end, found);
}

}  // namespace

double MedianOf(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

double StudentP(double t, double degrees) {
  // This is the probability of both tails itself. A difference from 1 would lose the digits of a
  // small p.
  return IncompleteBeta(degrees / 2, 0.5, degrees / (degrees + t * t));
}

double StudentTest(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.empty() || b.empty() || a.size() + b.size() < 3) return 1;
  const double degrees = static_cast<double>(a.size() + b.size()) - 2;
  const double difference = MeanOf(a) - MeanOf(b);
  // The variance is pooled, since Welch's test needs two values on each side, and here one may
  // stand alone.
  const double variance = (SquaresOf(a, MeanOf(a)) + SquaresOf(b, MeanOf(b))) / degrees;
  if (!(variance > 0)) return difference == 0 ? 1 : 0;
  const double scale =
      std::sqrt(variance * (1 / static_cast<double>(a.size()) + 1 / static_cast<double>(b.size())));
  return StudentP(difference / scale, degrees);
}

Shift ShiftOf(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> differences;
  for (const double x : a) {
    for (const double y : b) differences.push_back(y - x);
  }
  Shift shift;
  if (differences.empty()) return shift;
  shift.estimate = MedianOf(differences);
  // The critical value depends on the two sizes alone, which all figures of two sets share. A map
  // for each thread needs no lock.
  thread_local std::map<std::pair<size_t, size_t>, int64_t> known;
  if (known.size() > 1000) known.clear();
  const auto [at, added] = known.try_emplace({a.size(), b.size()}, 0);
  if (added) at->second = CriticalU(a.size(), b.size());
  const int64_t critical = at->second;
  if (critical < 0) return shift;
  std::sort(differences.begin(), differences.end());
  // U counts the differences of pairs on one side of a shift. At most 2.5 % of the cases have
  // `critical` or fewer, so that as many differences are left out at each end.
  const auto outside = static_cast<size_t>(critical);
  shift.interval = {differences[outside], differences[differences.size() - 1 - outside]};
  return shift;
}

double CorrectedCorrelation(double r, double fitted, double count) {
  return std::clamp(r + std::max(0.0, (1 + 3 * r) * fitted / count), 0.0, 0.9);
}

double StudentQuantile(double p, double degrees) {
  // 1,000 is beyond the quantile of 2.5 % with one degree of freedom, which is 25.5.
  return Bisect(1000, [&](double t) { return StudentP(t, degrees) > p; });
}

Shift::Interval ShareInterval(double found, double count) {
  constexpr double kTail = 0.025;
  constexpr double kMany = 150;
  if (found >= kMany && count - found >= kMany) {
    const double z2 = kNormal95 * kNormal95;
    const double share = found / count;
    const double middle = (share + z2 / (2 * count)) / (1 + z2 / count);
    const double half = kNormal95 / (1 + z2 / count) *
                        std::sqrt(share * (1 - share) / count + z2 / (4 * count * count));
    return {middle - half, middle + half};
  }
  // At the bounds, as many as were found, or as few, come up with a probability of 2.5 %.
  return {found <= 0 ? 0
                     : Bisect(1,
                              [&](double x) {
                                return IncompleteBeta(found, count - found + 1, x) < kTail;
                              }),
          found >= count ? 1 : Bisect(1, [&](double x) {
            return IncompleteBeta(found + 1, count - found, x) < 1 - kTail;
          })};
}

double MeanMargin(const std::vector<double>& values) {
  constexpr double kP = 0.025;
  if (values.size() < 2) return std::numeric_limits<double>::infinity();
  const auto n = static_cast<double>(values.size());
  return StudentQuantile(kP, n - 1) * std::sqrt(SquaresOf(values, MeanOf(values)) / (n - 1) / n);
}

std::optional<Shift::Interval> MedianInterval(std::vector<double> values) {
  constexpr double kTail = 0.025;
  // As many values can be left out at each end as fair coins rarely fall on one side.
  const size_t n = values.size();
  size_t outside = 0;
  double tail = 0;
  for (size_t k = 0; k < n; ++k) {
    tail += Choose(n, k) * std::exp2(-static_cast<double>(n));
    if (tail > kTail) break;
    outside = k + 1;
  }
  if (outside == 0) return std::nullopt;
  std::sort(values.begin(), values.end());
  return Shift::Interval{values[outside - 1], values[n - outside]};
}

double LeastP(size_t a, size_t b) {
  // The 2 is there because swapping sides of one size gives the same |t|: the observed choice and
  // its mirror both reach it. With sides of different sizes one choice may be alone, and the bound
  // errs towards too few runs.
  return a == 0 || b == 0 ? 1 : std::min(1.0, 2 / Choose(a + b, a));
}

std::vector<double> PermutationTest(const std::vector<std::vector<double>>& values, size_t a,
                                    size_t b) {
  const size_t count = values.size();
  std::vector<std::vector<double>> centred(count);
  std::vector<Figure> figures;
  std::vector<size_t> as_is(a);
  std::iota(as_is.begin(), as_is.end(), 0);
  std::vector<double> observed;
  for (size_t k = 0; k < count; ++k) {
    figures.push_back(Prepare(values[k], &centred[k]));
    observed.push_back(figures[k].AbsoluteT(as_is, b));
  }
  std::vector<size_t> order(count);  // from the least to the most significant
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](size_t x, size_t y) { return observed[x] < observed[y]; });
  std::vector<size_t> reached(count, 0);
  // Each choice adds up `a` values of every figure; 2e9 such steps take some seconds. 1,000 choices
  // always remain: they resolve p in steps of 0.1 %.
  constexpr double kSteps = 2e9;
  const double max_choices = std::clamp(
      kSteps / (static_cast<double>(count) * static_cast<double>(a) + 1), 1000.0, 20000.0);
  // One choice of runs applies to all figures. This keeps their dependence (throughput follows
  // IOPS), for which a correction by the number of figures alone (Bonferroni) would charge in full.
  const size_t permutations = EachChoice(a + b, a, max_choices, [&](const auto& chosen) {
    double most = 0;  // over this figure and all less significant ones
    for (const size_t k : order) {
      most = std::max(most, figures[k].AbsoluteT(chosen, b));
      // The mirror of the observed choice has the same |t|. Rounding must not let it fall short.
      reached[k] += most >= observed[k] * (1 - 1e-9);
    }
  });
  std::vector<double> p(count);
  // Step-down: a figure is only tested as long as all more significant ones have differed. Its p
  // therefore cannot be smaller than theirs.
  double least = 0;  // a less significant figure's is not smaller
  for (size_t i = count; i-- > 0;) {
    const size_t k = order[i];
    least = std::max(least, static_cast<double>(reached[k]) / static_cast<double>(permutations));
    p[k] = least;
  }
  return p;
}

std::vector<ChangeAt> ChangesIn(const std::vector<double>& series) {
  constexpr size_t kWindow = 50;
  // BestSplit() has picked the split with the largest difference, which makes the p of a t-test too
  // small, and a job has many series. A threshold of 5 % would find changes in noise.
  constexpr double kMaxP = 0.001;
  std::vector<size_t> splits;
  // A range costs n² steps, so a long history is cut into windows. They overlap by half: a change
  // at the edge of one lies within the next.
  for (size_t begin = 0; begin < series.size(); begin += kWindow / 2) {
    const size_t end = std::min(begin + kWindow, series.size());
    SplitAll(series, begin, end, &splits);
    if (end == series.size()) break;
  }
  std::sort(splits.begin(), splits.end());
  splits.erase(std::unique(splits.begin(), splits.end()), splits.end());
  // Windows overlap: of splits that lie too close the earlier one stands.
  constexpr size_t kMinSegment = 3;
  for (size_t i = 1; i < splits.size();) {
    if (splits[i] - splits[i - 1] < kMinSegment) {
      splits.erase(splits.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      ++i;
    }
  }
  // The weakest goes, until all hold between their neighbours. Only one goes at a time: its removal
  // joins two segments and changes the p of both neighbours.
  while (!splits.empty()) {
    size_t weakest = 0;
    double most = -1;
    for (size_t i = 0; i < splits.size(); ++i) {
      const size_t begin = i == 0 ? 0 : splits[i - 1];
      const size_t end = i + 1 == splits.size() ? series.size() : splits[i + 1];
      const double p = TestAt(series, begin, splits[i], end);
      if (p > most) {
        most = p;
        weakest = i;
      }
    }
    if (most < kMaxP) break;
    splits.erase(splits.begin() + static_cast<std::ptrdiff_t>(weakest));
  }
  std::vector<ChangeAt> changes;
  for (size_t i = 0; i < splits.size(); ++i) {
    const size_t begin = i == 0 ? 0 : splits[i - 1];
    const size_t end = i + 1 == splits.size() ? series.size() : splits[i + 1];
    const auto at = [&](size_t k) { return series.begin() + static_cast<std::ptrdiff_t>(k); };
    changes.push_back({splits[i], MeanOf({at(begin), at(splits[i])}),
                       MeanOf({at(splits[i]), at(end)}), TestAt(series, begin, splits[i], end)});
  }
  return changes;
}

}  // namespace lockstep::controller
