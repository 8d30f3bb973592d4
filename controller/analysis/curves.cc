// What did the steps of a curve come to, and where is the knee?

#include "controller/analysis/curves.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/units.h"
#include "controller/analysis/knee.h"
#include "controller/analysis/latency.h"

namespace lockstep::controller {

void AddCurve(const measure::RunData& data, uint32_t job_phase, v1::Report* report) {
  const v1::PhaseSpec& spec = data.run.job.phases(static_cast<int>(job_phase));
  v1::CurveReport curve;
  curve.set_phase(spec.name());
  for (size_t i = 0; i < data.phases.size(); ++i) {
    const measure::PhaseRecord& record = data.phases[i].phase;
    if (record.job_phase != job_phase || static_cast<int>(i) >= report->phases_size() ||
        static_cast<int>(record.step) >= spec.run().curve().share_ratio_size()) {
      continue;
    }
    const v1::PhaseReport& phase = report->phases(static_cast<int>(i));
    v1::CurvePointReport* point = curve.add_points();
    point->set_share(spec.run().curve().share_ratio(static_cast<int>(record.step)));
    for (const v1::WorkloadReport& w : phase.workloads()) {
      point->set_offered(point->offered() + w.due_per_second());
    }
    if (phase.total().has_iops()) point->set_achieved(phase.total().iops());
    if (phase.total().has_latency_avg_ns()) point->set_mean_ns(phase.total().latency_avg_ns());
    if (const double p50 = PercentileOf(phase.total(), 50); p50 > 0) point->set_p50_ns(p50);
    if (const double p99 = PercentileOf(phase.total(), 99); p99 > 0) point->set_p99_ns(p99);
    if (IsUncertain(phase.total(), 50)) point->set_is_p50_uncertain(true);
    if (IsUncertain(phase.total(), 99)) point->set_is_p99_uncertain(true);
    point->set_phase(record.phase);
  }
  std::vector<const v1::CurvePointReport*> points;
  for (const v1::CurvePointReport& point : curve.points()) points.push_back(&point);
  // The job may list its shares in any order, and a knee is found along ascending ones.
  std::stable_sort(points.begin(), points.end(),
                   [](const auto* a, const auto* b) { return a->share() < b->share(); });
  std::vector<double> x;
  std::vector<double> y;
  for (const v1::CurvePointReport* point : points) {
    if (!(point->achieved() > 0) || !(point->p99_ns() > 0) ||
        (!x.empty() && point->share() <= x.back()))
      continue;
    x.push_back(point->share());
    y.push_back(point->p99_ns());
  }
  // A knee is an index into x. If a step was left out above, x's index is not that of its point.
  if (const auto found = x.size() == points.size() ? KneeOfCost(x, y) : std::nullopt) {
    const v1::CurvePointReport& point = *points[*found];
    v1::KneeReport* knee = curve.mutable_knee();
    knee->set_of("offered load");
    knee->set_value(absl::StrFormat("%.4g %%", 100 * point.share()));
    knee->set_iops(point.achieved());
    knee->set_p99_ns(point.p99_ns());
    if (point.is_p99_uncertain()) knee->set_is_p99_uncertain(true);
    knee->set_reason(
        absl::StrFormat("up to %s of the load (%s IOPS) the p99 is %s; beyond it rises to %s",
                        knee->value(), common::FormatCount(point.achieved()),
                        common::FormatPercentile(point.p99_ns(), point.is_p99_uncertain()),
                        common::FormatPercentile(y.back(), points.back()->is_p99_uncertain())));
  } else if (std::any_of(points.begin(), points.end(),
                         [](const auto* point) { return !point->has_achieved(); })) {
    curve.set_without_knee("no knee: some steps were not measured");
  } else if (x.size() != points.size()) {
    curve.set_without_knee("no knee: some steps have too few I/Os for a p99");
  } else if (x.size() < kMinKneePoints) {
    curve.set_without_knee(
        absl::StrCat("no knee: ", x.size(), " steps are too few, ", kMinKneePoints, " are needed"));
  } else {
    curve.set_without_knee("no knee: the p99 does not clearly bend");
  }
  *report->add_curves() = std::move(curve);
}

}  // namespace lockstep::controller
