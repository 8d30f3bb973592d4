// What is to be mistrusted, and what went wrong?

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/units.h"
#include "controller/analysis/analysis.h"
#include "controller/analysis/backlogs.h"
#include "controller/analysis/busy_processors.h"
#include "measure/states.h"

namespace lockstep::controller {
namespace {

// A hiccup at the very end leaves less than this: it is no backlog.
constexpr double kBacklogShare = 0.01;
constexpr double kBacklogNs = 1e7;

const char* EffectOf(ProcessorUse::By by) {
  switch (by) {
    case ProcessorUse::By::kWorkers:
      return ": the load generator, not the storage, may be what was measured";
    case ProcessorUse::By::kOthers:
      return ": the rest, other programs and the kernel, may have slowed it down";
    case ProcessorUse::By::kUnknown:
      break;
  }
  return ", by whom is not known: other programs may have slowed the load down, or the load "
         "generator itself did";
}

void AddBusyKernels(const PhaseView& view, v1::PhaseReport* report) {
  for (const v1::KernelReport& kernel : report->kernels()) {
    const ProcessorUse use = ProcessorUseOf(view, kernel);
    if (use.is_busy) report->add_remarks(absl::StrCat(use.text, EffectOf(use.by)));
  }
}

void AddStorage(const PhaseView& view, v1::PhaseReport* report) {
  if (report->devices().empty() && report->total().operations() > 0 && !view.IsSynthetic()) {
    const bool no_storage =
        std::all_of(view.load().workloads().begin(), view.load().workloads().end(),
                    [&](const v1::Workload& w) { return view.HasNullTarget(w); });
    const auto& targets = view.data().run.job.targets();
    const bool luns = std::any_of(targets.begin(), targets.end(),
                                  [](const v1::Target& target) { return target.has_iscsi(); });
    report->add_remarks(no_storage ? "no storage: these are the load generator's own figures"
                        : luns     ? "LUNs without a block device on the hosts: nothing could be "
                                     "cross-checked"
                                   : "no block device underneath: memory or a network was "
                                     "measured, and nothing could be cross-checked");
  }
  for (const v1::DeviceReport& device : report->devices()) {
    if (device.cross_check().verdict() == v1::CrossCheck::VERDICT_PAGE_CACHE) {
      report->add_remarks(absl::StrCat(device.name(), ": ", device.cross_check().reason()));
    }
  }
}

// Bytes of one worker's files of the workload; 0 where it has none, or other targets too. `shared`:
// whether other workers have the same ones.
double FileBytes(const PhaseView& view, const v1::Workload& workload, bool* shared) {
  double bytes = 0;
  for (const v1::Target& target : view.data().run.job.targets()) {
    if (std::find(workload.targets().begin(), workload.targets().end(), target.name()) ==
        workload.targets().end()) {
      continue;
    }
    // The job does not tell the size of other targets.
    if (!target.has_file()) return 0;
    bytes += static_cast<double>(target.file().size_bytes()) * std::max(1U, target.file().count());
    *shared = *shared || target.sharing() != v1::SHARING_PRIVATE;
  }
  return bytes;
}

// Buffered I/O on files that memory can hold.
void AddSmallFiles(const PhaseView& view, v1::PhaseReport* report) {
  // With files of twice the memory the cache can hold half of the blocks at most.
  constexpr double kOfMemory = 2;
  for (int w = 0; w < view.load().workloads_size(); ++w) {
    const v1::Workload& workload = view.load().workloads(w);
    bool shared = false;
    const double bytes = workload.direct() ? 0 : FileBytes(view, workload, &shared);
    if (bytes <= 0) continue;
    std::map<std::string, std::vector<uint32_t>> kernels;  // the workers that ran it
    for (const measure::WorkerPhaseData& worker : view.phase().workers) {
      const measure::RunWorker* self = view.WorkerOf(worker.worker_index);
      const auto& ran = worker.result.workloads();
      if (self != nullptr && std::any_of(ran.begin(), ran.end(), [&](const v1::WorkloadResult& r) {
            return static_cast<int>(r.workload()) == w;
          })) {
        kernels[self->boot_id].push_back(worker.worker_index);
      }
    }
    for (const auto& [boot_id, workers] : kernels) {
      const std::optional<double> memory = view.FactOf(workers.front(), "memory.GiB");
      if (!memory) continue;
      const double all = shared ? bytes : bytes * static_cast<double>(workers.size());
      // The fact is rounded down to whole GiB, hence the 1 GiB more.
      if (all >= kOfMemory * (*memory + 1) * 0x1p30) continue;
      report->add_remarks(
          absl::StrFormat("%s: buffered I/O on files of %s in all, where %s has %s GiB of memory: "
                          "the page cache can "
                          "hold them. Files of twice the memory, or direct I/O, show the device",
                          workload.name(), common::FormatSize(all), view.HostOf(workers.front()),
                          *memory < 1 ? "less than 1" : absl::StrFormat("about %.0f", *memory)));
      // One remark for a workload is enough, however many kernels ran it.
      break;
    }
  }
}

// The I/Os of a workload that were due, from T on. The measured ones and those that were never
// started are fewer: I/Os of the ramp, and those that were in flight at the end, were due, too.
double DueOf(const PhaseView& view, int workload) {
  double due = 0;
  for (const measure::WorkerPhaseData& worker : view.phase().workers) {
    for (const v1::WorkloadResult& result : worker.result.workloads()) {
      if (result.workload() != static_cast<uint32_t>(workload)) continue;
      due += static_cast<double>(result.due());
    }
  }
  return due;
}

// `index`: of the workload in its load.
void AddBacklog(const PhaseView& view, int index, v1::PhaseReport* report) {
  v1::WorkloadReport* workload = report->mutable_workloads(index);
  const v1::WorkloadReport& w = *workload;
  const double due = DueOf(view, index);
  if (w.unstarted() <= kBacklogShare * due || w.longest_backlog_ns() <= kBacklogNs) return;
  const double share = 100 * w.unstarted() / std::max(1.0, due);
  if (!StaysBehind(view, index, *report)) {
    report->add_remarks(absl::StrFormat(
        "%s: the load stood still and its end came before it had caught up: %s I/Os that were due "
        "(%.1f %%) were never started, and percentiles leave them out",
        w.name(), common::FormatCount(w.unstarted()), share));
    return;
  }
  workload->set_has_backlog(true);
  report->add_remarks(absl::StrFormat(
      "%s: BACKLOG: %s I/Os that were due (%.1f %%) were never started; the schedule ran ahead by "
      "up to %s. The rate is beyond what was served, and percentiles leave those I/Os out",
      w.name(), common::FormatCount(w.unstarted()), share,
      common::FormatDuration(w.longest_backlog_ns())));
}

// `whole`: the phase read all that it was to read.
void AddVerification(const std::string& phase_kind, bool whole, const v1::WorkloadReport& w,
                     v1::PhaseReport* report) {
  if (!w.has_verification()) return;
  const v1::VerificationReport& v = w.verification();
  const std::string checked = common::FormatCount(v.checked());
  const std::string all = common::FormatCount(v.checked() + v.not_checkable());
  v1::Expectation* e = report->add_expectations();
  e->set_text(absl::StrCat(w.name(), ": every block that could be checked is as it was written"));
  e->set_found(v.mismatches() > 0 ? v.by_verdict()
               : v.checked() > 0  ? absl::StrCat(checked, " of ", all, " checked, all as written")
                                  : "none could be checked");
  // Nothing to check is no failure of a mixed load; of a phase that is there to check it is, and so
  // is an end before all was read.
  const bool checks = phase_kind == measure::Text(measure::PhaseKind::kVerify);
  if (checks && !whole) e->set_found(e->found() + ", and the phase ended before it had read all");
  e->set_met(v.mismatches() == 0 && (!checks || (v.checked() > 0 && whole)));
  if (v.not_checkable() > v.checked()) {
    report->add_remarks(absl::StrCat(
        w.name(), ": ", common::FormatCount(v.not_checkable()), " of ", all,
        " blocks read could not be checked: their expected contents are not known, so they "
        "count as neither right nor wrong"));
  }
  if (v.mismatches() > 0) {
    report->add_remarks(absl::StrCat(w.name(), ": VERIFICATION FAILED: ", v.by_verdict()));
  }
}

void AddRemarks(const PhaseView& view, v1::PhaseReport* report) {
  AddBusyKernels(view, report);
  AddStorage(view, report);
  AddSmallFiles(view, report);
  const std::vector<measure::WorkerPhaseData>& workers = view.phase().workers;
  const bool whole = std::none_of(workers.begin(), workers.end(), &PhaseView::CutShort);
  for (int i = 0; i < report->workloads_size(); ++i) {
    AddBacklog(view, i, report);
    AddVerification(view.phase().phase.kind, whole, report->workloads(i), report);
  }
  if (report->total().errors() > 0) {
    report->add_remarks(absl::StrFormat("%.0f I/Os failed; they are in no rate and no latency",
                                        report->total().errors()));
  }
  if (report->total().short_transfers() > 0) {
    report->add_remarks(absl::StrFormat("%.0f I/Os moved fewer bytes than asked for",
                                        report->total().short_transfers()));
  }
}

const RegisterAnalysis kRemarksRegistered(order::kRemarks, "remarks", &AddRemarks);

}  // namespace
}  // namespace lockstep::controller
