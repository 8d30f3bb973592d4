// What was each workload, which engine ran it, and what did that engine notice?

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "common/units.h"
#include "controller/analysis/analysis.h"
#include "controller/analysis/describe.h"
#include "controller/plan/loads.h"

namespace lockstep::controller {
namespace {

void AddOpenLoop(const PhaseView& view, const measure::WorkerPhaseData& worker,
                 const v1::WorkloadResult& result, v1::WorkloadReport* out) {
  // From T to the load's end, its ramp included.
  const double planned =
      static_cast<double>(view.phase().phase.ramp_ns + view.load().duration_ns()) / 1e9;
  const double last = view.series().Of(worker.worker_index).last_measured_seconds;
  // The schedule stops with a load that was cut short. Over the planned time its rate would look
  // too low.
  // One that ended by itself was due until then.
  const double seconds = result.ended_ns() > 0 ? static_cast<double>(result.ended_ns()) / 1e9
                         : !PhaseView::CutShort(worker) ? planned
                         : last > 0                     ? last
                                                        : PhaseView::DoneSeconds(worker);
  if (seconds > 0) {
    out->set_due_per_second(out->due_per_second() + static_cast<double>(result.due()) / seconds);
  }
  out->set_unstarted(out->unstarted() + static_cast<double>(result.unstarted()));
  out->set_longest_backlog_ns(
      std::max(out->longest_backlog_ns(), static_cast<double>(result.longest_backlog_ns())));
  out->set_retries(out->retries() + static_cast<double>(result.retries()));
}

void AddSettings(const v1::Workload& w, v1::WorkloadSettings* out) {
  const int64_t largest = LargestBlock(w);
  // A load of several sizes has no single one to report, and the field stays 0.
  if (largest == SmallestBlock(w)) out->set_block_size_bytes(static_cast<double>(largest));
  out->set_read_share(w.read_ratio());
  out->set_is_random(!w.pattern().has_sequential());
  out->set_is_direct(w.direct());
  out->set_queue_depth(w.queue_depth());
  out->set_threads(w.threads());
  out->set_has_trims(w.trim_ratio() > 0);
}

void AddWorkload(const PhaseView& view, int index, v1::WorkloadReport* out) {
  out->set_name(view.load().workloads(index).name());
  out->set_summary(DescribeWorkload(view.load().workloads(index)));
  // Workers often note the same, which stands once.
  std::set<std::string> notes;
  double batches = 0;
  double uncopied = 0;
  int counted = 0;
  for (const measure::WorkerPhaseData& worker : view.phase().workers) {
    for (const v1::WorkloadResult& result : worker.result.workloads()) {
      if (result.workload() != static_cast<uint32_t>(index)) continue;
      if (out->engine().empty()) out->set_engine(result.engine());
      notes.insert(result.notes().begin(), result.notes().end());
      if (!result.first_error().empty()) {
        out->add_errors(absl::StrCat(view.HostOf(worker.worker_index), ": ", result.first_error()));
      }
      AddOpenLoop(view, worker, result, out);
      batches += result.average_batch();
      uncopied += static_cast<double>(result.uncopied_blocks());
      ++counted;
    }
  }
  for (const std::string& note : notes) out->add_notes(note);
  if (uncopied > 0) {
    out->add_notes(absl::StrCat(
        common::FormatCount(uncopied), uncopied == 1 ? " block was" : " blocks were",
        " not copied: a read or a write failed, a check did not pass, or the load ended first"));
  }
  if (counted != 0) out->set_average_batch(batches / counted);
  AddSettings(view.load().workloads(index), out->mutable_settings());
  out->mutable_settings()->set_workers(static_cast<uint32_t>(counted));
}

void AddWorkloads(const PhaseView& view, v1::PhaseReport* report) {
  for (int i = 0; i < view.load().workloads_size(); ++i) {
    AddWorkload(view, i, report->add_workloads());
  }
}

const RegisterAnalysis kWorkloadsRegistered(order::kWorkloads, "workloads", &AddWorkloads);

}  // namespace
}  // namespace lockstep::controller
