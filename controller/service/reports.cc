#include "controller/service/reports.h"

#include <algorithm>
#include <limits>

#include "controller/analysis/fairness.h"
#include "controller/plan/loads.h"
#include "controller/report/verdict.h"
#include "measure/phase_series.h"

namespace lockstep::controller {

ReadIntervals IntervalsOf(storage::Store* store, const std::string& run_id) {
  return [store, run_id](const measure::PhaseRecord& phase, WithIntervals with,
                         const TakeInterval& take) {
    return store->ReadIntervals(IdOf(run_id, phase), DetailOf(with), take);
  };
}

namespace {

// In a word, for lists of runs.
void SetVerdict(v1::Report* report) {
  const Verdict verdict = VerdictOf(*report);
  report->mutable_run()->set_verdict(verdict.over ? verdict.word : "");
}

}  // namespace

absl::StatusOr<v1::Report> ReportOf(storage::Store* store, const std::string& run_id) {
  auto kept = store->KeptReport(run_id);
  if (!kept.ok()) return kept.status();
  if (kept->has_value()) {
    const auto run = store->GetRun(run_id);
    if (!run.ok()) return run.status();
    v1::Report report = **std::move(kept);
    *report.mutable_run()->mutable_labels() = run->job.labels();
    report.set_samples_pruned(true);
    for (v1::PhaseReport& phase : *report.mutable_phases()) AddJainRange(&phase);
    SetVerdict(&report);
    return report;
  }
  const auto data = store->LoadRun(run_id);
  if (!data.ok()) return data.status();
  auto report = BuildReport(*data, IntervalsOf(store, run_id));
  if (report.ok()) SetVerdict(&*report);
  return report;
}

absl::Status SaveTimelines(storage::Store* store, const std::string& run_id) {
  const auto data = store->LoadRun(run_id);
  if (!data.ok()) return data.status();
  for (const measure::PhaseData& phase : data->phases) {
    const v1::PhaseId id = IdOf(run_id, phase.phase);
    const auto kept = store->HostTimeline(id);
    if (!IsLoad(phase.phase.spec) || kept.ok()) continue;
    if (!absl::IsNotFound(kept.status())) return kept.status();
    const v1::RunPhase load = LoadOf(data->run.job, phase.phase.spec);
    measure::PhaseSeries::Options options;
    options.workloads = std::numeric_limits<uint32_t>::max();  // checked when they came in
    options.keeps_timeline = true;
    for (const measure::WorkerPhaseData& worker : phase.workers) {
      options.workers.insert(worker.worker_index);
    }
    measure::PhaseSeries series(options);
    // An interval without any I/O has no rows.
    const auto fill = [&](uint32_t worker, uint32_t end) {
      for (uint32_t next = series.Of(worker).next_interval; next < end; ++next) {
        (void)series.Add(worker, IdleInterval(next, load, phase.phase.interval_ns));
      }
    };
    uint32_t measured = 0;  // intervals up to the last measured one
    absl::Status status =
        store->ReadIntervals(id, storage::IntervalDetail::kTimeline,
                             [&](uint32_t worker, const v1::IntervalSample& sample) {
                               fill(worker, sample.interval());
                               if (sample.interval_class() != v1::INTERVAL_CLASS_DRAIN) {
                                 measured = std::max(measured, sample.interval() + 1);
                               }
                               const absl::Status added = series.Add(worker, sample);
                               (void)series.TakeComplete();
                               return added;
                             });
    for (const measure::WorkerPhaseData& worker : phase.workers) {
      if (worker.has_result) fill(worker.worker_index, measured);
    }
    (void)series.Finish();
    const measure::Timeline timeline = series.TakeTimeline();
    if (status.ok() && !timeline.empty()) status = store->SaveTimeline(id, timeline);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace lockstep::controller
