#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace lockstep::controller {

// Which of several points is best, from rounds in each of which every point ran once. Pure.

enum class Better { kHigher, kLower };

enum class Standing {
  kNoValue,  // in no round
  kBest,
  kNotDistinguishable,  // from the best point: the difference may be chance
  kWorse,
  kTooFewRounds,  // fewer than kMinRounds in common with the best point; if none is, with any
  kAlone,         // no other point has a value
  kNoOrder,       // none is best: with gaps, each point is told apart from a better one
};

// Two rounds have one difference to spare. Student's t then has one degree of freedom, and is 12.7
// at 5 %: nearly no difference could be told from chance.
inline constexpr size_t kMinRounds = 3;
// A job repeats no more often.
inline constexpr size_t kMaxRounds = 100;

struct PointStanding {
  Standing standing = Standing::kNoValue;
  // In common with the best point; the point's own, if it is the best one or none is.
  size_t rounds = 0;
  // The point's value over the best point's: the geometric mean over the rounds in common. The
  // interval of the true ratio is from ratio / e^margin to ratio * e^margin; it contains 1 if and
  // only if the points cannot be told apart.
  double ratio = 1;
  double margin = 0;
  // Adjusted by Holm.
  double p_value = 1;
  // How many more rounds would tell a point that is not distinguishable, if its differences from
  // the best one keep their mean and scatter. None if kMaxRounds would not.
  std::optional<size_t> more_rounds;
};

// `values`: by point and round, all > 0 and finite; none where the point has no value in that
// round. All points have the same number of rounds.
//
// The best point is the one whose logarithms exceed the others' most, on average over the rounds
// that two points have in common: without gaps it is the one with the best geometric mean. With
// gaps, a point that is told apart from a better one is not the best, and where that is so of each
// point, none is. A pair
// of points is compared by Student's t of the differences of its logarithms, round by round, so
// that a drift which all points of a round share cancels out.
//
// The best point is known only after the measurement: any pair might have been the one that is
// looked at. The correction (S. Holm, 1979) therefore counts all pairs, not only those with the
// best point. With the latter alone, one of 10 equal points would be called worse in 11 % of the
// sweeps of eight rounds at a level of 5 % (by simulation, in the test).
std::vector<PointStanding> ComparePoints(
    const std::vector<std::vector<std::optional<double>>>& values, Better better, double level);

// The geometric mean, and its 95 % interval (Student's t of the logarithms) from `kMinRounds`
// values on.
struct GeometricMean {
  double mean = 0;
  std::optional<double> low, high;
};
// `values`: at least one, > 0.
GeometricMean GeometricMeanOf(const std::vector<double>& values);

}  // namespace lockstep::controller
