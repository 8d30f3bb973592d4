// The measurements of a load, as one message.

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "worker/load/load.h"
#include "worker/targets/left_contents.h"
#include "worker/verify/mismatch_files.h"

namespace lockstep::worker {

void Load::AddLeftContents(v1::PhaseResult* result) const {
  std::set<uint32_t> targets;
  for (const auto& part : parts_) {
    if (!part->writes) continue;
    for (v1::LeftContent& left : LeftContentsOf(part->targets.files)) {
      // Several workloads may write one target, and each of them finds the same content there.
      if (targets.insert(left.target()).second) *result->add_left_contents() = std::move(left);
    }
  }
}

int64_t Load::MeasuredNs(const IoThreadOutcome& outcome) const {
  const int64_t begin = std::max(outcome.first_io_ns, timeline_.ramp_end_ns());
  const int64_t end = std::min(outcome.last_io_ns, timeline_.load_end_ns());
  return std::max<int64_t>(0, end - begin);
}

v1::PhaseResult Load::MakeResult(Collector* collector, bool complete) const {
  v1::PhaseResult result;
  result.set_go_ns(timeline_.go_ns());
  result.set_end_ns(clock_->MonotonicNs());
  result.set_intervals(collector->intervals());
  result.set_stopped_early(stopped_early_);
  if (!claim_error_.empty()) result.set_error(claim_error_);
  if (!complete)
    result.set_error(absl::StrCat("a thread hangs in an I/O: ", hang_monitor_.Describe()));
  std::vector<v1::WorkloadResult> workloads = collector->TakeResults();
  size_t source = 0;
  for (size_t p = 0; p < parts_.size(); ++p) {
    const LoadPart& part = *parts_[p];
    auto found = std::find_if(workloads.begin(), workloads.end(), [&](const v1::WorkloadResult& w) {
      return w.workload() == part.index;
    });
    v1::WorkloadResult* workload = result.add_workloads();
    if (found != workloads.end()) *workload = std::move(*found);
    double batches = 0;
    double full = 0;
    int counted = 0;
    for (size_t i = 0; i < part.threads.size(); ++i, ++source) {
      // A thread that hangs may come back and write to its outcome at any moment: reading it would
      // be a race.
      if (!complete && !part.threads[i]->recorder().finished()) continue;
      const IoThreadOutcome& outcome = part.threads[i]->outcome();
      AddThread(part, i, collector->thread_sums()[source], &result, workload);
      if (outcome.exchanges != 0) {
        batches += static_cast<double>(outcome.submitted) / static_cast<double>(outcome.exchanges);
      }
      const int64_t alive = MeasuredNs(outcome);
      if (alive > 0) {
        full += static_cast<double>(outcome.queue_full_ns) / static_cast<double>(alive);
      }
      ++counted;
    }
    if (counted != 0) {
      workload->set_average_batch(batches / counted);
      // The last wait may reach beyond the last completion, hence the limit of 1.
      workload->set_queue_full_ratio(std::min(1.0, full / counted));
    }
  }
  return result;
}

void Load::AddThread(const LoadPart& part, size_t index, const measure::OperationCounts& sums,
                     v1::PhaseResult* result, v1::WorkloadResult* workload) const {
  IoThread& io = *part.threads[index];
  const IoThreadOutcome& outcome = io.outcome();
  if (result->error().empty()) result->set_error(outcome.fatal);
  if (workload->first_error().empty()) workload->set_first_error(outcome.first_error);
  workload->set_engine(outcome.engine);
  for (const std::string& note : outcome.notes) {
    if (std::find(workload->notes().begin(), workload->notes().end(), note) ==
        workload->notes().end()) {
      workload->add_notes(note);
    }
  }
  workload->set_due(workload->due() + outcome.due);
  workload->set_unstarted(workload->unstarted() + outcome.unstarted);
  workload->set_longest_backlog_ns(
      std::max(workload->longest_backlog_ns(), outcome.longest_backlog_ns));
  workload->set_retries(workload->retries() + outcome.retries);
  workload->set_uncopied_blocks(workload->uncopied_blocks() + outcome.uncopied);
  for (size_t i = 0; i < outcome.gaps_ns.size(); ++i) {
    if (outcome.gaps_ns[i] == 0) continue;
    while (workload->gaps_ns_size() <= static_cast<int>(i)) workload->add_gaps_ns(0);
    workload->set_gaps_ns(static_cast<int>(i),
                          workload->gaps_ns(static_cast<int>(i)) + outcome.gaps_ns[i]);
  }
  if (io.checks().reads() || io.checks().writes()) {
    const v1::PhaseId& phase = assignment_.phase();
    const MismatchFiles files(environment_.mismatch_directory);
    const auto save = [&](const std::string& name, const std::string& bytes) {
      const auto path = files.Save(phase.run_id(), phase.phase(), phase.attempt(),
                                   absl::StrCat("workload", part.index, "-", name), bytes);
      // A block that cannot be saved is described all the same.
      return path.ok() ? *path : "";
    };
    io.checks().AddCounts(workload->mutable_verification());
    io.checks().Describe(part.targets.paths(), save, workload->mutable_verification());
  }
  if (outcome.first_io_ns != 0 &&
      (result->first_io_ns() == 0 || outcome.first_io_ns < result->first_io_ns())) {
    result->set_first_io_ns(outcome.first_io_ns);
  }
  result->set_last_io_ns(std::max(result->last_io_ns(), outcome.last_io_ns));
  v1::ThreadResult* thread = result->add_threads();
  thread->set_workload(part.index);
  thread->set_thread(static_cast<uint32_t>(index));
  thread->set_operations(sums.operations);
  thread->set_bytes(sums.bytes);
  thread->set_errors(sums.errors);
  // The counts are of the measured time, so the time that they are divided by is, too.
  thread->set_execution_time_ns(MeasuredNs(outcome));
  thread->set_cpu_time_ns(outcome.usage.cpu_ns());
  thread->set_wait_time_ns(outcome.io_ns);
  thread->set_fsync_time_ns(outcome.sync_ns);
  thread->set_think_time_ns(outcome.think_ns);
  thread->set_rate_time_ns(outcome.rate_ns);
  thread->set_voluntary_context_switches(outcome.usage.voluntary_switches());
  thread->set_involuntary_context_switches(outcome.usage.involuntary_switches());
}

}  // namespace lockstep::worker
