// Where did the time of the whole load go?

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "controller/analysis/analysis.h"
#include "controller/analysis/devices.h"
#include "controller/plan/layers.h"
#include "measure/result_stats.h"

namespace lockstep::controller {
namespace {

// The counts of a fleet's kernels for each I/O on them. Each counts by its I/Os: a fleet's mean is
// not the mean of its hosts'.
class PerIo {
 public:
  void Add(bool is_known, double per_io, double ios) {
    if (!is_known) return;
    sum_ += ios * per_io;
    ios_ += ios;
  }
  // Over the I/Os of the kernels that know it.
  std::optional<double> mean() const {
    return ios_ > 0 ? std::optional(sum_ / ios_) : std::nullopt;
  }

 private:
  double sum_ = 0, ios_ = 0;
};

// A sum over kernels, which is not known if one of them lacks the figure. No kernel works for a
// second without a context switch or an interrupt: a sandbox that shows a counter as 0 has none.
class KernelSum {
 public:
  void Add(double value) {
    sum_ += value;
    is_known_ = is_known_ && value > 0;
  }
  std::optional<double> sum() const {
    return is_known_ && sum_ > 0 ? std::optional(sum_) : std::nullopt;
  }

 private:
  double sum_ = 0;
  bool is_known_ = true;
};

void AddOfKernels(const PhaseView& view, const v1::PhaseReport& report, v1::TimeSpent* spent) {
  // By kernel: two hosts can have one name, and several workers one kernel.
  std::map<std::string, double> ios;
  for (const v1::HostReport& host : report.hosts()) {
    const measure::RunWorker* self = view.WorkerOf(host.worker_index());
    if (self != nullptr) ios[self->boot_id] += host.total().operations();
  }
  KernelSum switches;
  KernelSum interrupts;
  PerIo switches_per_io;
  PerIo interrupts_per_io;
  PerIo cpu_ns_per_io;
  for (const v1::KernelReport& kernel : report.kernels()) {
    switches.Add(kernel.context_switches_per_second());
    interrupts.Add(kernel.interrupts_per_second());
    const double own = ios[kernel.boot_id()];
    switches_per_io.Add(kernel.has_context_switches_per_io(), kernel.context_switches_per_io(),
                        own);
    interrupts_per_io.Add(kernel.has_interrupts_per_io(), kernel.interrupts_per_io(), own);
    cpu_ns_per_io.Add(kernel.has_cpu_ns_per_io(), kernel.cpu_ns_per_io(), own);
  }
  if (const auto sum = switches.sum()) spent->set_context_switches_per_second(*sum);
  if (const auto sum = interrupts.sum()) spent->set_interrupts_per_second(*sum);
  if (const auto mean = switches_per_io.mean()) spent->set_context_switches_per_io(*mean);
  if (const auto mean = interrupts_per_io.mean()) spent->set_interrupts_per_io(*mean);
  if (const auto mean = cpu_ns_per_io.mean()) spent->set_cpu_ns_per_io(*mean);
}

void AddOfThreads(const PhaseView& view, const v1::PhaseReport& report, v1::TimeSpent* spent) {
  double seconds = 0;
  double wait = 0;
  double fsync = 0;
  double rate = 0;
  double think = 0;
  double switches = 0;
  double ios = 0;
  for (const v1::ThreadReport& thread : report.threads()) {
    // Shares are of a thread's own time, so that one which ended early counts for less.
    const double own = thread.execution_time_seconds();
    seconds += own;
    wait += own * thread.wait_ratio();
    fsync += own * thread.fsync_ratio();
    rate += own * thread.rate_ratio();
    think += own * thread.think_ratio();
    switches += thread.context_switches();
    ios += thread.operations();
  }
  if (ios > 0 && view.HasMeasuredUsage()) spent->set_thread_switches_per_io(switches / ios);
  if (!(seconds > 0)) return;
  spent->set_wait_ratio(wait / seconds);
  spent->set_fsync_ratio(fsync / seconds);
  spent->set_rate_ratio(rate / seconds);
  spent->set_think_ratio(think / seconds);
}

using DeviceKey = std::pair<std::string, std::string>;  // boot_id, name

double MeasuredBytes(const v1::WorkloadResult& result) {
  measure::StatsOfKinds kinds;
  measure::AddMeasured(result, &kinds);
  double bytes = 0;
  for (const v1::OperationKind kind : {v1::OPERATION_KIND_READ, v1::OPERATION_KIND_WRITE}) {
    const auto found = kinds.find(kind);
    if (found != kinds.end()) bytes += static_cast<double>(found->second.counts().bytes);
  }
  return bytes;
}

// The bytes that a device moved, by its own counters.
struct DeviceBytes {
  double measured = 0;           // bytes, of the measured time
  double read = 0, written = 0;  // of the whole load, as those of programs are
};

// Adds up the bytes of the engines and those of the devices under them, on one layer of each stack.
class ByteCounts {
 public:
  explicit ByteCounts(const PhaseView& view) : view_(view) {
    for (const measure::WorkerPhaseData& worker : view.phase().workers) {
      const measure::RunWorker* self = view.WorkerOf(worker.worker_index);
      if (self == nullptr) continue;
      if (!worker.has_result) lost_.insert(self->boot_id);
      for (const auto& [name, sums] : view.series().Of(worker.worker_index).devices) {
        // Another device of its stack has its bytes.
        if (sums.nested) continue;
        is_known_ = is_known_ && view.SamplesFit(worker);
        const v1::DeviceSample& d = sums.measured;
        DeviceBytes& moved = sampled_[{self->boot_id, name}];
        moved.measured += static_cast<double>(d.read_bytes() + d.write_bytes());
        moved.read += sums.read_bytes;
        moved.written += sums.write_bytes;
      }
    }
    for (const measure::WorkerPhaseData& worker : view.phase().workers) {
      const measure::RunWorker* self = view.WorkerOf(worker.worker_index);
      if (self == nullptr) continue;
      for (const v1::WorkloadResult& result : worker.result.workloads()) Add(*self, result);
    }
  }

