#include "controller/analysis/trends.h"

#include <map>
#include <string>
#include <utility>

#include "controller/analysis/figure_table.h"
#include "controller/analysis/statistics.h"
#include "measure/report_states.h"

namespace lockstep::controller {

std::vector<v1::Trend> TrendsOf(const std::vector<v1::RunFigures>& runs) {
  std::map<std::pair<std::string, FigureKey>, v1::Trend> trends;  // by job
  // Phases of different jobs may have one name, so each job has an order of its own.
  std::map<std::string, PhaseOrder> orders;
  for (const v1::RunFigures& run : runs) {
    if (!WhyLeftOut(run).empty()) continue;
    PhaseOrder& order = orders[run.run().job_name()];
    std::map<uint32_t, std::string> limits;
    for (const v1::PhaseOfRun& phase : run.phases()) limits[phase.index()] = phase.limited_by();
    for (const auto& [key, value] : FiguresOf(run)) {
      v1::TrendPoint* point = trends[{run.run().job_name(), order.Of(key)}].add_points();
      point->set_run_id(run.run().run_id());
      point->set_submitted_at(run.run().submitted_at());
      point->set_value(value);
      const bool is_whole = key.workload.empty() && kFigures[key.figure].id == FigureId::kIops;
      if (is_whole) point->set_limited_by(limits[key.phase_index]);
    }
  }
  std::vector<v1::Trend> result;
  for (auto& [of, trend] : trends) {
    const auto& [job, key] = of;
    if (trend.points_size() < 2) continue;
    trend.set_job(job);
    trend.set_phase(key.phase);
    trend.set_workload(key.workload);
    trend.set_kind(key.kind);
    trend.set_figure(kFigures[key.figure].name);
    const auto unit = kFigures[key.figure].unit;
    if (unit) trend.set_unit(Text(*unit));
    trend.set_direction(kFigures[key.figure].direction);
    std::vector<double> series;
    for (const v1::TrendPoint& point : trend.points()) series.push_back(point.value());
    if (kFigures[key.figure].role == FigureRole::kExplains && IsNothing(series)) continue;
    for (const ChangeAt& change : ChangesIn(series)) {
      v1::ChangePoint* out = trend.add_changes();
      out->set_index(static_cast<uint32_t>(change.index));
      out->set_mean_before(change.mean_before);
      out->set_mean_after(change.mean_after);
      out->set_p_value(change.p_value);
    }
    result.push_back(std::move(trend));
  }
  return result;
}

}  // namespace lockstep::controller
