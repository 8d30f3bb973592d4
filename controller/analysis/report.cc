#include "controller/analysis/report.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/limits.h"
#include "common/units.h"
#include "common/version.h"
#include "controller/analysis/analysis.h"
#include "controller/analysis/expectations.h"
#include "controller/analysis/statistics.h"
#include "controller/analysis/stored_confidence.h"
#include "controller/analysis/sweeps.h"
#include "controller/plan/loads.h"
#include "controller/plan/next_phase.h"
#include "controller/plan/steady_rounds.h"
#include "controller/plan/sweep.h"
#include "measure/states.h"

namespace lockstep::controller {
namespace {

// Points of the series of all phases together: a report has a bounded size, however long the run
// is.
constexpr size_t kReportPoints = 1 << 18;
// Histograms are much larger than counters: without a limit, the report of a long run of many hosts
// would have to read and add up all of them.
constexpr int64_t kReadLatencies = limits::kReportHostIntervals;

// The intervals of a phase, added up.
struct Series {
  std::unique_ptr<measure::PhaseSeries> all;
  std::optional<measure::SteadyState> steady;  // where the job asks for it
};

measure::PhaseSeries::Options OptionsOf(const measure::PhaseData& phase) {
  measure::PhaseSeries::Options options;
  options.workloads = std::numeric_limits<uint32_t>::max();  // checked when they came in
  options.needs_histograms = false;
  options.keeps_all_rates = true;
  for (const measure::WorkerPhaseData& worker : phase.workers) {
    options.workers.insert(worker.worker_index);
    // Others are in the series over time, and in no figure that is compared.
    if (!PhaseView::Worked(worker)) continue;
    options.compared.insert(worker.worker_index);
    for (const v1::WorkloadResult& workload : worker.result.workloads()) {
      options.parts[{worker.worker_index, workload.workload()}] = workload.ended_ns();
    }
  }
  return options;
}

// The receivers of the intervals beside their sums; null where none is needed.
struct Judges {
  measure::SteadyState* steady = nullptr;
  std::vector<double>* p99_spreads = nullptr;  // over the hosts, by interval
  StoredConfidence* confidence = nullptr;
};

void AddSpread(const measure::MergedInterval& merged, const std::set<uint32_t>& compared,
               std::vector<double>* spreads) {
  if (merged.interval_class != v1::INTERVAL_CLASS_MEASURED) return;
  double least = 0;
  double most = 0;
  size_t hosts = 0;
  for (const auto& [worker, part] : merged.workers) {
    if (!compared.contains(worker) || !(part.p99_ns > 0)) continue;
    least = hosts == 0 ? part.p99_ns : std::min(least, part.p99_ns);
    most = std::max(most, part.p99_ns);
    ++hosts;
  }
  if (hosts >= 2) spreads->push_back(most / least);
}

absl::Status ReadInto(const measure::PhaseData& phase, WithIntervals with,
                      const ReadIntervals& read, measure::PhaseSeries* series,
                      const std::set<uint32_t>& compared, const Judges& judges) {
  const auto judge = [&](std::vector<measure::MergedInterval> intervals) {
    for (measure::MergedInterval& merged : intervals) {
      if (judges.p99_spreads != nullptr) AddSpread(merged, compared, judges.p99_spreads);
      if (judges.steady == nullptr) continue;
      // Lost workers make no gap in what the others did.
      std::erase_if(merged.workers,
                    [&](const auto& part) { return !compared.contains(part.first); });
      merged.whole = !compared.empty() && merged.workers.size() == compared.size();
      judges.steady->Add(merged);
    }
  };
  const absl::Status status =
      read(phase.phase, with, [&](uint32_t worker, const v1::IntervalSample& sample) {
        const absl::Status added = series->Add(worker, sample);
        judge(series->TakeComplete());
        if (judges.confidence != nullptr) judges.confidence->Add(worker, sample);
        return added;
      });
  if (status.ok()) judge(series->Finish());
  return status;
}

// How many intervals of hosts a phase has, as its workers say.
int64_t HostIntervals(const measure::PhaseData& phase) {
  int64_t intervals = 0;
  for (const measure::WorkerPhaseData& worker : phase.workers) {
    intervals += worker.result.intervals();
  }
  return intervals;
}

absl::StatusOr<Series> ReadSeries(const measure::PhaseData& phase, const v1::RunPhase& load,
                                  size_t max_points, const ReadIntervals& read) {
  Series series;
  measure::PhaseSeries::Options options = OptionsOf(phase);
  options.max_points = max_points;
  options.begins = BeginsOf(load);
  const std::set<uint32_t> compared = options.compared;
  if (load.has_until_steady()) {
    series.steady.emplace(load.until_steady(), phase.phase.interval_ns);
  }
  measure::SteadyState* steady = series.steady ? &*series.steady : nullptr;
  const bool by_latencies = load.until_steady().figure() == v1::STEADY_FIGURE_PERCENTILE;
  series.all = std::make_unique<measure::PhaseSeries>(options);
  absl::Status status = ReadInto(phase, WithIntervals::kSamples, read, series.all.get(), compared,
                                 {by_latencies ? nullptr : steady, nullptr, nullptr});
  // The second pass reads the histograms. The counters alone are much smaller.
  if (status.ok() && by_latencies) {
    options.keeps_latencies = true;
    measure::PhaseSeries latencies(options);
    status = ReadInto(phase, WithIntervals::kLatencies, read, &latencies, compared,
                      {steady, nullptr, nullptr});
  }
  if (!status.ok()) return status;
  return series;
}

// Adds what needs the histograms of single hosts' intervals: the spread of p99 over the hosts, and
// confidence intervals. It reads them only after the analyses, because to count the latencies above
// a percentile one must know it.
absl::Status AddFromLatencies(const measure::PhaseData& phase, const ReadIntervals& read,
                              int64_t* latencies_left, v1::PhaseReport* report) {
  const int64_t host_intervals = HostIntervals(phase);
  measure::PhaseSeries::Options options = OptionsOf(phase);
  const std::set<uint32_t> compared = options.compared;
  if (compared.empty() || host_intervals > *latencies_left) return absl::OkStatus();
  *latencies_left -= host_intervals;
  std::vector<double> spreads;
  StoredConfidence confidence(phase, report);
  measure::PhaseSeries series(options);
  const absl::Status status =
      ReadInto(phase, WithIntervals::kLatencies, read, &series, compared,
               {nullptr, compared.size() > 1 ? &spreads : nullptr, &confidence});
  if (!status.ok()) return status;
  confidence.Finish();
  // One interval is no course of time.
  if (spreads.size() < 2) return absl::OkStatus();
  report->set_p99_spread_median(MedianOf(spreads));
  report->set_p99_spread_worst(*std::max_element(spreads.begin(), spreads.end()));
  return absl::OkStatus();
}

absl::StatusOr<v1::PhaseReport> BuildLoad(const measure::RunData& data,
                                          const measure::PhaseData& phase, size_t max_points,
                                          const ReadIntervals& read, int64_t* latencies_left) {
  const auto series = ReadSeries(phase, LoadOf(data.run.job, phase.phase.spec), max_points, read);
  if (!series.ok()) return series.status();
  const PhaseView view(data, phase, *series->all,
                       series->steady ? &series->steady->verdict() : nullptr);
  v1::PhaseReport report;
  // Analyses() sorts them by their order, because each reads what earlier ones have added.
  for (const Analysis& analysis : Analyses()) {
    // An observe phase has no load: figures of one would be zeros that nobody has measured.
    if (view.IsObserve() && analysis.about == About::kLoad) continue;
    analysis.add(view, &report);
  }
  if (absl::Status status = AddFromLatencies(phase, read, latencies_left, &report); !status.ok()) {
    return status;
  }
  return report;
}

v1::PhaseReport BuildFilePhase(const measure::RunData& data, const measure::PhaseData& phase) {
  v1::PhaseReport report;
  const measure::PhaseSeries nothing({});
  const PhaseView view(data, phase, nothing);
  std::vector<std::string> without;
  for (const measure::RunWorker* worker : view.Absent()) without.push_back(worker->host);
  report.set_workers(static_cast<uint32_t>(phase.workers.size() + without.size()));
  for (const measure::WorkerPhaseData& worker : phase.workers) {
    if (!worker.has_result) without.push_back(view.HostOf(worker.worker_index));
    report.set_files_made(report.files_made() + static_cast<double>(worker.result.files_made()));
    report.set_files_reused(report.files_reused() +
                            static_cast<double>(worker.result.files_reused()));
    report.set_files_removed(report.files_removed() +
                             static_cast<double>(worker.result.files_removed()));
    report.set_bytes_written(report.bytes_written() +
                             static_cast<double>(worker.result.bytes_written()));
    const double seconds =
        static_cast<double>(worker.result.end_ns() - worker.result.go_ns()) / 1e9;
    // A worker that never started has a go_ns of 0, and the difference would be an absolute time.
    if (worker.result.go_ns() != 0) {
      report.set_duration_seconds(std::max(report.duration_seconds(), seconds));
    }
  }
  report.set_workers_lost(static_cast<uint32_t>(without.size()));
  const bool over = IsOver(phase.phase.state);
  if (over && !without.empty()) {
    report.add_remarks(absl::StrCat("not done, or not known, on ", absl::StrJoin(without, ", "),
                                    ", lost, stopped or failed",
                                    phase.phase.kind == measure::Text(measure::PhaseKind::kCleanup)
                                        ? ": files that prepare made may still be there"
                                        : ""));
  }
  return report;
}

// How often a phase of the job runs. A sweep that ends by its results runs as often as it did.
int StepsDue(const measure::RunData& data, int job_phase) {
  const v1::PhaseSpec& spec = data.run.job.phases(job_phase);
  const v1::Sweep& sweep = spec.run().sweep();
  if (!sweep.has_until() && !sweep.has_until_steady() && sweep.stop_at_iops() <= 0) {
    return static_cast<int>(spec.run().has_sweep() ? PointsOf(sweep) : CountSteps(spec));
  }
  const auto ran =
      std::count_if(data.phases.begin(), data.phases.end(), [&](const measure::PhaseData& phase) {
        return phase.phase.job_phase == static_cast<uint32_t>(job_phase) &&
               phase.phase.spec.has_run();
      });
  // A phase that never ran counts once, so that its expectations are not met.
  return static_cast<int>(std::max<ptrdiff_t>(1, ran));
}

void FillSummary(const measure::RunData& data, v1::Report* report) {
  v1::RunSummary* summary = report->mutable_run();
  summary->set_run_id(data.run.run_id);
  summary->set_job_name(data.run.job.name());
  summary->set_owner(data.run.owner);
  *summary->mutable_labels() = data.run.job.labels();
  summary->set_state(Text(data.run.state));
  summary->set_outcome(data.run.outcome);
  summary->set_submitted_at(data.run.submitted_at);
  summary->set_started_at(data.run.started_at);
  summary->set_ended_at(data.run.ended_at);
  summary->set_hosts(static_cast<uint32_t>(data.workers.size()));
  summary->set_degraded(data.run.degraded);
  summary->set_synthetic(
      std::any_of(data.workers.begin(), data.workers.end(),
                  [](const measure::RunWorker& w) { return w.inspection.synthetic(); }));
  int expected = 0;
  int met = 0;
  for (const v1::PhaseReport& phase : report->phases()) {
    for (const v1::Expectation& e : phase.expectations()) {
      ++expected;
      met += e.met();
    }
  }
  // Expectations of phases that never came are not met either. The check of an empty report counts
  // what the job declares, so that both counts follow from the same code.
  int declared = 0;
  for (int p = 0; p < data.run.job.phases_size(); ++p) {
    v1::PhaseReport probe;
    v1::RunPhase run = data.run.job.phases(p).run();
    // The steadiness of rounds is one expectation of the whole sweep (AddSteadyRounds()).
    declared += run.sweep().has_until_steady() && run.expect().steady();
    DropSweep(&run);
    CheckExpectations(run.expect(), PhaseResults::kIncomplete, &probe);
    declared +=
        StepsDue(data, p) * (probe.expectations_size() + (run.start_skew_limit_ns() > 0 ? 1 : 0));
  }
  // Each verification counts as an expectation that nobody has to declare.
  for (const v1::PhaseReport& phase : report->phases()) {
    for (const v1::WorkloadReport& w : phase.workloads()) declared += w.has_verification();
  }
  report->set_expectations_met(met == declared);
  if (declared > 0) summary->set_expectations(absl::StrCat(met, " of ", declared, " met"));
}

// Facts by "HOST fact", where machines of one name are told apart by their workers' numbers.
void AddEnvironment(const measure::RunData& data, v1::Report* report) {
  std::map<std::string, std::set<std::string>> machines;  // boot ids by name
  for (const measure::RunWorker& worker : data.workers) {
    machines[worker.host].insert(worker.boot_id);
  }
  for (const measure::RunWorker& worker : data.workers) {
    const auto facts = data.environment.find(worker.worker_index);
    if (facts == data.environment.end()) continue;
    const std::string host = machines[worker.host].size() == 1
                                 ? worker.host
                                 : absl::StrCat(worker.host, "#", worker.worker_index);
    for (const auto& [fact, value] : facts->second) {
      (*report->mutable_environment())[absl::StrCat(host, " ", fact)] = value;
    }
  }
}

}  // namespace

absl::StatusOr<v1::Report> BuildReport(const measure::RunData& data, const ReadIntervals& read) {
  const auto is_load = [](const measure::PhaseData& phase) { return IsLoad(phase.phase.spec); };
  const auto loads = std::count_if(data.phases.begin(), data.phases.end(), is_load);
  int64_t latencies_left = kReadLatencies;
  v1::Report report;
  report.set_description(data.run.job.description());
  for (const measure::PhaseData& phase : data.phases) {
    absl::StatusOr<v1::PhaseReport> built = BuildFilePhase(data, phase);
    if (is_load(phase)) {
      // `loads` counts this phase, too, so it is not 0.
      built = BuildLoad(data, phase, kReportPoints / loads, read, &latencies_left);
    }
    if (!built.ok()) return built.status();
    built->set_name(phase.phase.name);
    built->set_kind(phase.phase.kind);
    built->set_index(phase.phase.phase);
    built->set_state(Text(phase.phase.state));
    if (phase.phase.go_wall_ns > 0) {
      built->set_started_at(common::FormatInstant(phase.phase.go_wall_ns));
    }
    if (!phase.phase.reason.empty()) built->add_remarks(phase.phase.reason);
    *report.add_phases() = *std::move(built);
  }
  for (const v1::EventReport& event : data.events) *report.add_events() = event;
  AddEnvironment(data, &report);
  report.set_version(common::kSoftwareVersion);
  report.set_seed(absl::StrCat(data.run.seed));
  // After all phases, because the rounds of a point lie between those of other points.
  AddSweeps(data, &report);
  FillSummary(data, &report);
  return report;
}

}  // namespace lockstep::controller
