#include "controller/analysis/sweep_points.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_join.h"
#include "controller/analysis/fairness.h"
#include "controller/analysis/latency.h"
#include "controller/analysis/limit_names.h"
#include "controller/analysis/phase_view.h"
#include "controller/analysis/statistics.h"
#include "measure/states.h"

namespace lockstep::controller {
namespace {

// The limits of the phase's workloads, each once.
std::string LimitOf(const v1::PhaseReport& phase) {
  std::vector<std::string> limits;
  for (const v1::WorkloadReport& workload : phase.workloads()) {
    const std::string& limit = workload.limited_by();
    const bool is_new = std::find(limits.begin(), limits.end(), limit) == limits.end();
    if (!limit.empty() && is_new) limits.push_back(limit);
  }
  return absl::StrJoin(limits, ", ");
}

// The median of each figure over the runs that have it.
v1::TimeSpent MedianTimeOf(const std::vector<v1::TimeSpent>& runs) {
  v1::TimeSpent median;
  // By reflection, so that a figure that is added to the message is not forgotten here.
  const auto* reflection = v1::TimeSpent::GetReflection();
  for (int f = 0; f < v1::TimeSpent::GetDescriptor()->field_count(); ++f) {
    const google::protobuf::FieldDescriptor* field = v1::TimeSpent::GetDescriptor()->field(f);
    std::vector<double> values;
    for (const v1::TimeSpent& run : runs) {
      if (reflection->HasField(run, field)) values.push_back(reflection->GetDouble(run, field));
    }
    if (!values.empty()) reflection->SetDouble(&median, field, MedianOf(values));
  }
  return median;
}

}  // namespace

void AddRun(const v1::PhaseReport& phase, const v1::RunPhase& load, const SweepPoint& point,
            const RoundWindow& counted, RunsOfPoint* runs) {
  runs->phases.push_back(phase.index());
  for (const v1::Workload& w : load.workloads()) {
    runs->ramps = runs->ramps || HasChangingRate(w);
  }
  // A run that only warms up, came before the rounds were steady, was cut, lost hosts, or ended in
  // its ramp, measured something else than the point's load. Its phase is listed, and its figures
  // are left out.
  if (!counted.Has(point.repeat) || !measure::Is(phase, measure::PhaseState::kDone) ||
      phase.invalid() || phase.workers_lost() != 0 || !phase.total().has_iops())
    return;
  runs->iops.push_back(phase.total().iops());
  runs->bytes.push_back(phase.total().bytes_per_second());
  if (phase.total().has_latency_avg_ns()) runs->mean.push_back(phase.total().latency_avg_ns());
  // A run with too few I/Os for a percentile has none to contribute.
  if (const double p50 = PercentileOf(phase.total(), 50); p50 > 0) runs->p50.push_back(p50);
  const double p99 = PercentileOf(phase.total(), 99);
  if (p99 > 0) runs->p99.push_back(p99);
  runs->is_p50_uncertain = runs->is_p50_uncertain || IsUncertain(phase.total(), 50);
  runs->is_p99_uncertain = runs->is_p99_uncertain || IsUncertain(phase.total(), 99);
  runs->rounds.push_back(
      {point.repeat, phase.total().iops(), phase.total().bytes_per_second(), p99});
  if (!point.values.empty()) {
    const auto& [field, value] = point.values.back();
    const std::optional<RateAxis> axis = RateAxisOf(field);
    const auto served = axis ? ServedRateOf(*axis, value, phase) : std::nullopt;
    if (served) runs->served.push_back(*served);
  }
  if (!phase.fairness().empty() && phase.fairness(0).has_jain()) {
    runs->jain.push_back(phase.fairness(0).jain());
  }
  const v1::Fairness over_threads = FairnessOf("", ThreadRatesOf(phase));
  if (over_threads.has_jain()) runs->thread_jain.push_back(over_threads.jain());
  if (phase.has_time_spent()) runs->spent.push_back(phase.time_spent());
  runs->limits.push_back(LimitOf(phase));
}

v1::SweepPointReport SweepPointOf(const std::vector<uint32_t>& indices, const RunsOfPoint& runs) {
  v1::SweepPointReport point;
  point.mutable_indices()->Assign(indices.begin(), indices.end());
  point.mutable_phases()->Assign(runs.phases.begin(), runs.phases.end());
  point.set_runs(static_cast<uint32_t>(runs.iops.size()));
  if (runs.iops.empty()) return point;
  // One disturbed run of three does not move a median.
  point.set_iops(MedianOf(runs.iops));
  point.set_bytes_per_second(MedianOf(runs.bytes));
  if (!runs.mean.empty()) point.set_mean_ns(MedianOf(runs.mean));
  if (!runs.p50.empty()) point.set_p50_ns(MedianOf(runs.p50));
  if (!runs.p99.empty()) {
    point.set_p99_ns(MedianOf(runs.p99));
    const auto [least, most] = std::minmax_element(runs.p99.begin(), runs.p99.end());
    point.set_p99_min_ns(*least);
    point.set_p99_max_ns(*most);
    if (const auto interval = MedianInterval(runs.p99)) {
      point.set_p99_low_ns(interval->low);
      point.set_p99_high_ns(interval->high);
    }
  }
  if (runs.is_p50_uncertain) point.set_is_p50_uncertain(true);
  if (runs.is_p99_uncertain) point.set_is_p99_uncertain(true);
  if (!runs.jain.empty()) point.set_jain(MedianOf(runs.jain));
  if (!runs.thread_jain.empty()) point.set_thread_jain(MedianOf(runs.thread_jain));
  if (!runs.spent.empty()) *point.mutable_time_spent() = MedianTimeOf(runs.spent);
  point.set_limited_by(LimitNames(runs.limits));
  const auto [least, most] = std::minmax_element(runs.iops.begin(), runs.iops.end());
  point.set_iops_min(*least);
  point.set_iops_max(*most);
  if (const auto interval = MedianInterval(runs.iops)) {
    point.set_iops_low(interval->low);
    point.set_iops_high(interval->high);
  }
  return point;
}

}  // namespace lockstep::controller
