// What did the steps of a curve come to, and where is the knee?

#include "controller/analysis/curves.h"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/units.h"
#include "controller/analysis/knee.h"
#include "controller/analysis/latency.h"
#include "controller/analysis/statistics.h"

namespace lockstep::controller {
namespace {

struct CurveStep {
  const v1::CurvePointReport* point = nullptr;
  // I/Os per second that were due and that were done, of the workloads that have a rate.
  double due = 0, done = 0;

  // A step of which this is not known is not held against it.
  double ServedShare() const { return due > 0 && point->has_achieved() ? done / due : 1; }
  std::string Load() const { return absl::StrFormat("%.4g %%", 100 * point->share()); }
};

void SetFigures(const v1::PhaseReport& phase, v1::CurvePointReport* point) {
  if (phase.total().has_iops()) point->set_achieved(phase.total().iops());
  if (phase.total().has_latency_avg_ns()) point->set_mean_ns(phase.total().latency_avg_ns());
  if (const double p50 = PercentileOf(phase.total(), 50); p50 > 0) point->set_p50_ns(p50);
  if (const double p99 = PercentileOf(phase.total(), 99); p99 > 0) point->set_p99_ns(p99);
  if (IsUncertain(phase.total(), 50)) point->set_is_p50_uncertain(true);
  if (IsUncertain(phase.total(), 99)) point->set_is_p99_uncertain(true);
}

CurveStep StepOfCurve(const v1::PhaseReport& phase, v1::CurvePointReport* point) {
  CurveStep step{point};
  for (const v1::WorkloadReport& w : phase.workloads()) {
    step.due += w.due_per_second();
    // Others beside it do whatever they can.
    if (w.due_per_second() > 0) step.done += w.total().iops();
  }
  point->set_offered(step.due);
  SetFigures(phase, point);
  return step;
}

// "80 ms at 100 %, of which 91 % is served"
std::string EndText(const CurveStep& end, bool is_served) {
  std::string text = common::FormatPercentile(end.point->p99_ns(), end.point->is_p99_uncertain());
  if (is_served) return text;
  absl::StrAppend(&text, absl::StrFormat(" at %s, of which %.0f %% is served", end.Load(),
                                         100 * end.ServedShare()));
  return text;
}

// Why the steps up to the end of the curve have no knee. `last`: the last one that is served, of
// all before an end that is not.
std::string WithoutKneeOf(const std::vector<CurveStep>& steps, size_t with_p99,
                          const CurveStep* last) {
  if (std::any_of(steps.begin(), steps.end(),
                  [](const CurveStep& step) { return !step.point->has_achieved(); })) {
    return "no knee: some steps were not measured";
  }
  if (with_p99 != steps.size()) return "no knee: some steps have too few I/Os for a p99";
  if (last == nullptr) {
    return steps.size() < kMinKneePoints
               ? absl::StrCat("no knee: ", steps.size(), " steps are too few, ", kMinKneePoints,
                              " are needed")
               : "no knee: the p99 does not clearly bend";
  }
  return absl::StrCat(
      "no knee: ",
      steps.size() < kMinKneePoints
          ? absl::StrCat(steps.size(), " steps up to ", steps.back().Load(),
                         ", the first that is not served, are too few, ", kMinKneePoints,
                         " are needed")
          : absl::StrCat("up to ", steps.back().Load(),
                         ", the first step that is not served, the p99 does not clearly bend"),
      "; ", last->Load(), " is the last that is served");
}

// The median of a figure of the steps that have it; 0 for none.
template <typename Figure>
double MedianOfSteps(std::span<const CurveStep> steps, const Figure& figure) {
  std::vector<double> values;
  for (const CurveStep& step : steps) {
    if (const double value = figure(step); value > 0) values.push_back(value);
  }
  return MedianOf(std::move(values));
}

// Steps of one share, as one of their medians. `point` is its own.
CurveStep MergedOf(std::span<const CurveStep> steps, v1::CurvePointReport* point) {
  point->set_share(steps.front().point->share());
  const double p99 = MedianOfSteps(steps, [](const CurveStep& s) { return s.point->p99_ns(); });
  if (p99 > 0) point->set_p99_ns(p99);
  for (const CurveStep& step : steps) {
    if (step.point->has_achieved()) {
      point->set_achieved(
          MedianOfSteps(steps, [](const CurveStep& s) { return s.point->achieved(); }));
    }
    if (step.point->is_p99_uncertain()) point->set_is_p99_uncertain(true);
  }
  // A step that was not measured did not do 0.
  std::vector<double> done;
  for (const CurveStep& step : steps) {
    if (step.point->has_achieved()) done.push_back(step.done);
  }
  return {point, MedianOfSteps(steps, [](const CurveStep& s) { return s.due; }),
          MedianOf(std::move(done))};
}

// Ascending, one of each share. The job may list its shares in any order, and repeat one.
std::vector<CurveStep> AscendingOf(std::vector<CurveStep> steps,
                                   std::deque<v1::CurvePointReport>* merged) {
  std::stable_sort(steps.begin(), steps.end(), [](const CurveStep& a, const CurveStep& b) {
    return a.point->share() < b.point->share();
  });
  std::vector<CurveStep> ascending;
  for (size_t begin = 0; begin < steps.size();) {
    size_t end = begin + 1;
    while (end < steps.size() && !(steps[end].point->share() > steps[begin].point->share())) ++end;
    ascending.push_back(end == begin + 1 ? steps[begin]
                                         : MergedOf(std::span(steps).subspan(begin, end - begin),
                                                    &merged->emplace_back()));
    begin = end;
  }
  return ascending;
}

void AddKnee(std::vector<CurveStep> all, v1::CurveReport* curve) {
  std::deque<v1::CurvePointReport> merged;  // whose addresses last
  std::vector<CurveStep> steps = AscendingOf(std::move(all), &merged);
  const auto unserved = std::find_if(steps.begin(), steps.end(), [](const CurveStep& step) {
    return step.ServedShare() < kServed;
  });
  if (!steps.empty() && unserved == steps.begin()) {
    curve->set_without_knee(absl::StrFormat(
        "no knee: not even %s of the load is served: %s of %s IOPS", unserved->Load(),
        common::FormatCount(unserved->done), common::FormatCount(unserved->due)));
    return;
  }
  // The latency of a rate that is not served is that of a queue, and grows as long as the step
  // runs. The first such step shows where the latency rises to; those after it would only make all
  // that is served look flat.
  const bool is_served = unserved == steps.end();
  if (!is_served) steps.erase(unserved + 1, steps.end());
  std::vector<double> x;
  std::vector<double> y;
  for (const CurveStep& step : steps) {
    if (!(step.point->achieved() > 0) || !(step.point->p99_ns() > 0)) continue;
    x.push_back(step.point->share());
    y.push_back(step.point->p99_ns());
  }
  // A knee is an index into x. If a step was left out above, x's index is not that of its point.
  const auto found = x.size() == steps.size() ? KneeOfCost(x, y) : std::nullopt;
  if (!found) {
    const CurveStep* last = is_served ? nullptr : &steps[steps.size() - 2];
    curve->set_without_knee(WithoutKneeOf(steps, x.size(), last));
    return;
  }
  const CurveStep& step = steps[*found];
  v1::KneeReport* knee = curve->mutable_knee();
  knee->set_of("offered load");
  knee->set_value(step.Load());
  knee->set_iops(step.point->achieved());
  knee->set_p99_ns(step.point->p99_ns());
  if (step.point->is_p99_uncertain()) knee->set_is_p99_uncertain(true);
  knee->set_reason(absl::StrFormat(
      "up to %s of the load (%s IOPS) the p99 is %s; beyond it rises to %s", knee->value(),
      common::FormatCount(step.point->achieved()),
      common::FormatPercentile(step.point->p99_ns(), step.point->is_p99_uncertain()),
      EndText(steps.back(), is_served)));
}

}  // namespace

void AddCurve(const measure::RunData& data, uint32_t job_phase, v1::Report* report) {
  const v1::PhaseSpec& spec = data.run.job.phases(static_cast<int>(job_phase));
  v1::CurveReport curve;
  curve.set_phase(spec.name());
  std::vector<CurveStep> steps;
  for (size_t i = 0; i < data.phases.size(); ++i) {
    const measure::PhaseRecord& record = data.phases[i].phase;
    if (record.job_phase != job_phase || static_cast<int>(i) >= report->phases_size() ||
        static_cast<int>(record.step) >= spec.run().curve().share_ratio_size()) {
      continue;
    }
    v1::CurvePointReport* point = curve.add_points();
    point->set_share(spec.run().curve().share_ratio(static_cast<int>(record.step)));
    point->set_phase(record.phase);
    steps.push_back(StepOfCurve(report->phases(static_cast<int>(i)), point));
  }
  AddKnee(std::move(steps), &curve);
  *report->add_curves() = std::move(curve);
}

}  // namespace lockstep::controller
