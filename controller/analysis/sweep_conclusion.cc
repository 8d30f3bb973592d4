// Which point of a sweep is best, and which cannot be told from it?

#include "controller/analysis/sweep_conclusion.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "controller/analysis/knee.h"
#include "controller/analysis/point_comparison.h"
#include "controller/analysis/rate_axes.h"
#include "controller/analysis/sweep_sentence.h"
#include "controller/plan/repetition.h"

namespace lockstep::controller {
namespace {

using PointRounds = std::vector<RoundFigures>;

// A stop as soon as the margins are narrow favours rounds that happen to agree: of two equal points
// one would be called worse in up to 6.2 % of the sweeps at 5 % (by simulation, in the test). A
// window of steady rounds is chosen because they agree, too.
constexpr double kLevel = 0.05;
constexpr double kLevelUntil = 0.025;

// Whether the job says how much is done, so that only the latency is left to differ.
bool HoldsRate(const v1::RunPhase& load, const std::vector<PointRounds>& points) {
  for (const v1::SweepAxis& axis : load.sweep().axes()) {
    if (RateAxisOf(axis.field())) return true;
  }
  bool all_open = !load.workloads().empty();
  double limit = 0;
  for (const v1::Workload& workload : load.workloads()) {
    all_open = all_open && workload.has_open_loop();
    // A workload without a limit does whatever it can, so that the sum is none.
    limit +=
        workload.max_iops() > 0 ? workload.max_iops() : std::numeric_limits<double>::infinity();
  }
  if (all_open || !(limit > 0) || !std::isfinite(limit)) return all_open;
  // A limit that all points reach makes their IOPS equal.
  for (const PointRounds& rounds : points) {
    for (const RoundFigures& figures : rounds) {
      if (!(figures.iops >= kServed * limit)) return false;
    }
  }
  return true;
}

// Whether the points move more or fewer bytes with an I/O. Small differences come from a random mix
// of sizes.
bool SizesDiffer(const std::vector<PointRounds>& points) {
  constexpr double kFactor = 1.05;
  double least = 0;
  double most = 0;
  for (const PointRounds& rounds : points) {
    double ios = 0;
    double bytes = 0;
    for (const RoundFigures& figures : rounds) {
      if (!std::isfinite(figures.iops + figures.bytes_per_second)) continue;
      ios += figures.iops;
      bytes += figures.bytes_per_second;
    }
    if (!(ios > 0) || !(bytes > 0)) continue;
    least = least > 0 ? std::min(least, bytes / ios) : bytes / ios;
    most = std::max(most, bytes / ios);
  }
  return most > kFactor * least;
}

v1::RepeatFigure FigureOf(const v1::RunPhase& load, const std::vector<PointRounds>& points) {
  if (HoldsRate(load, points)) return v1::REPEAT_FIGURE_P99;
  return SizesDiffer(points) ? v1::REPEAT_FIGURE_THROUGHPUT : v1::REPEAT_FIGURE_IOPS;
}

double ValueOf(v1::RepeatFigure figure, const RoundFigures& figures) {
  if (figure == v1::REPEAT_FIGURE_P99) return figures.p99_ns;
  return figure == v1::REPEAT_FIGURE_THROUGHPUT ? figures.bytes_per_second : figures.iops;
}

// By round; and why the point has no values, if it has none.
struct PointValues {
  std::vector<std::optional<double>> by_round;
  std::string reason;
};

PointValues ValuesOf(v1::RepeatFigure figure, const PointRounds& rounds, size_t count) {
  PointValues values;
  values.by_round.resize(count);
  size_t zeros = 0;
  bool any = false;
  for (const RoundFigures& figures : rounds) {
    const double value = ValueOf(figure, figures);
    if (value > 0 && std::isfinite(value)) {
      values.by_round[figures.round] = value;
      any = true;
    }
    zeros += figures.iops == 0;
  }
  if (rounds.empty()) {
    values.reason = "it has no whole round";
  } else if (zeros > 0) {
    // A rate of 0 has no logarithm. Without these rounds the point would look better than it is.
    values.reason = absl::StrCat("no I/O completed in ", zeros, " of its ", rounds.size(),
                                 rounds.size() == 1 ? " round" : " rounds");
    values.by_round.assign(count, std::nullopt);
  } else if (!any) {
    values.reason =
        figure == v1::REPEAT_FIGURE_P99 ? "too few I/Os for a p99" : "its throughput is not known";
  }
  return values;
}

v1::Standing StandingOf(Standing standing) {
  switch (standing) {
    case Standing::kBest:
      return v1::STANDING_BEST;
    case Standing::kNotDistinguishable:
      return v1::STANDING_NOT_DISTINGUISHABLE;
    case Standing::kWorse:
      return v1::STANDING_WORSE;
    case Standing::kTooFewRounds:
      return v1::STANDING_TOO_FEW_ROUNDS;
    case Standing::kAlone:
      return v1::STANDING_ALONE;
    case Standing::kNoValue:
    case Standing::kNoOrder:
      break;
  }
  return v1::STANDING_UNSPECIFIED;
}

v1::PointComparison ComparisonOf(const PointStanding& standing, const PointValues& values) {
  v1::PointComparison comparison;
  comparison.set_standing(StandingOf(standing.standing));
  comparison.set_reason(standing.standing == Standing::kNoOrder
                            ? "with rounds missing, every compared point is behind another one"
                            : values.reason);
  comparison.set_rounds(static_cast<uint32_t>(standing.rounds));
  std::vector<double> known;
  for (const auto& value : values.by_round) {
    if (value) known.push_back(*value);
  }
  if (known.empty()) return comparison;
  const GeometricMean mean = GeometricMeanOf(known);
  comparison.set_mean(mean.mean);
  if (mean.low) comparison.set_low(*mean.low);
  if (mean.high && std::isfinite(*mean.high)) comparison.set_high(*mean.high);
  if (standing.standing != Standing::kNotDistinguishable && standing.standing != Standing::kWorse) {
    return comparison;
  }
  comparison.set_ratio(standing.ratio);
  comparison.set_ratio_low(standing.ratio * std::exp(-standing.margin));
  const double high = standing.ratio * std::exp(standing.margin);
  if (std::isfinite(high)) comparison.set_ratio_high(high);
  comparison.set_p_value(standing.p_value);
  if (standing.more_rounds) {
    comparison.set_more_rounds(static_cast<uint32_t>(*standing.more_rounds));
  }
  return comparison;
}

// The most rounds that two points share; of a single point its own.
size_t SharedRounds(const std::vector<std::vector<std::optional<double>>>& values) {
  size_t most = 0;
  for (size_t a = 0; a < values.size(); ++a) {
    for (size_t b = values.size() == 1 ? a : a + 1; b < values.size(); ++b) {
      size_t shared = 0;
      for (size_t round = 0; round < values[a].size(); ++round) {
        shared += values[a][round] && values[b][round];
      }
      most = std::max(most, shared);
    }
  }
  return most;
}

// None where nothing is missing, or where kMaxRounds would not do.
std::optional<uint32_t> MissingRounds(const v1::SweepReport& sweep, size_t rounds) {
  std::optional<uint32_t> missing;
  bool has_best = false;
  bool has_too_few = false;
  for (const v1::SweepPointReport& point : sweep.points()) {
    const v1::PointComparison& comparison = point.comparison();
    has_best = has_best || comparison.standing() == v1::STANDING_BEST;
    has_too_few = has_too_few || comparison.standing() == v1::STANDING_TOO_FEW_ROUNDS;
    if (comparison.standing() != v1::STANDING_NOT_DISTINGUISHABLE) continue;
    if (!comparison.has_more_rounds()) return std::nullopt;
    missing = std::max(missing.value_or(0), comparison.more_rounds());
  }
  if (has_too_few && !has_best && rounds < kMinRounds) {
    missing = static_cast<uint32_t>(kMinRounds - rounds);
  }
  return missing;
}

// The best point, or as long as none is best, the one with the best mean.
std::optional<uint32_t> LeadingPoint(const v1::SweepReport& sweep) {
  const bool is_higher_better = sweep.conclusion().higher_is_better();
  std::optional<uint32_t> leading;
  for (int p = 0; p < sweep.points_size(); ++p) {
    const v1::PointComparison& own = sweep.points(p).comparison();
    // Rounds that only some points ran can make another mean larger than that of the best point.
    if (own.standing() == v1::STANDING_BEST) return static_cast<uint32_t>(p);
    if (!own.has_mean()) continue;
    const double first =
        leading ? sweep.points(static_cast<int>(*leading)).comparison().mean() : own.mean();
    const bool is_better = is_higher_better ? own.mean() > first : own.mean() < first;
    if (!leading || is_better) leading = static_cast<uint32_t>(p);
  }
  return leading;
}

}  // namespace

void AddConclusion(const v1::RunPhase& load, const std::vector<PointRounds>& rounds,
                   v1::SweepReport* sweep) {
  if (rounds.empty()) return;
  const v1::RepeatFigure figure = FigureOf(load, rounds);
  size_t count = 0;
  for (const PointRounds& point : rounds) {
    for (const RoundFigures& figures : point) count = std::max<size_t>(count, figures.round + 1);
  }
  std::vector<PointValues> points;
  std::vector<std::vector<std::optional<double>>> values;
  for (const PointRounds& point : rounds) {
    // Every point has a place for every round: values of the same round are compared.
    points.push_back(ValuesOf(figure, point, count));
    values.push_back(points.back().by_round);
  }
  const Better better = figure == v1::REPEAT_FIGURE_P99 ? Better::kLower : Better::kHigher;
  const bool is_chosen = load.sweep().has_until() || load.sweep().has_until_steady();
  const std::vector<PointStanding> standings =
      ComparePoints(values, better, is_chosen ? kLevelUntil : kLevel);
  for (size_t p = 0; p < points.size(); ++p) {
    *sweep->mutable_points(static_cast<int>(p))->mutable_comparison() =
        ComparisonOf(standings[p], points[p]);
  }
  v1::SweepConclusion* conclusion = sweep->mutable_conclusion();
  conclusion->set_figure(NameOf(figure));
  conclusion->set_higher_is_better(better == Better::kHigher);
  const size_t shared = SharedRounds(values);
  conclusion->set_rounds(static_cast<uint32_t>(shared));
  if (const auto missing = MissingRounds(*sweep, shared)) conclusion->set_more_rounds(*missing);
  if (const auto leading = LeadingPoint(*sweep)) conclusion->set_leading(*leading);
  // The sentence comes last, because it is made from the other fields.
  conclusion->set_sentence(SentenceOf(*sweep));
}

}  // namespace lockstep::controller
