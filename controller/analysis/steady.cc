// Was the load steady, and when?

#include "absl/strings/str_format.h"
#include "controller/analysis/analysis.h"
#include "measure/report_states.h"

namespace lockstep::controller {
namespace {

struct Named {
  std::string figure;
  measure::Unit unit;
};

Named NamedBy(const v1::SteadyState& rule) {
  switch (rule.figure()) {
    case v1::STEADY_FIGURE_THROUGHPUT:
      return {"throughput", measure::Unit::kBytesPerSecond};
    case v1::STEADY_FIGURE_MEAN:
      return {"mean latency", measure::Unit::kNanoseconds};
    case v1::STEADY_FIGURE_PERCENTILE:
      return {absl::StrFormat("p%g", rule.percent()), measure::Unit::kNanoseconds};
    default:
      return {"IOPS", measure::Unit::kPerSecond};
  }
}

void AddSteady(const PhaseView& view, v1::PhaseReport* report) {
  if (view.steady() == nullptr) return;
  const v1::SteadyState& rule = view.load().until_steady();
  const measure::SteadyState::Verdict& verdict = *view.steady();
  const Named named = NamedBy(rule);
  v1::SteadyReport* out = report->mutable_steady();
  out->set_steady(verdict.steady);
  out->set_figure(named.figure);
  out->set_unit(Text(named.unit));
  out->set_rounds(verdict.rounds);
  out->set_window(rule.window());
  out->set_round_seconds(static_cast<double>(rule.round_ns()) / 1e9);
  out->set_begin_seconds(verdict.begin_seconds);
  out->set_end_seconds(verdict.end_seconds);
  out->set_mean(verdict.fleet.mean);
  out->set_range(verdict.fleet.range);
  out->set_slope(verdict.fleet.slope);
  out->set_range_limit(rule.range_ratio());
  out->set_slope_limit(rule.slope_ratio());
  // With each_host one host decides. Without its name nobody could look for the cause.
  if (verdict.worst_worker) {
    out->set_worst_host(view.HostOf(*verdict.worst_worker));
    out->set_worst_range(verdict.worst.range);
    out->set_worst_slope(verdict.worst.slope);
  }
  for (const double value : verdict.values) out->add_values(value);
  // A load that still runs may become steady later.
  if (!verdict.steady && view.phase().phase.state != measure::PhaseState::kRunning) {
    report->add_remarks(
        verdict.rounds < rule.window()
            ? absl::StrFormat("NOT KNOWN TO BE STEADY: %d whole rounds, %d are needed",
                              verdict.rounds, rule.window())
        : !(verdict.fleet.mean > 0)
            ? absl::StrFormat("NOT KNOWN TO BE STEADY: no %d rounds in a row all have a value of "
                              "%s; too few I/Os, or intervals are missing",
                              rule.window(), named.figure)
            : absl::StrFormat("NOT STEADY: over the last %d rounds %s varied by %.1f %% (limit "
                              "%.3g %%), the fitted line by %.1f %% (limit %.3g %%)",
                              rule.window(), named.figure, 100 * verdict.fleet.range,
                              100 * rule.range_ratio(), 100 * verdict.fleet.slope,
                              100 * rule.slope_ratio()));
  }
}

const RegisterAnalysis kSteadyRegistered(order::kSteady, "steady", &AddSteady);

}  // namespace
}  // namespace lockstep::controller
