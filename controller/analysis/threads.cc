// What did each thread do, and where did its time go?

#include <algorithm>

#include "controller/analysis/analysis.h"

namespace lockstep::controller {
namespace {

// A thread whose workload runs until the load ends has measured until then, and not to its last
// completion. One whose workload ended by itself has run until its last completion. Its execution
// time begins with its first submission, and the host's rate, beside which the thread's stands, at
// T: of a load of a millisecond that is much of the time.
double SecondsOf(const PhaseView& view, const measure::WorkerPhaseData& worker,
                 const v1::ThreadResult& t) {
  const double own = static_cast<double>(t.execution_time_ns()) / 1e9;
  const int64_t ramp = view.phase().phase.ramp_ns;
  const int64_t begin = std::max(ramp, view.BeginNs(t.workload()));  // from T
  for (const v1::WorkloadResult& workload : worker.result.workloads()) {
    if (workload.workload() != t.workload() || workload.ended_ns() <= 0) continue;
    const int64_t measured_from = worker.result.go_ns() + begin;
    const int64_t late = std::max<int64_t>(0, worker.result.first_io_ns() - measured_from);
    return own + static_cast<double>(late) / 1e9;
  }
  const double unbegun = static_cast<double>(begin - ramp) / 1e9;
  return std::max(own, view.series().Of(worker.worker_index).measured_seconds - unbegun);
}

void AddThread(const PhaseView& view, const measure::WorkerPhaseData& worker,
               const v1::ThreadResult& t, v1::ThreadReport* thread) {
  thread->set_host(view.HostOf(worker.worker_index));
  if (static_cast<int>(t.workload()) < view.load().workloads_size()) {
    thread->set_workload(view.load().workloads(static_cast<int>(t.workload())).name());
  }
  thread->set_thread(t.thread());
  thread->set_operations(static_cast<double>(t.operations()));
  thread->set_context_switches(
      static_cast<double>(t.voluntary_context_switches() + t.involuntary_context_switches()));
  thread->set_execution_time_seconds(static_cast<double>(t.execution_time_ns()) / 1e9);
  const double seconds = SecondsOf(view, worker, t);
  if (seconds > 0 && t.execution_time_ns() > 0)
    thread->set_iops(static_cast<double>(t.operations()) / seconds);
  // The execution time ends with the last completion, and the last wait may go on beyond it. The
  // larger of the two keeps the shares from exceeding 1.
  const double alive = std::max(static_cast<double>(t.execution_time_ns()),
                                static_cast<double>(t.wait_time_ns() + t.fsync_time_ns() +
                                                    t.rate_time_ns() + t.think_time_ns()));
  if (!(alive > 0)) return;
  thread->set_wait_ratio(static_cast<double>(t.wait_time_ns()) / alive);
  thread->set_fsync_ratio(static_cast<double>(t.fsync_time_ns()) / alive);
  thread->set_rate_ratio(static_cast<double>(t.rate_time_ns()) / alive);
  thread->set_think_ratio(static_cast<double>(t.think_time_ns()) / alive);
  thread->set_cpu_ratio(static_cast<double>(t.cpu_time_ns()) / alive);
}

void AddThreads(const PhaseView& view, v1::PhaseReport* report) {
  double user = 0;
  double system = 0;
  double operations = 0;
  for (const measure::WorkerPhaseData& worker : view.phase().workers) {
    user += static_cast<double>(worker.result.cpu_user_ns());
    system += static_cast<double>(worker.result.cpu_system_ns());
    // A lost worker has no result, so that its I/Os have no processor time beside them.
    if (worker.has_result) {
      operations += static_cast<double>(view.series().Of(worker.worker_index).MeasuredIos());
    }
    for (const v1::ThreadResult& thread : worker.result.threads()) {
      AddThread(view, worker, thread, report->add_threads());
    }
  }
  if (!(operations > 0) || !view.HasMeasuredUsage()) return;
  report->set_worker_cpu_user_ns_per_io(user / operations);
  report->set_worker_cpu_system_ns_per_io(system / operations);
}

const RegisterAnalysis kThreadsRegistered(order::kThreads, "threads", &AddThreads);

}  // namespace
}  // namespace lockstep::controller
