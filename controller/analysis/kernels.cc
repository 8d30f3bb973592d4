// How busy was each kernel over the measured time, and what did that cost for each I/O of the
// engines on it?

#include "controller/analysis/analysis.h"
#include "controller/analysis/devices.h"

namespace lockstep::controller {
namespace {

void AddMemory(const measure::HostSums& sums, v1::KernelReport* kernel) {
  const auto set = [&](const measure::KnownSum& known, void (v1::KernelReport::*setter)(double)) {
    if (const auto mean = known.mean()) (kernel->*setter)(*mean);
  };
  set(sums.swap_used, &v1::KernelReport::set_swap_used_bytes_avg);
  set(sums.free, &v1::KernelReport::set_free_bytes_avg);
  set(sums.buffers, &v1::KernelReport::set_buffers_bytes_avg);
  set(sums.cache, &v1::KernelReport::set_cache_bytes_avg);
  set(sums.swap_in, &v1::KernelReport::set_swap_in_bytes_per_second);
  set(sums.swap_out, &v1::KernelReport::set_swap_out_bytes_per_second);
  set(sums.block_in, &v1::KernelReport::set_block_in_bytes_per_second);
  set(sums.block_out, &v1::KernelReport::set_block_out_bytes_per_second);
  set(sums.dirty, &v1::KernelReport::set_dirty_bytes_avg);
  set(sums.writeback, &v1::KernelReport::set_writeback_bytes_avg);
  if (sums.dirty.mean()) kernel->set_dirty_bytes_max(sums.dirty_max);
}

void AddKernel(const PhaseView& view, const measure::RunWorker& self, const measure::HostSums& sums,
               v1::KernelReport* kernel) {
  const double seconds = sums.seconds;
  kernel->set_boot_id(self.boot_id);
  kernel->set_user_ratio(sums.user / seconds);
  kernel->set_system_ratio(sums.system / seconds);
  kernel->set_iowait_ratio(sums.iowait / seconds);
  kernel->set_steal_ratio(sums.steal / seconds);
  kernel->set_idle_ratio(sums.idle / seconds);
  kernel->set_run_queue_avg(sums.run_queue / sums.samples);
  kernel->set_blocked_avg(sums.blocked / sums.samples);
  kernel->set_context_switches_per_second(sums.context_switches / seconds);
  kernel->set_interrupts_per_second(sums.interrupts / seconds);
  AddMemory(sums, kernel);
  double operations = 0;
  for (const measure::WorkerPhaseData& other : view.phase().workers) {
    const measure::RunWorker* neighbour = view.WorkerOf(other.worker_index);
    // Workers in containers of one kernel all add to its counters, so their I/Os are added up.
    if (neighbour == nullptr || neighbour->boot_id != self.boot_id) continue;
    kernel->add_hosts(neighbour->host);
    operations += static_cast<double>(view.series().Of(other.worker_index).MeasuredIos());
  }
  if (!(operations > 0)) return;
  kernel->set_context_switches_per_io(sums.context_switches / operations);
  kernel->set_interrupts_per_io(sums.interrupts / operations);
  kernel->set_cpu_ns_per_io(sums.cpu_busy_ns / operations);
}

void AddKernels(const PhaseView& view, v1::PhaseReport* report) {
  for (const measure::WorkerPhaseData& worker : view.phase().workers) {
    const measure::RunWorker* self = view.WorkerOf(worker.worker_index);
    const measure::HostSums& sums = view.series().Of(worker.worker_index).host;
    if (self == nullptr || !(sums.seconds > 0)) continue;
    v1::KernelReport* kernel = report->add_kernels();
    AddKernel(view, *self, sums, kernel);
    for (const std::string& other : OtherPrograms(view, worker, 0)) kernel->add_others(other);
  }
}

const RegisterAnalysis kKernelsRegistered(order::kKernels, "kernels", &AddKernels, About::kDevices);

}  // namespace
}  // namespace lockstep::controller
