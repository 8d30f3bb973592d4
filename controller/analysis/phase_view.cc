#include "controller/analysis/phase_view.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/units.h"
#include "controller/analysis/latency.h"
#include "controller/plan/loads.h"
#include "controller/plan/observes.h"

namespace lockstep::controller {

PhaseView::PhaseView(const measure::RunData& data, const measure::PhaseData& phase,
                     const measure::PhaseSeries& series,
                     const measure::SteadyState::Verdict* steady)
    : data_(data),
      phase_(phase),
      series_(series),
      load_(LoadOf(data.run.job, phase.phase.spec)),
      observe_(ObserveIndexOf(data.run.job, phase.phase.spec)),
      steady_(steady) {}

const measure::RunWorker* PhaseView::WorkerOf(uint32_t index) const {
  const std::vector<measure::RunWorker>& workers = data_.workers;
  // They stand in the order of their numbers. Analyses ask of each worker for each other one.
  if (index < workers.size() && workers[index].worker_index == index) return &workers[index];
  const auto found = std::find_if(workers.begin(), workers.end(),
                                  [&](const auto& worker) { return worker.worker_index == index; });
  return found == workers.end() ? nullptr : &*found;
}

std::string PhaseView::HostOf(uint32_t index) const {
  const measure::RunWorker* worker = WorkerOf(index);
  return worker == nullptr ? absl::StrCat("worker ", index) : worker->host;
}

const v1::PhaseResult* PhaseView::ResultOf(uint32_t index) const {
  const std::vector<measure::WorkerPhaseData>& workers = phase_.workers;
  // As in WorkerOf(), unless a worker was lost.
  if (index < workers.size() && workers[index].worker_index == index) return &workers[index].result;
  const auto found = std::find_if(workers.begin(), workers.end(),
                                  [&](const auto& worker) { return worker.worker_index == index; });
  return found == workers.end() ? nullptr : &found->result;
}

std::optional<double> PhaseView::FactOf(uint32_t index, const std::string& fact) const {
  const auto of_worker = [&](uint32_t worker) -> std::optional<double> {
    const auto facts = data_.environment.find(worker);
    if (facts == data_.environment.end()) return std::nullopt;
    const auto found = facts->second.find(fact);
    double value = 0;
    if (found == facts->second.end() || !absl::SimpleAtod(found->second, &value)) {
      return std::nullopt;
    }
    return value;
  };
  if (const auto value = of_worker(index)) return value;
  // Another worker of the same kernel may have described what this one has not.
  const measure::RunWorker* self = WorkerOf(index);
  if (self == nullptr) return std::nullopt;
  for (const measure::RunWorker& worker : data_.workers) {
    if (worker.boot_id != self->boot_id) continue;
    if (const auto value = of_worker(worker.worker_index)) return value;
  }
  return std::nullopt;
}

std::vector<const measure::RunWorker*> PhaseView::Absent() const {
  std::vector<const measure::RunWorker*> absent;
  for (const measure::RunWorker& worker : data_.workers) {
    const bool there = std::any_of(
        phase_.workers.begin(), phase_.workers.end(),
        [&](const measure::WorkerPhaseData& w) { return w.worker_index == worker.worker_index; });
    if (!there) absent.push_back(&worker);
  }
  return absent;
}

const v1::ObservedDevices* PhaseView::ObservedBy(const measure::RunWorker& worker) const {
  const bool is_known = observe_ >= 0 && observe_ < worker.inspection.observed_size();
  return is_known ? &worker.inspection.observed(observe_) : nullptr;
}

int64_t PhaseView::BeginNs(uint32_t workload) const {
  const auto index = static_cast<int>(workload);
  return index < load_.workloads_size() ? load_.workloads(index).start_delay_ns() : 0;
}

bool PhaseView::IsSynthetic() const {
  return std::any_of(
      data_.workers.begin(), data_.workers.end(),
      [](const measure::RunWorker& worker) { return worker.inspection.synthetic(); });
}

bool PhaseView::HasMeasuredUsage() const {
  return std::all_of(phase_.workers.begin(), phase_.workers.end(),
                     [](const measure::WorkerPhaseData& worker) {
                       return !worker.has_result || worker.result.usage_is_measured();
                     });
}

double PhaseView::SampledSeconds(const measure::WorkerPhaseData& worker) const {
  // How much longer the counters of a load are that ended by itself: the worker reads them 4 ms
  // before T, and looks every 20 ms whether its threads are done.
  constexpr double kBesides = 0.024;
  const double told = static_cast<double>(worker.result.sampled_ns()) / 1e9;
  // Lost workers and those of earlier versions tell nothing.
  return told > 0 ? told : series_.Of(worker.worker_index).measured_seconds + kBesides;
}

bool PhaseView::SamplesFit(const measure::WorkerPhaseData& worker) const {
  constexpr double kTolerance = 0.10;
  if (IsSynthetic()) return true;
  const double measured = series_.Of(worker.worker_index).measured_seconds;
  return std::abs(SampledSeconds(worker) - measured) <= kTolerance * measured;
}

std::string PhaseView::WhySamplesDoNotFit(const measure::WorkerPhaseData& worker) const {
  const double measured = series_.Of(worker.worker_index).measured_seconds;
  return absl::StrCat("the counters are of ", common::FormatDuration(SampledSeconds(worker) * 1e9),
                      ", the measured time of ", common::FormatDuration(measured * 1e9));
}

bool PhaseView::HasNullTarget(const v1::Workload& workload) const {
  // A null target stands alone (workload_rules.cc), so the first target speaks for all.
  const int target =
      workload.targets().empty() ? -1 : FindTarget(data_.run.job, workload.targets(0));
  return target >= 0 && data_.run.job.targets(target).has_null();
}

double PhaseView::SecondsOf(const measure::CommonWindow& window) const {
  if (!window.empty()) return window.seconds();
  // If the load ended in its ramp, this is not positive, and WithRate() sets no rates.
  const auto end_ns = static_cast<int64_t>(DoneOf(phase_).last_seconds * 1e9);
  // A load may have ended in its ramp.
  return std::max(0.0, static_cast<double>(end_ns - phase_.phase.ramp_ns) / 1e9);
}

bool PhaseView::EndedInRamp(const v1::WorkloadResult& part) const {
  return part.ended_ns() > 0 && part.ended_ns() <= phase_.phase.ramp_ns;
}

bool PhaseView::EndedInRamp(const measure::WorkerPhaseData& worker) const {
  return !worker.result.workloads().empty() &&
         std::all_of(worker.result.workloads().begin(), worker.result.workloads().end(),
                     [&](const v1::WorkloadResult& part) { return EndedInRamp(part); });
}

bool PhaseView::EndedInRamp(uint32_t workload) const {
  bool any = false;
  for (const measure::WorkerPhaseData& worker : phase_.workers) {
    for (const v1::WorkloadResult& result : worker.result.workloads()) {
      if (result.workload() != workload) continue;
      if (!EndedInRamp(result)) return false;
      any = true;
    }
  }
  return any;
}

double PhaseView::PointsBeginSeconds() const {
  double begin = std::numeric_limits<double>::infinity();
  for (const measure::WorkerPhaseData& worker : phase_.workers) {
    begin = std::min(begin, series_.Of(worker.worker_index).first_measured_seconds);
  }
  return begin;
}

std::vector<double> PhaseView::PointsOf(const measure::WorkerSeries& worker,
                                        const measure::RateSeries& rates,
                                        double begin_seconds) const {
  std::vector<double> points = rates.Points();
  const double interval = static_cast<double>(phase_.phase.interval_ns) / 1e9;
  const double late = worker.first_measured_seconds - begin_seconds;
  if (points.empty() || !(interval > 0) || !(late > interval / 2)) return points;
  constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
  const auto missing = static_cast<size_t>(std::llround(late / interval));
  const size_t step = rates.step();
  const size_t within = missing % step;  // intervals of the point in which it begins
  std::vector<double> aligned(missing / step + (within > 0 ? 1 : 0), kUnknown);
  if (within == 0) {
    aligned.insert(aligned.end(), points.begin(), points.end());
    return aligned;
  }
  // Its points are means over intervals of two of the phase's each: a mean of both, by the
  // intervals that are the phase's point's, is as good. Without them one host that is late would
  // leave the whole fleet without a series.
  const double own = worker.last_measured_seconds - worker.first_measured_seconds;
  const auto measured = static_cast<size_t>(std::llround(std::max(0.0, own) / interval));
  const size_t size = (missing + measured + step - 1) / step;
  const double share = static_cast<double>(within) / static_cast<double>(step);
  for (size_t i = 0; i < points.size() && aligned.size() < size; ++i) {
    const double next = i + 1 < points.size() ? points[i + 1] : points[i];
    aligned.push_back(share * points[i] + (1 - share) * next);
  }
  return aligned;
}

double PhaseView::LastMeasuredSeconds() const {
  double last = 0;
  for (const measure::WorkerPhaseData& worker : phase_.workers) {
    last = std::max(last, series_.Of(worker.worker_index).last_measured_seconds);
  }
  return last;
}

bool PhaseView::NeverBegan(uint32_t workload) const {
  const int64_t begin_ns = BeginNs(workload);
  return begin_ns > 0 && static_cast<double>(begin_ns) / 1e9 >= LastMeasuredSeconds();
}

double PhaseView::WorkloadSeconds(uint32_t workload) const {
  // Over the time of the others its rate would be 0, as if it had stood still.
  if (NeverBegan(workload) || EndedInRamp(workload)) return 0;
  return SecondsOf(series_.WindowOf(workload));
}

std::map<measure::WorkloadKind, measure::IoSums> PhaseView::CountsIn(
    const measure::CommonWindow& window, uint32_t worker) const {
  // The sums must be of the time that SecondsOf() returns, so both fall back in the same case.
  return window.empty() ? series_.Of(worker).Measured() : window.Of(worker);
}

Done DoneOf(const measure::PhaseData& phase) {
  Done done;
  for (const measure::WorkerPhaseData& worker : phase.workers) {
    if (!PhaseView::Worked(worker)) continue;
    const double seconds = PhaseView::DoneSeconds(worker);
    done.first_seconds = done.any ? std::min(done.first_seconds, seconds) : seconds;
    done.last_seconds = std::max(done.last_seconds, seconds);
    done.any = true;
  }
  return done;
}

void SetKindRates(const std::map<measure::WorkloadKind, measure::IoSums>& sums, double seconds,
                  google::protobuf::RepeatedPtrField<v1::KindRate>* rates) {
  std::map<v1::OperationKind, measure::IoSums> kinds;
  for (const auto& [key, sum] : sums) kinds[key.second].Add(sum);
  for (const auto& [kind, sum] : kinds) {
    v1::KindRate* rate = rates->Add();
    rate->set_kind(KindText(kind));
    rate->set_iops(static_cast<double>(sum.operations) / seconds);
    rate->set_bytes_per_second(static_cast<double>(sum.bytes) / seconds);
  }
}

measure::IoSums IosOf(const std::map<measure::WorkloadKind, measure::IoSums>& sums) {
  measure::IoSums ios;
  for (const auto& [key, sum] : sums) {
    if (measure::IsIo(key.second)) ios.Add(sum);
  }
  return ios;
}

v1::OperationReport WithRate(v1::OperationReport report, const measure::IoSums& sums,
                             double seconds) {
  if (seconds <= 0) return report;
  report.set_iops(static_cast<double>(sums.operations) / seconds);
  report.set_bytes_per_second(static_cast<double>(sums.bytes) / seconds);
  return report;
}

}  // namespace lockstep::controller
