// What was each workload, which engine ran it, and what did that engine notice?

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/units.h"
#include "controller/analysis/analysis.h"
#include "controller/analysis/describe.h"
#include "controller/plan/loads.h"
#include "measure/result_stats.h"

namespace lockstep::controller {
namespace {

void AddOpenLoop(const PhaseView& view, const measure::WorkerPhaseData& worker,
                 const v1::WorkloadResult& result, v1::WorkloadReport* out) {
  const double begin = static_cast<double>(view.BeginNs(result.workload())) / 1e9;
  // From T to the load's end, its ramp included.
  const double planned =
      static_cast<double>(view.phase().phase.ramp_ns + view.load().duration_ns()) / 1e9;
  const double last = view.series().Of(worker.worker_index).last_measured_seconds;
  // The schedule stops with a load that was cut short. Over the planned time its rate would look
  // too low.
  // One that ended by itself was due until then.
  const double end = result.ended_ns() > 0          ? static_cast<double>(result.ended_ns()) / 1e9
                     : !PhaseView::CutShort(worker) ? planned
                     : last > 0                     ? last
                                                    : PhaseView::DoneSeconds(worker);
  // The schedule begins with the workload.
  const double seconds = end - begin;
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
  // A load of several sizes has no single one to report.
  if (largest == SmallestBlock(w)) out->set_block_size_bytes(static_cast<double>(largest));
  out->set_read_share(w.read_ratio());
  out->set_is_random(!w.pattern().has_sequential());
  out->set_is_direct(w.direct());
  out->set_queue_depth(w.queue_depth());
  out->set_threads(w.threads());
  out->set_has_trims(w.trim_ratio() > 0);
}

// A copy whose end nobody noticed looks like a whole one: it is said with its cause.
class CopySum {
 public:
  void Add(const v1::WorkloadResult& result) {
    uncopied_ += static_cast<double>(result.uncopied_blocks());
    copied_ += static_cast<double>(measure::CountsOf(result, v1::OPERATION_KIND_WRITE).operations);
    if (result.uncopied_blocks() == 0) return;
    for (const v1::OperationKind kind : {v1::OPERATION_KIND_READ, v1::OPERATION_KIND_WRITE}) {
      const measure::OperationCounts counts = measure::CountsOf(result, kind);
      failed_ = failed_ || counts.errors > 0 || counts.short_transfers > 0;
    }
    const v1::Verification& v = result.verification();
    unchecked_ = unchecked_ || v.corrupt() + v.stale() + v.misplaced() + v.torn() +
                                       v.never_written() + v.not_checkable() >
                                   0;
    ended_ = ended_ || result.ended_ns() == 0;
  }

  v1::CopyReport Report(const v1::Workload& workload) const {
    v1::CopyReport copy;
    copy.set_uncopied(uncopied_);
    if (workload.passes() <= 1) copy.set_blocks(uncopied_ + copied_);
    if (!(uncopied_ > 0)) return copy;
    std::vector<std::string> causes;
    if (failed_) causes.emplace_back("a read or a write failed");
    if (unchecked_) causes.emplace_back("a check did not pass");
    if (ended_) causes.emplace_back("the load ended first");
    copy.set_cause(absl::StrJoin(causes, ", "));
    copy.set_sentence(absl::StrCat(
        "copy incomplete: ", common::FormatCount(uncopied_),
        copy.has_blocks() ? absl::StrCat(" of ", common::FormatCount(copy.blocks())) : "",
        uncopied_ == 1 && !copy.has_blocks() ? " block was not copied"
                                             : " blocks were not copied"));
    return copy;
  }

 private:
  double uncopied_ = 0, copied_ = 0;  // blocks
  bool failed_ = false, unchecked_ = false, ended_ = false;
};

void AddWorkload(const PhaseView& view, int index, v1::WorkloadReport* out) {
  out->set_name(view.load().workloads(index).name());
  out->set_summary(DescribeWorkload(view.load().workloads(index)));
  // Workers often note the same, which stands once.
  std::set<std::string> notes;
  double batches = 0;
  CopySum copy;
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
      copy.Add(result);
      ++counted;
    }
  }
  for (const std::string& note : notes) out->add_notes(note);
  if (view.load().workloads(index).has_copy()) {
    *out->mutable_copy() = copy.Report(view.load().workloads(index));
  }
  if (batches > 0) out->set_average_batch(batches / counted);
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
