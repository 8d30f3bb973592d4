#include "controller/plan/steady_rounds.h"

#include <algorithm>
#include <map>

#include "controller/plan/repetition.h"
#include "controller/plan/sweep.h"

namespace lockstep::controller {
namespace {

// A run of a point in a round.
struct PointRun {
  double value = 0;
  bool done = false;
  uint32_t workers = 0;
};

// The runs of a point by their rounds.
struct RunsInRounds {
  std::string name;
  std::map<uint32_t, PointRun> runs;
};

using RunsByIndices = std::map<std::vector<uint32_t>, RunsInRounds>;

RunsByIndices RunsOf(const v1::Sweep& sweep, const std::vector<StepResult>& results) {
  RunsByIndices points;
  SweepSteps steps(sweep);
  for (const StepResult& result : results) {
    const SweepStep& step = steps.At(result.step);
    if (step.kind != StepKind::kRun) continue;
    RunsInRounds& point = points[step.point.indices];
    if (point.runs.empty()) {
      SweepPoint first = step.point;
      first.repeat = 0;  // the name is that of the point, not of its repetition
      point.name = NameOf(first);
    }
    point.runs[step.point.repeat] = {ValueOfFigure(sweep.until_steady().figure(), result.figures),
                                     result.done, result.figures.workers()};
  }
  return points;
}

// The value of the point in each of the rounds. A run that ended early or lost a host measured
// something else than the others, so that its value is not known.
std::vector<double> ValuesIn(const RunsInRounds& point, uint32_t first, uint32_t rounds) {
  uint32_t workers = 0;  // the most that it had; 0 if the number is not known
  for (const auto& [round, run] : point.runs) workers = std::max(workers, run.workers);
  std::vector<double> values;
  for (uint32_t round = first; round < first + rounds; ++round) {
    const PointRun& run = point.runs.at(round);
    const bool whole = run.done && (run.workers == 0 || run.workers == workers);
    values.push_back(whole ? run.value : 0);
  }
  return values;
}

// Holds the window that ends with this round, counted in the values, against the rule. Leaves the
// state as it is if a value is not known: a load that does nothing is not steady either.
void JudgeWindow(const v1::SteadyRounds& rule, uint32_t end, RoundsState* state) {
  const uint32_t begin = end - rule.window();
  std::vector<measure::Variation> variations;
  for (const RoundsState::Tracked& tracked : state->tracked) {
    const std::vector<double> values(tracked.values.begin() + begin, tracked.values.begin() + end);
    if (!std::all_of(values.begin(), values.end(), [](double value) { return value > 0; })) return;
    variations.push_back(measure::VariationOf(values));
  }
  state->steady = true;
  state->window = RoundWindow{begin, end - 1};
  for (size_t t = 0; t < variations.size(); ++t) {
    RoundsState::Tracked& tracked = state->tracked[t];
    tracked.variation = variations[t];
    tracked.steady =
        variations[t].range <= rule.range_ratio() && variations[t].slope <= rule.slope_ratio();
    state->steady = state->steady && tracked.steady;
  }
}

}  // namespace

RoundsState StateOfRounds(const v1::Sweep& sweep, const std::vector<StepResult>& results) {
  RoundsState state;
  const v1::SteadyRounds& rule = sweep.until_steady();
  const RunsByIndices points = RunsOf(sweep, results);
  const uint64_t all = PointsOf(sweep) / std::max(1U, sweep.repeat());
  if (points.empty() || points.size() < all) return state;
  // A round counts once all its points have run, tracked or not.
  const auto is_complete = [&](uint32_t round) {
    return std::all_of(points.begin(), points.end(),
                       [&](const auto& point) { return point.second.runs.contains(round); });
  };
  while (is_complete(sweep.warm_up() + state.rounds)) ++state.rounds;
  for (const auto& [indices, point] : points) {
    const bool is_tracked =
        rule.track().empty() ||
        std::find(rule.track().begin(), rule.track().end(), point.name) != rule.track().end();
    if (!is_tracked) continue;
    state.tracked.push_back(
        {.point = point.name, .values = ValuesIn(point, sweep.warm_up(), state.rounds)});
  }
  if (state.tracked.empty() || rule.window() < 2) return state;
  for (uint32_t end = rule.window(); end <= state.rounds && !state.steady; ++end) {
    JudgeWindow(rule, end, &state);
  }
  if (state.window) {
    state.window->first += sweep.warm_up();
    state.window->last += sweep.warm_up();
  }
  return state;
}

void DropSweep(v1::RunPhase* run) {
  if (run->sweep().has_until_steady() && run->has_expect()) run->mutable_expect()->clear_steady();
  run->clear_sweep();
}

}  // namespace lockstep::controller
