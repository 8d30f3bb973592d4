// How busy was each kernel over the measured time, and what did that cost for each I/O of the
// engines on it?

#include <map>
#include <set>
#include <string>
#include <vector>

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

// The workers of one kernel. Those in containers all add to its counters, so their I/Os are added
// up.
struct KernelWorkers {
  std::vector<const measure::RunWorker*> workers;
  double operations = 0;
};

std::map<std::string, KernelWorkers> WorkersByKernel(const PhaseView& view) {
  std::map<std::string, KernelWorkers> kernels;
  for (const measure::WorkerPhaseData& worker : view.phase().workers) {
    const measure::RunWorker* self = view.WorkerOf(worker.worker_index);
    if (self == nullptr) continue;
    KernelWorkers& kernel = kernels[self->boot_id];
    kernel.workers.push_back(self);
    kernel.operations += static_cast<double>(view.series().Of(worker.worker_index).MeasuredIos());
  }
  return kernels;
}

void AddKernel(const std::string& boot_id, const KernelWorkers& workers,
               const measure::HostSums& sums, v1::KernelReport* kernel) {
  const double seconds = sums.seconds;
  kernel->set_boot_id(boot_id);
  kernel->set_user_ratio(sums.user / seconds);
  kernel->set_system_ratio(sums.system / seconds);
  kernel->set_iowait_ratio(sums.iowait / seconds);
  kernel->set_steal_ratio(sums.steal / seconds);
  kernel->set_idle_ratio(sums.idle / seconds);
  kernel->set_run_queue_avg(sums.run_queue / sums.samples);
  kernel->set_blocked_avg(sums.blocked / sums.samples);
  // The worker itself wakes in each interval. A kernel that shows no context switch or interrupt
  // does not count them, as those of sandboxes.
  if (sums.context_switches > 0) {
    kernel->set_context_switches_per_second(sums.context_switches / seconds);
  }
  if (sums.interrupts > 0) kernel->set_interrupts_per_second(sums.interrupts / seconds);
  AddMemory(sums, kernel);
  for (const measure::RunWorker* worker : workers.workers) {
    kernel->add_hosts(worker->host);
    kernel->add_workers(worker->worker_index);
  }
  if (!(workers.operations > 0)) return;
  // Nor is there I/O without processor time.
  const auto set = [&](double sum, void (v1::KernelReport::*setter)(double)) {
    if (sum > 0) (kernel->*setter)(sum / workers.operations);
  };
  set(sums.context_switches, &v1::KernelReport::set_context_switches_per_io);
  set(sums.interrupts, &v1::KernelReport::set_interrupts_per_io);
  set(sums.cpu_busy_ns, &v1::KernelReport::set_cpu_ns_per_io);
}

void AddKernels(const PhaseView& view, v1::PhaseReport* report) {
  const std::map<std::string, KernelWorkers> kernels = WorkersByKernel(view);
  std::set<std::string> added;
  for (const measure::WorkerPhaseData& worker : view.phase().workers) {
    const measure::RunWorker* self = view.WorkerOf(worker.worker_index);
    const measure::HostSums& sums = view.series().Of(worker.worker_index).host;
    if (self == nullptr || !(sums.seconds > 0) || !view.SamplesFit(worker)) continue;
    // One worker is asked to sample each kernel. Another one's samples would count it twice.
    if (!added.insert(self->boot_id).second) continue;
    v1::KernelReport* kernel = report->add_kernels();
    AddKernel(self->boot_id, kernels.at(self->boot_id), sums, kernel);
    for (const std::string& other : OtherPrograms(view, worker, 0).names) kernel->add_others(other);
  }
}

const RegisterAnalysis kKernelsRegistered(order::kKernels, "kernels", &AddKernels, About::kDevices);

}  // namespace
}  // namespace lockstep::controller