  std::optional<double> Amplification() const {
    if (!is_known_ || !(engine_ > 0) || OthersMovedThem()) return std::nullopt;
    double device = 0;
    for (const DeviceKey& key : used_) device += sampled_.at(key).measured;
    return device / engine_;
  }

 private:
  void Add(const measure::RunWorker& self, const v1::WorkloadResult& result) {
    if (static_cast<int>(result.workload()) >= view_.load().workloads_size()) return;
    const v1::Workload& workload = view_.load().workloads(static_cast<int>(result.workload()));
    const double bytes = MeasuredBytes(result);
    if (!(bytes > 0)) return;
    std::set<DeviceKey> devices;
    bool elsewhere = false;
    for (const v1::TargetInspection& target : self.inspection.targets()) {
      const std::string& name =
          view_.data().run.job.targets(static_cast<int>(target.target())).name();
      const auto& targets = workload.targets();
      if (std::find(targets.begin(), targets.end(), name) == targets.end()) continue;
      elsewhere = !AddSampledUnder(self, target, &devices) || elsewhere;
    }
    // Memory, a network or a null target: no device counts these bytes.
    if (devices.empty()) return;
    // Part of the workload's bytes have a device beside them, and nobody knows how many. Likewise a
    // lost worker's bytes are among the device's and not among the engines'.
    is_known_ = is_known_ && !elsewhere && !lost_.contains(self.boot_id);
    engine_ += bytes;
    used_.merge(devices);
  }

  // Whether more than a small part of the devices' bytes can be other programs'.
  bool OthersMovedThem() const {
    constexpr double kSmallPart = 0.05;
    std::map<std::string, DeviceBytes> kernels;
    for (const DeviceKey& key : used_) {
      DeviceBytes& kernel = kernels[key.first];
      kernel.read += sampled_.at(key).read;
      kernel.written += sampled_.at(key).written;
    }
    double all = 0;
    double others = 0;
    for (const auto& [boot_id, kernel] : kernels) {
      all += kernel.read + kernel.written;
      others += OthersOnKernel(boot_id, kernel);
    }
    return others > kSmallPart * all;
  }

  double OthersOnKernel(const std::string& boot_id, const DeviceBytes& devices) const {
    double read = 0;
    double written = 0;
    double own_read = 0;
    bool is_own_known = true;
    for (const measure::WorkerPhaseData& worker : view_.phase().workers) {
      const measure::RunWorker* self = view_.WorkerOf(worker.worker_index);
      if (self == nullptr || self->boot_id != boot_id) continue;
      // Each worker of a kernel sees the same programs.
      const OthersMoved moved = OthersMovedOn(view_, worker, devices.read, devices.written);
      read = std::max(read, moved.read_bytes);
      written = std::max(written, moved.write_bytes);
      is_own_known = is_own_known && worker.result.has_own_read_bytes();
      own_read += static_cast<double>(worker.result.own_read_bytes());
    }
    // Others read the bytes that the kernel did not count for the workers, also if they have ended.
    if (is_own_known) read = std::max(read, devices.read - own_read);
    return read + written;
  }

  // Whether all I/O of the target passes the devices that it adds.
  bool AddSampledUnder(const measure::RunWorker& self, const v1::TargetInspection& target,
                       std::set<DeviceKey>* devices) const {
    const TargetDevices under = DevicesUnder(self.inspection, target);
    const auto add = [&](const std::string& name) {
      const DeviceKey key = {self.boot_id, name};
      if (sampled_.contains(key)) devices->insert(key);
      return sampled_.contains(key);
    };
    // If stacks of the phase overlap, the devices that count are the lowest ones.
    bool lower = false;
    for (const std::string& name : under.lower) lower = add(name) || lower;
    bool all = !under.top.empty();
    for (const std::string& name : under.top) all = (add(name) || lower) && all;
    return all;
  }

  const PhaseView& view_;
  std::set<std::string> lost_;                // kernels with a worker that was lost
  std::map<DeviceKey, DeviceBytes> sampled_;  // by device, nested ones left out
  std::set<DeviceKey> used_;                  // by engines of the phase
  double engine_ = 0;
  bool is_known_ = true;
};

void AddTimeSpent(const PhaseView& view, v1::PhaseReport* report) {
  v1::TimeSpent spent;
  AddOfKernels(view, *report, &spent);
  AddOfThreads(view, *report, &spent);
  if (const auto factor = ByteCounts(view).Amplification()) spent.set_amplification(*factor);
  if (spent.ByteSizeLong() > 0) *report->mutable_time_spent() = spent;
}

const RegisterAnalysis kTimeSpentRegistered(order::kTimeSpent, "time spent", &AddTimeSpent);

}  // namespace
}  // namespace lockstep::controller
