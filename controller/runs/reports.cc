#include "controller/runs/reports.h"

#include <algorithm>
#include <limits>
#include <map>

#include "controller/analysis/fairness.h"
#include "controller/plan/loads.h"
#include "controller/report/conclusion.h"
#include "measure/phase_series.h"

namespace lockstep::controller {

ReadIntervals IntervalsOf(storage::Store* store, const std::string& run_id) {
  return [store, run_id](const measure::PhaseRecord& phase, WithIntervals with,
                         const TakeInterval& take) {
    return store->ReadIntervals(IdOf(run_id, phase), DetailOf(with), take);
  };
}

namespace {

// A phase's timeline out of its stored intervals, which come in their order.
absl::StatusOr<measure::Timeline> TimelineOf(storage::Store* store, const measure::RunData& data,
                                             const measure::PhaseData& phase) {
  const v1::RunPhase load = LoadOf(data.run.job, phase.phase.spec);
  const int64_t interval_ns = std::max<int64_t>(1, phase.phase.interval_ns);
  measure::PhaseSeries::Options options;
  options.workloads = std::numeric_limits<uint32_t>::max();  // checked when they came in
  options.keeps_timeline = true;
  // An interval without any I/O has no rows. Up to its last I/O, a worker was idle in the intervals
  // that are missing.
  std::map<uint32_t, uint32_t> ends;  // by worker
  for (const measure::WorkerPhaseData& worker : phase.workers) {
    options.workers.insert(worker.worker_index);
    const int64_t last = worker.result.last_io_ns() - worker.result.go_ns();
    ends[worker.worker_index] =
        worker.has_result && last > 0 ? static_cast<uint32_t>((last - 1) / interval_ns) + 1 : 0;
  }
  measure::PhaseSeries series(options);
  uint32_t current = 0;
  const auto go_to = [&](uint32_t interval) {
    if (interval <= current) return;
    current = interval;
    for (const auto& [worker, end] : ends) {
      for (uint32_t next = series.Of(worker).next_interval; next < std::min(interval, end);
           ++next) {
        (void)series.Add(worker, IdleInterval(next, load, interval_ns));
      }
      // It has ended, or was lost.
      if (series.Of(worker).next_interval < interval) series.Leave(worker);
    }
    // Nobody watches this series. The merged intervals only have to leave the memory.
    (void)series.TakeComplete();
  };
  const absl::Status status =
      store->ReadIntervals(IdOf(data.run.run_id, phase.phase), storage::IntervalDetail::kTimeline,
                           [&](uint32_t worker, const v1::IntervalSample& sample) {
                             go_to(sample.interval());
                             return series.Add(worker, sample);
                           });
  if (!status.ok()) return status;
  (void)series.Finish();
  return series.TakeTimeline();
}

}  // namespace

absl::StatusOr<v1::Report> ReportOf(storage::Store* store, const std::string& run_id) {
  auto kept = store->KeptReport(run_id);
  if (!kept.ok()) return kept.status();
  if (kept->has_value()) {
    const auto run = store->GetRun(run_id);
    if (!run.ok()) return run.status();
    // The kept report is all that is left of a pruned run. Its labels can still be changed, so they
    // come from the run's row.
    v1::Report report = **std::move(kept);
    *report.mutable_run()->mutable_labels() = run->job.labels();
    report.set_samples_pruned(true);
    for (v1::PhaseReport& phase : *report.mutable_phases()) AddJainRange(&phase);
    Conclude(&report);
    return report;
  }
  const auto data = store->LoadRun(run_id);
  if (!data.ok()) return data.status();
  auto report = BuildReport(*data, IntervalsOf(store, run_id));
  if (report.ok()) Conclude(&*report);
  return report;
}

absl::Status SaveTimelines(storage::Store* store, const std::string& run_id) {
  const auto without = store->WithoutTimelines(run_id);
  if (!without.ok()) return without.status();
  if (without->empty()) return absl::OkStatus();
  const auto data = store->LoadRun(run_id);
  if (!data.ok()) return data.status();
  for (const measure::PhaseData& phase : data->phases) {
    if (!IsLoad(phase.phase.spec) || !without->contains(phase.phase.phase)) continue;
    const auto timeline = TimelineOf(store, *data, phase);
    if (!timeline.ok()) return timeline.status();
    if (timeline->empty()) continue;
    const absl::Status saved = store->SaveTimeline(IdOf(run_id, phase.phase), *timeline);
    if (!saved.ok()) return saved;
  }
  return absl::OkStatus();
}

}  // namespace lockstep::controller
