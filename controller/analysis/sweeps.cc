// What did the points of a sweep come to?

#include "controller/analysis/sweeps.h"

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "common/units.h"
#include "controller/analysis/curves.h"
#include "controller/analysis/sweep_axes.h"
#include "controller/analysis/sweep_conclusion.h"
#include "controller/analysis/sweep_knees.h"
#include "controller/analysis/sweep_points.h"
#include "controller/analysis/sweep_remarks.h"
#include "controller/analysis/sweep_rounds.h"
#include "controller/analysis/swept_targets.h"
#include "controller/plan/repetition.h"
#include "controller/plan/sweep.h"
#include "measure/states.h"

namespace lockstep::controller {
namespace {

// How the repetitions ended, where the job says until when they go on.
std::string EndOfRepetitions(const measure::RunData& data, uint32_t job_phase,
                             const v1::Sweep& sweep) {
  if (!sweep.has_until()) return "";
  // The report asks the same function that decided on further repetitions, so that both agree.
  const RepetitionState state = StateOfRepetitions(sweep, ResultsOf(data, job_phase));
  if (state.repetitions < 2 || !std::isfinite(state.margin_ratio))
    return "too few of them to know how well the figures are known";
  return absl::StrFormat(
      "%d, the mean %s of every point is known to ±%.2g %% (95 %%), asked for was ±%.3g %%%s",
      state.repetitions, NameOf(sweep.until().figure()), 100 * state.margin_ratio,
      100 * sweep.until().within_ratio(),
      state.enough ? "" : ": not reached within the limit of the repetitions");
}

// Says which point ended the sweep, if one did. `points` are in the order in which they ran.
void AddStop(const v1::Sweep& sweep, const RunsByPoint& points, v1::SweepReport* report) {
  if (sweep.stop_at_iops() <= 0 || points.empty()) return;
  const auto& [indices, runs] = *points.rbegin();
  const v1::SweepAxis& axis = sweep.axes(0);
  const int left = axis.values_size() - static_cast<int>(indices[0]) - 1;
  if (runs.iops.empty() || runs.iops[0] > sweep.stop_at_iops() || left == 0) return;
  report->add_remarks(absl::StrFormat(
      "ended by stop_at_iops: %s=%s reached %s IOPS, and at most %s end the sweep; %d %s left out",
      axis.field(), axis.values(static_cast<int>(indices[0])), common::FormatCount(runs.iops[0]),
      common::FormatCount(sweep.stop_at_iops()), left, left == 1 ? "point was" : "points were"));
}

// The runs of the sweep's points. Those of other rounds are listed and count for nothing.
RunsByPoint RunsInRoundsOf(const measure::RunData& data, uint32_t job_phase,
                           const RoundWindow& counted, const v1::Report& report) {
  const v1::RunPhase& load = data.run.job.phases(static_cast<int>(job_phase)).run();
  RunsByPoint points;
  SweepSteps steps(load.sweep());
  for (size_t i = 0; i < data.phases.size(); ++i) {
    const measure::PhaseRecord& phase = data.phases[i].phase;
    if (phase.job_phase != job_phase || static_cast<int>(i) >= report.phases_size()) continue;
    const auto& [kind, point] = steps.At(phase.step);
    if (kind != StepKind::kRun) continue;
    AddRun(report.phases(static_cast<int>(i)), load, point, counted, &points[point.indices]);
  }
  return points;
}

}  // namespace

void AddSweeps(const measure::RunData& data, v1::Report* report) {
  const v1::JobSpec& job = data.run.job;
  for (int p = 0; p < job.phases_size(); ++p) {
    const v1::PhaseSpec& spec = job.phases(p);
    if (spec.run().has_curve()) AddCurve(data, static_cast<uint32_t>(p), report);
    if (!spec.run().has_sweep()) continue;
    const auto job_phase = static_cast<uint32_t>(p);
    const CountedRounds counted = CountedRoundsOf(data, job_phase);
    const RunsByPoint points = RunsInRoundsOf(data, job_phase, counted.window, *report);
    v1::SweepReport* sweep = report->add_sweeps();
    sweep->set_phase(spec.name());
    for (const v1::SweepAxis& axis : spec.run().sweep().axes()) {
      v1::SweepAxisReport* out = sweep->add_axes();
      out->set_field(axis.field());
      *out->mutable_values() = axis.values();
      const std::vector<double> numbers = OrderedValuesOf(axis);
      out->mutable_numbers()->Assign(numbers.begin(), numbers.end());
    }
    std::vector<std::vector<RoundFigures>> rounds;
    for (const auto& [indices, runs] : points) {
      *sweep->add_points() = SweepPointOf(indices, runs);
      rounds.push_back(runs.rounds);
    }
    sweep->set_warm_up(spec.run().sweep().warm_up());
    sweep->set_ended(EndOfRepetitions(data, job_phase, spec.run().sweep()));
    AddSteadyRounds(data, job_phase, counted.state, sweep, report);
    AddKnees(points, sweep);
    AddConclusion(spec.run(), rounds, sweep);
    AddStop(spec.run().sweep(), points, sweep);
    AddSweepRemarks(sweep);
    AddBusyRemark(report->phases(), sweep);
    if (spec.run().sweep().group() == v1::SWEEP_GROUP_FILES) {
      sweep->add_remarks(
          "points with the same files ran one after the other on them (group: files): what the "
          "order has done to the files and what the axes do cannot be told apart");
    }
    AddSweptTargets(data, spec, sweep);
  }
}

}  // namespace lockstep::controller
