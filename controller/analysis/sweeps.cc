// What did the points of a sweep come to?

#include "controller/analysis/sweeps.h"

#include <algorithm>
#include <map>
#include <vector>

#include "controller/analysis/latency.h"
#include "controller/analysis/statistics.h"
#include "controller/plan/sweep.h"

namespace lockstep::controller {
namespace {

// The runs of one point, each figure by itself.
struct Runs {
  std::vector<double> iops, bytes, mean, p50, p99, jain;
  std::vector<uint32_t> phases;
};

void Add(const v1::PhaseReport& phase, Runs* runs) {
  runs->phases.push_back(phase.index());
  // One that was cut, or lost hosts, is no run of the point.
  if (phase.state() != "done" || phase.invalid() || phase.workers_lost() != 0) return;
  runs->iops.push_back(phase.total().iops());
  runs->bytes.push_back(phase.total().bytes_per_second());
  runs->mean.push_back(phase.total().latency_avg_ns());
  runs->p50.push_back(PercentileOf(phase.total(), 50));
  runs->p99.push_back(PercentileOf(phase.total(), 99));
  runs->jain.push_back(phase.fairness().empty() ? 0 : phase.fairness(0).jain());
}

v1::SweepPointReport PointOf(const std::vector<uint32_t>& indices, const Runs& runs) {
  v1::SweepPointReport point;
  point.mutable_indices()->Assign(indices.begin(), indices.end());
  point.mutable_phases()->Assign(runs.phases.begin(), runs.phases.end());
  point.set_runs(static_cast<uint32_t>(runs.iops.size()));
  if (runs.iops.empty()) return point;
  point.set_iops(MedianOf(runs.iops));
  point.set_bytes_per_second(MedianOf(runs.bytes));
  point.set_mean_ns(MedianOf(runs.mean));
  point.set_p50_ns(MedianOf(runs.p50));
  point.set_p99_ns(MedianOf(runs.p99));
  point.set_jain(MedianOf(runs.jain));
  const auto [least, most] = std::minmax_element(runs.iops.begin(), runs.iops.end());
  point.set_iops_least(*least);
  point.set_iops_most(*most);
  return point;
}

}  // namespace

void AddSweeps(const measure::RunData& data, v1::Report* report) {
  const v1::JobSpec& job = data.run.job;
  for (int p = 0; p < job.phases_size(); ++p) {
    const v1::PhaseSpec& spec = job.phases(p);
    if (!spec.run().has_sweep()) continue;
    std::map<std::vector<uint32_t>, Runs> points;
    for (size_t i = 0; i < data.phases.size(); ++i) {
      const measure::PhaseRecord& phase = data.phases[i].phase;
      if (phase.job_phase != static_cast<uint32_t>(p) ||
          static_cast<int>(i) >= report->phases_size()) {
        continue;
      }
      Add(report->phases(static_cast<int>(i)),
          &points[PointAt(spec.run().sweep(), phase.step).indices]);
    }
    v1::SweepReport* sweep = report->add_sweeps();
    sweep->set_phase(spec.name());
    for (const v1::SweepAxis& axis : spec.run().sweep().axes()) {
      v1::SweepAxisReport* out = sweep->add_axes();
      out->set_field(axis.field());
      *out->mutable_values() = axis.values();
    }
    for (const auto& [indices, runs] : points) *sweep->add_points() = PointOf(indices, runs);
  }
}

}  // namespace lockstep::controller
