#include "controller/plan/repetition.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>

#include "controller/analysis/statistics.h"
#include "controller/plan/sweep.h"
#include "measure/report_states.h"

namespace lockstep::controller {
namespace {

bool IsLatency(v1::RepeatFigure figure) {
  return figure == v1::REPEAT_FIGURE_P50 || figure == v1::REPEAT_FIGURE_P99 ||
         figure == v1::REPEAT_FIGURE_MEAN;
}

}  // namespace

RepetitionState StateOfRepetitions(const v1::Sweep& sweep, const std::vector<StepResult>& results) {
  RepetitionState state;
  std::map<std::vector<uint32_t>, std::vector<double>> points;
  // The largest number of workers that each point had. A repetition with fewer has lost a host, and
  // its IOPS are not comparable. 0 means that the number is not known.
  std::map<std::vector<uint32_t>, uint32_t> workers;
  SweepSteps steps(sweep);
  for (const StepResult& result : results) {
    const SweepStep& step = steps.At(result.step);
    if (step.kind != StepKind::kRun) continue;
    uint32_t& most = workers[step.point.indices];
    most = std::max(most, result.figures.workers());
  }
  for (const StepResult& result : results) {
    const auto& [kind, point] = steps.At(result.step);
    if (kind != StepKind::kRun || point.repeat < sweep.warm_up()) continue;
    std::vector<double>& values = points[point.indices];
    // A repetition that ended early or lost a host gives no value. It does not count as a
    // repetition of its point either.
    const uint32_t had = result.figures.workers();
    const bool whole = result.done && (had == 0 || had == workers[point.indices]);
    const double value = ValueOfFigure(sweep.until().figure(), result.figures);
    // Nor does one with too few I/Os for the latency.
    const bool is_known = value > 0 || !IsLatency(sweep.until().figure());
    if (whole && is_known) values.push_back(value);
  }
  const uint64_t all = PointsOf(sweep) / std::max(1U, sweep.repeat());
  // The point with the widest margin decides below. Before each point has a result there is no
  // state to report.
  if (points.size() < all || points.empty()) return state;
  state.repetitions = std::numeric_limits<uint32_t>::max();
  for (const auto& [indices, values] : points) {
    state.repetitions = std::min(state.repetitions, static_cast<uint32_t>(values.size()));
    const double mean = values.empty() ? 0
                                       : std::accumulate(values.begin(), values.end(), 0.0) /
                                             static_cast<double>(values.size());
    // A mean of 0 has no relative margin. Such a point is never known well enough, and `repeat`
    // ends the sweep.
    const double ratio =
        mean > 0 ? MeanMargin(values) / mean : std::numeric_limits<double>::infinity();
    state.margin_ratio = std::max(state.margin_ratio, ratio);
  }
  // Two values are too few for any margin: Student's t is 12.7 for one degree of freedom at 95 %.
  state.enough = sweep.has_until() && state.repetitions >= std::max(3U, sweep.until().least()) &&
                 state.margin_ratio <= sweep.until().within_ratio();
  return state;
}

double ValueOfFigure(v1::RepeatFigure figure, const v1::PhaseFigures& figures) {
  switch (figure) {
    case v1::REPEAT_FIGURE_THROUGHPUT:
      return figures.bytes_per_second();
    case v1::REPEAT_FIGURE_P50:
      return figures.p50_ns();
    case v1::REPEAT_FIGURE_P99:
      return figures.p99_ns();
    case v1::REPEAT_FIGURE_MEAN:
      return figures.mean_ns();
    default:
      return figures.iops();
  }
}

std::string NameOf(v1::RepeatFigure figure) {
  switch (figure) {
    case v1::REPEAT_FIGURE_THROUGHPUT:
      return Text(measure::SweepFigure::kThroughput);
    case v1::REPEAT_FIGURE_P50:
      return Text(measure::SweepFigure::kP50);
    case v1::REPEAT_FIGURE_P99:
      return Text(measure::SweepFigure::kP99);
    case v1::REPEAT_FIGURE_MEAN:
      return Text(measure::SweepFigure::kMean);
    default:
      return Text(measure::SweepFigure::kIops);
  }
}

}  // namespace lockstep::controller
