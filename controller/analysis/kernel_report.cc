#include "controller/analysis/kernel_report.h"

namespace lockstep::controller {

void AddKernels(const PhaseView& view, v1::PhaseReport* report) {
  for (const storage::WorkerPhaseData& worker : view.phase().workers) {
    const storage::RunWorker* self = view.WorkerOf(worker.worker_index);
    v1::KernelReport kernel;
    double seconds = 0;
    double switches = 0;
    double busy = 0;
    double interrupts = 0;
    int samples = 0;
    for (const v1::IntervalSample& interval : worker.intervals) {
      if (!interval.has_host() || !PhaseView::Measured(interval)) continue;
      const v1::HostSample& h = interval.host();
      const double length = static_cast<double>(interval.end_ns() - interval.begin_ns()) / 1e9;
      seconds += length;
      ++samples;
      switches += static_cast<double>(h.context_switches());
      interrupts += static_cast<double>(h.interrupts());
      busy += static_cast<double>(h.cpu_busy_ns());
      kernel.set_user_ratio(kernel.user_ratio() + h.user_ratio() * length);
      kernel.set_system_ratio(kernel.system_ratio() + h.system_ratio() * length);
      kernel.set_iowait_ratio(kernel.iowait_ratio() + h.iowait_ratio() * length);
      kernel.set_steal_ratio(kernel.steal_ratio() + h.steal_ratio() * length);
      kernel.set_idle_ratio(kernel.idle_ratio() + h.idle_ratio() * length);
      kernel.set_run_queue_avg(kernel.run_queue_avg() + h.run_queue());
      kernel.set_blocked_avg(kernel.blocked_avg() + h.blocked());
    }
    if (seconds <= 0 || self == nullptr) continue;
    kernel.set_boot_id(self->boot_id);
    kernel.set_user_ratio(kernel.user_ratio() / seconds);
    kernel.set_system_ratio(kernel.system_ratio() / seconds);
    kernel.set_iowait_ratio(kernel.iowait_ratio() / seconds);
    kernel.set_steal_ratio(kernel.steal_ratio() / seconds);
    kernel.set_idle_ratio(kernel.idle_ratio() / seconds);
    kernel.set_run_queue_avg(kernel.run_queue_avg() / samples);
    kernel.set_blocked_avg(kernel.blocked_avg() / samples);
    kernel.set_context_switches_per_second(switches / seconds);
    kernel.set_interrupts_per_second(interrupts / seconds);
    double operations = 0;
    for (const storage::WorkerPhaseData& other : view.phase().workers) {
      const storage::RunWorker* neighbour = view.WorkerOf(other.worker_index);
      if (neighbour == nullptr || neighbour->boot_id != self->boot_id) continue;
      kernel.add_hosts(neighbour->host);
      for (const v1::IntervalSample& interval : other.intervals) {
        if (PhaseView::Measured(interval)) {
          operations += static_cast<double>(SumsOf(interval).operations);
        }
      }
    }
    if (operations > 0) {
      kernel.set_context_switches_per_io(switches / operations);
      kernel.set_cpu_ns_per_io(busy / operations);
    }
    *report->add_kernels() = std::move(kernel);
  }
}

}  // namespace lockstep::controller
