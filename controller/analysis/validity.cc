// Of which hosts, and of what time, are the figures?

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "controller/analysis/analysis.h"

namespace lockstep::controller {
namespace {

// When samples of every host are there, lost ones' included.
void FindValid(const PhaseView& view, v1::PhaseReport* report) {
  // A host that was absent from the start has no samples: at no time are those of all hosts there.
  if (!view.Absent().empty()) return;
  double from = 0;
  double to = std::numeric_limits<double>::infinity();
  for (const measure::WorkerPhaseData& worker : view.phase().workers) {
    const measure::WorkerSeries& series = view.series().Of(worker.worker_index);
    const bool idle = worker.has_result && worker.result.workloads().empty();
    if (series.last_measured_seconds == 0 && idle) continue;  // it had nothing to do
    from = std::max(from, series.first_measured_seconds);
    to = std::min(to, series.last_measured_seconds);
  }
  if (!(to > from)) return;
  report->set_valid_from_seconds(from);
  report->set_valid_to_seconds(to);
}

void AddDegraded(v1::PhaseReport* report) {
  const std::string valid =
      report->valid_to_seconds() > report->valid_from_seconds()
          ? absl::StrFormat("samples of all %d are there from %.2f to %.2f s after T",
                            report->workers(), report->valid_from_seconds(),
                            report->valid_to_seconds())
          : "at no time are there samples of all";
  const uint32_t left = report->workers() - report->workers_lost();
  report->add_remarks(absl::StrFormat(
      "DEGRADED: results of %d of %d hosts; %s; %s", left, report->workers(),
      left > 0 ? "figures are of those alone"
               : "there are no figures but the hosts' rates over time, from their samples",
      valid));
}

// Seconds of a host that are not there, between some that are.
void AddGaps(const PhaseView& view, uint32_t worker, v1::PhaseReport* report) {
  for (const auto& [first, last] : view.series().Of(worker).gaps) {
    report->add_remarks(absl::StrFormat("GAP: %s has no sample of interval%s", view.HostOf(worker),
                                        last == first
                                            ? absl::StrFormat(" %d", first)
                                            : absl::StrFormat("s %d to %d", first, last)));
  }
}

// A workload of ends_phase that ended by itself; empty if there is none.
std::string EndedBy(const PhaseView& view) {
  for (const measure::WorkerPhaseData& worker : view.phase().workers) {
    for (const v1::WorkloadResult& result : worker.result.workloads()) {
      const auto index = static_cast<int>(result.workload());
      if (result.ended_ns() <= 0 || index >= view.load().workloads_size()) continue;
      const v1::Workload& workload = view.load().workloads(index);
      if (workload.ends_phase()) return workload.name();
    }
  }
  return "";
}

// The load was to end before its own end: where did it?
void AddEndOfLoad(const PhaseView& view, v1::PhaseReport* report) {
  const uint32_t wanted = *view.phase().phase.end_of_load;
  const double end = static_cast<double>(wanted + 1) * report->interval_seconds();
  std::vector<std::string> late;
  bool known = false;  // by a result
  bool any = false;
  for (const measure::WorkerPhaseData& worker : view.phase().workers) {
    known = known || worker.has_result;
    if (!PhaseView::CutShort(worker)) continue;
    any = true;
    const double last = view.series().Of(worker.worker_index).last_measured_seconds;
    // The ends of one interval differ between hosts by what their clocks differ. Half an interval
    // tells these from the next one.
    if (last > end + report->interval_seconds() / 2) {
      late.push_back(absl::StrFormat("%s after %.1f s", view.HostOf(worker.worker_index), last));
    }
  }
  // Only a result tells whether a load was cut short.
  if (!known || view.phase().phase.state == measure::PhaseState::kRunning) return;
  if (!any) {
    report->add_remarks(
        "the load was to end early by command, which came too late: it ran to its own end");
  } else if (late.empty() && report->steady().steady() && !view.load().until_steady().only_tell()) {
    report->add_remarks(absl::StrFormat(
        "the load was ended after interval %d, on all hosts: it was steady", wanted));
  } else if (const std::string ender = EndedBy(view); late.empty() && !ender.empty()) {
    report->add_remarks(
        absl::StrFormat("the load was ended after interval %d, on all hosts: workload %s had ended",
                        wanted, ender));
  } else if (late.empty()) {
    report->add_remarks(
        absl::StrFormat("the load was ended by command after interval %d, on all hosts, before its "
                        "own end; the events say by whom",
                        wanted));
  } else {
    report->add_remarks(absl::StrFormat(
        "the load was to end by command after interval %d (%.1f s); hosts that heard of it later "
        "ended later: %s",
        wanted, end, absl::StrJoin(late, ", ")));
  }
}

bool HasMeasured(const PhaseView& view) {
  const std::vector<measure::WorkerPhaseData>& workers = view.phase().workers;
  return std::any_of(workers.begin(), workers.end(), [&](const auto& worker) {
    return view.series().Of(worker.worker_index).measured_seconds > 0;
  });
}

void AddUnobserved(const PhaseView& view, v1::PhaseReport* report) {
  if (IsOver(view.phase().phase.state) && !HasMeasured(view)) {
    report->add_remarks("NOTHING OBSERVED: no device was sampled");
  }
}

void AddUnmeasured(const PhaseView& view, v1::PhaseReport* report) {
  const std::vector<measure::WorkerPhaseData>& workers = view.phase().workers;
  if (!HasMeasured(view) && std::any_of(workers.begin(), workers.end(), &PhaseView::CutShort)) {
    report->add_remarks(view.phase().phase.ramp_ns > 0
                            ? "NOTHING MEASURED: the load ended in its ramp"
                            : "NOTHING MEASURED: the load ended at its begin");
  } else if (IsOver(view.phase().phase.state) && report->workers_lost() < report->workers() &&
             report->total().operations() + report->total().errors() == 0) {
    report->add_remarks("NOTHING MEASURED: no I/O was completed in the measured time");
  }
  if (view.series().window().empty() && report->total().operations() > 0) {
    // A workload whose parts ran together has rates over its own time.
    bool any = false;
    for (int w = 0; w < report->workloads_size(); ++w) {
      any = any || !view.series().WindowOf(static_cast<uint32_t>(w)).empty();
    }
    report->add_remarks(absl::StrCat("no time in which all hosts and workloads ran: rates ",
                                     any ? "of all together, and of hosts, " : "",
                                     "are over the whole phase"));
  }
}

// Workloads that have no row because they did nothing, beside some that did.
void AddIdleWorkloads(const PhaseView& view, v1::PhaseReport* report) {
  if (!IsOver(view.phase().phase.state) || report->total().operations() == 0) return;
  if (view.load().workloads_size() < report->workloads_size()) return;
  // A lost host may be the only one that had the workload.
  for (const measure::WorkerPhaseData& worker : view.phase().workers) {
    if (!worker.has_result) return;
  }
  for (int w = 0; w < report->workloads_size(); ++w) {
    const v1::OperationReport& total = report->workloads(w).total();
    if (total.operations() + total.errors() > 0) continue;
    report->add_remarks(
        view.NeverBegan(static_cast<uint32_t>(w))
            ? absl::StrFormat("%s never began: the load ended after %.2f s, and its start_delay is "
                              "%.4g s",
                              report->workloads(w).name(), view.LastMeasuredSeconds(),
                              static_cast<double>(view.load().workloads(w).start_delay_ns()) / 1e9)
            : absl::StrCat(report->workloads(w).name(),
                           ": no I/O was completed in the measured time"));
  }
}

void AddValidity(const PhaseView& view, v1::PhaseReport* report) {
  if (view.IsSynthetic()) {
    report->add_remarks(
        "SYNTHETIC: no I/O was done (lockstep-worker --simulate): all figures are made up");
  }
  if (view.phase().phase.attempt > 1) {
    report->add_remarks(
        absl::StrFormat("attempt %d: what was measured in earlier ones is not in these figures; "
                        "the events say why they were given up",
                        view.phase().phase.attempt));
  }
  if (view.phase().phase.end_of_load) AddEndOfLoad(view, report);
  // While it runs nobody's result can be there.
  const bool over = IsOver(view.phase().phase.state);
  if (report->workers_lost() != 0 && over) {
    FindValid(view, report);
    AddDegraded(report);
  }
  for (const measure::WorkerPhaseData& worker : view.phase().workers) {
    AddGaps(view, worker.worker_index, report);
  }
  if (view.IsObserve()) {
    AddUnobserved(view, report);
  } else {
    AddUnmeasured(view, report);
    AddIdleWorkloads(view, report);
  }
}

const RegisterAnalysis kValidityRegistered(order::kValidity, "validity", &AddValidity,
                                           About::kDevices);

}  // namespace
}  // namespace lockstep::controller
