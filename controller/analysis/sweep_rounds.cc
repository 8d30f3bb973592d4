// Were the rounds of a sweep steady, and from which one on?

#include "controller/analysis/sweep_rounds.h"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "controller/plan/repetition.h"
#include "measure/report_states.h"
#include "measure/states.h"

namespace lockstep::controller {
namespace {

using Tracked = RoundsState::Tracked;

measure::Unit UnitOf(v1::RepeatFigure figure) {
  switch (figure) {
    case v1::REPEAT_FIGURE_THROUGHPUT:
      return measure::Unit::kBytesPerSecond;
    case v1::REPEAT_FIGURE_P50:
    case v1::REPEAT_FIGURE_P99:
    case v1::REPEAT_FIGURE_MEAN:
      return measure::Unit::kNanoseconds;
    default:
      return measure::Unit::kPerSecond;
  }
}

// "rounds 3 to 7", as the names of their phases count them: from 1.
std::string WindowText(const RoundWindow& window) {
  return absl::StrCat("rounds ", window.first + 1, " to ", window.last + 1);
}

double LargestRange(const RoundsState& state) {
  double largest = 0;
  for (const Tracked& tracked : state.tracked) {
    largest = std::max(largest, tracked.variation.range);
  }
  return largest;
}

double LargestSlope(const RoundsState& state) {
  double largest = 0;
  for (const Tracked& tracked : state.tracked) {
    largest = std::max(largest, tracked.variation.slope);
  }
  return largest;
}

std::string VariedText(const v1::SteadyRounds& rule, double range, double slope,
                       const std::string& by) {
  return absl::StrFormat(
      "varied by %s%.1f %% (limit %.3g %%), the fitted line by %s%.1f %% (limit "
      "%.3g %%)",
      by, 100 * range, 100 * rule.range_ratio(), by, 100 * slope, 100 * rule.slope_ratio());
}

// "IOPS of read=0% block_size=4KiB"
std::string FigureOfPoint(const v1::SteadyRounds& rule, const Tracked& tracked) {
  return absl::StrCat(NameOf(rule.figure()),
                      tracked.point.empty() ? "" : absl::StrCat(" of ", tracked.point));
}

std::string AfterWarmUp(const v1::Sweep& sweep) {
  return sweep.warm_up() > 0 ? " after the warm-up" : "";
}

// Why no window could be judged.
std::string NoWindowText(const v1::Sweep& sweep, const RoundsState& state) {
  const v1::SteadyRounds& rule = sweep.until_steady();
  if (state.rounds < rule.window()) {
    return absl::StrFormat("%d complete %s%s, %d are needed", state.rounds,
                           state.rounds == 1 ? "round" : "rounds", AfterWarmUp(sweep),
                           rule.window());
  }
  return absl::StrFormat("no %d rounds in a row have the %s of each tracked point", rule.window(),
                         NameOf(rule.figure()));
}

std::string EndOfRoundsText(const v1::Sweep& sweep, const RoundsState& state) {
  const v1::SteadyRounds& rule = sweep.until_steady();
  if (!state.window) {
    return absl::StrCat("not known to be steady (", NoWindowText(sweep, state),
                        "); the figures are of all rounds", AfterWarmUp(sweep));
  }
  if (!state.steady) {
    return absl::StrFormat("not steady after %d rounds; the figures of all points are of %s",
                           state.rounds, WindowText(*state.window));
  }
  const bool one = state.tracked.size() == 1;
  const std::string of = one ? FigureOfPoint(rule, state.tracked[0])
                             : absl::StrFormat("%s of the %d tracked points", NameOf(rule.figure()),
                                               state.tracked.size());
  return absl::StrFormat(
      "steady from round %d on: in %s the %s %s; the figures of all points are of these rounds",
      state.window->first + 1, WindowText(*state.window), of,
      VariedText(rule, LargestRange(state), LargestSlope(state), one ? "" : "at most "));
}

std::string WarningText(const v1::Sweep& sweep, const RoundsState& state) {
  const v1::SteadyRounds& rule = sweep.until_steady();
  if (!state.window) return absl::StrCat("NOT KNOWN TO BE STEADY: ", NoWindowText(sweep, state));
  // The point that is farthest beyond one of its limits.
  const auto excess = [&](const Tracked& t) {
    return std::max(t.variation.range / rule.range_ratio(), t.variation.slope / rule.slope_ratio());
  };
  const auto worst =
      std::max_element(state.tracked.begin(), state.tracked.end(),
                       [&](const Tracked& a, const Tracked& b) { return excess(a) < excess(b); });
  const auto others = std::count_if(state.tracked.begin(), state.tracked.end(),
                                    [](const Tracked& t) { return !t.steady; }) -
                      1;
  return absl::StrCat(
      "NOT STEADY: in ", WindowText(*state.window), " the ", FigureOfPoint(rule, *worst), " ",
      VariedText(rule, worst->variation.range, worst->variation.slope, ""),
      others == 0 ? ""
                  : absl::StrFormat("; %d more of the %d tracked points %s not steady either",
                                    others, state.tracked.size(), others == 1 ? "is" : "are"));
}

v1::Expectation ExpectationOf(const v1::SteadyRounds& rule, const RoundsState& state) {
  v1::Expectation line;
  line.set_text(absl::StrFormat("rounds steady within %.3g %%, slope %.3g %%",
                                100 * rule.range_ratio(), 100 * rule.slope_ratio()));
  line.set_found(state.window ? absl::StrFormat("%.1f %%, slope %.1f %%", 100 * LargestRange(state),
                                                100 * LargestSlope(state))
                 : state.rounds < rule.window() ? "too few rounds"
                                                : "not known");
  line.set_met(state.steady);
  return line;
}

v1::SteadyRoundsReport RoundsReportOf(const v1::SteadyRounds& rule, const RoundsState& state) {
  v1::SteadyRoundsReport report;
  report.set_steady(state.steady);
  report.set_figure(NameOf(rule.figure()));
  report.set_unit(Text(UnitOf(rule.figure())));
  report.set_rounds(state.rounds);
  report.set_window(rule.window());
  if (state.window) {
    report.set_first_round(state.window->first + 1);
    report.set_last_round(state.window->last + 1);
  }
  report.set_range_limit(rule.range_ratio());
  report.set_slope_limit(rule.slope_ratio());
  for (const Tracked& tracked : state.tracked) {
    v1::TrackedPointReport* point = report.add_points();
    point->set_point(tracked.point);
    point->set_steady(tracked.steady);
    for (const double value : tracked.values) {
      point->add_values_by_round(value > 0 ? value : std::numeric_limits<double>::quiet_NaN());
    }
    if (!state.window) continue;
    point->set_mean(tracked.variation.mean);
    point->set_range(tracked.variation.range);
    point->set_slope(tracked.variation.slope);
  }
  return report;
}

}  // namespace

std::vector<StepResult> ResultsOf(const measure::RunData& data, uint32_t job_phase) {
  std::vector<StepResult> results;
  for (const measure::PhaseData& phase : data.phases) {
    if (phase.phase.job_phase != job_phase) continue;
    results.push_back({job_phase, phase.phase.step, phase.phase.name,
                       phase.phase.state == measure::PhaseState::kDone, phase.phase.figures});
  }
  return results;
}

CountedRounds CountedRoundsOf(const measure::RunData& data, uint32_t job_phase) {
  const v1::Sweep& sweep = data.run.job.phases(static_cast<int>(job_phase)).run().sweep();
  CountedRounds counted;
  counted.window.first = sweep.warm_up();
  if (!sweep.has_until_steady()) return counted;
  // The report asks the same function that decided on further rounds, so that both agree.
  counted.state = StateOfRounds(sweep, ResultsOf(data, job_phase));
  if (counted.state.window) counted.window = *counted.state.window;
  return counted;
}

void AddSteadyRounds(const measure::RunData& data, uint32_t job_phase, const RoundsState& state,
                     v1::SweepReport* sweep, v1::Report* report) {
  const v1::RunPhase& load = data.run.job.phases(static_cast<int>(job_phase)).run();
  if (!load.sweep().has_until_steady()) return;
  const v1::SteadyRounds& rule = load.sweep().until_steady();
  *sweep->mutable_steady_rounds() = RoundsReportOf(rule, state);
  // A sweep that still runs may become steady later.
  const bool goes_on = !state.steady && !IsOver(data.run.state) &&
                       load.sweep().warm_up() + state.rounds < load.sweep().repeat();
  if (goes_on) return;
  sweep->set_ended(EndOfRoundsText(load.sweep(), state));
  v1::PhaseReport* last = nullptr;
  for (int i = 0; i < report->phases_size() && i < static_cast<int>(data.phases.size()); ++i) {
    const measure::PhaseRecord& phase = data.phases[static_cast<size_t>(i)].phase;
    if (phase.job_phase == job_phase && phase.spec.has_run()) last = report->mutable_phases(i);
  }
  if (last == nullptr) return;
  if (!state.steady) last->add_remarks(WarningText(load.sweep(), state));
  if (load.expect().steady()) *last->add_expectations() = ExpectationOf(rule, state);
}

}  // namespace lockstep::controller
