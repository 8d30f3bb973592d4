// Where did the time of the whole load go?

#include "controller/analysis/analysis.h"
#include "measure/result_stats.h"

namespace lockstep::controller {
namespace {

// I/Os of the hosts that share the kernel.
double IosOn(const v1::KernelReport& kernel, const v1::PhaseReport& report) {
  double ios = 0;
  for (const v1::HostReport& host : report.hosts()) {
    for (const std::string& name : kernel.hosts()) {
      if (host.host() == name) ios += host.total().operations();
    }
  }
  return ios;
}

void AddOfKernels(const v1::PhaseReport& report, v1::TimeSpent* spent) {
  if (report.kernels().empty()) return;
  double switches = 0;
  double interrupts = 0;
  double ios = 0;
  double switches_of_ios = 0;
  double cpu_ns = 0;
  for (const v1::KernelReport& kernel : report.kernels()) {
    switches += kernel.context_switches_per_second();
    interrupts += kernel.interrupts_per_second();
    // Each kernel counts by its I/Os: a fleet's mean is not the mean of its hosts'.
    const double own = IosOn(kernel, report);
    ios += own;
    switches_of_ios += own * kernel.context_switches_per_io();
    cpu_ns += own * kernel.cpu_ns_per_io();
  }
  spent->set_context_switches_per_second(switches);
  spent->set_interrupts_per_second(interrupts);
  if (!(ios > 0)) return;
  spent->set_context_switches_per_io(switches_of_ios / ios);
  spent->set_cpu_ns_per_io(cpu_ns / ios);
}

void AddOfThreads(const PhaseView& view, const v1::PhaseReport& report, v1::TimeSpent* spent) {
  double seconds = 0;
  double wait = 0;
  double fsync = 0;
  double rate = 0;
  double think = 0;
  double switches = 0;
  for (const v1::ThreadReport& thread : report.threads()) {
    const double own = thread.execution_time_seconds();
    seconds += own;
    wait += own * thread.wait_ratio();
    fsync += own * thread.fsync_ratio();
    rate += own * thread.rate_ratio();
    think += own * thread.think_ratio();
    switches += thread.context_switches();
  }
  // The kernel counts a thread's switches over its whole life. So do these, while the report's
  // operations are of the measured time.
  double ios = 0;
  for (const measure::WorkerPhaseData& worker : view.phase().workers) {
    for (const v1::WorkloadResult& result : worker.result.workloads()) {
      ios += static_cast<double>(measure::IosOf(result).operations);
    }
  }
  if (ios > 0 && !report.threads().empty()) spent->set_thread_switches_per_io(switches / ios);
  if (!(seconds > 0)) return;
  spent->set_wait_ratio(wait / seconds);
  spent->set_fsync_ratio(fsync / seconds);
  spent->set_rate_ratio(rate / seconds);
  spent->set_think_ratio(think / seconds);
}

void AddOfDevices(const v1::PhaseReport& report, v1::TimeSpent* spent) {
  double engine = 0;
  double device = 0;
  for (const v1::DeviceReport& d : report.devices()) {
    // A device that no engine of the phase works on moved the bytes of others.
    const double own = d.engine_read_bytes() + d.engine_write_bytes();
    if (!(own > 0)) continue;
    engine += own;
    device += d.device_read_bytes() + d.device_write_bytes();
  }
  if (engine > 0) spent->set_amplification(device / engine);
}

void AddTimeSpent(const PhaseView& view, v1::PhaseReport* report) {
  v1::TimeSpent spent;
  AddOfKernels(*report, &spent);
  AddOfThreads(view, *report, &spent);
  AddOfDevices(*report, &spent);
  if (spent.ByteSizeLong() > 0) *report->mutable_time_spent() = spent;
}

const RegisterAnalysis kTimeSpentRegistered(order::kTimeSpent, "time spent", &AddTimeSpent);

}  // namespace
}  // namespace lockstep::controller
