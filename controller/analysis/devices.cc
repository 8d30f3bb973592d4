// What did each block device do over the measured time, and how does that compare with what the
// engines working on it did?

#include "controller/analysis/devices.h"

#include <algorithm>
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/units.h"
#include "controller/analysis/analysis.h"
#include "controller/analysis/cross_check.h"
#include "controller/plan/layers.h"
#include "controller/plan/loads.h"
#include "measure/result_stats.h"
#include "proto/workload.h"

namespace lockstep::controller {
namespace {

std::string DescribeProcess(const v1::ProcessIo& process) {
  const auto size = [](uint64_t bytes) { return common::FormatSize(static_cast<double>(bytes)); };
  const std::string who = absl::StrCat(process.command(), "[", process.pid(), "]");
  if (process.write_bytes() == 0) return absl::StrCat(who, " read ", size(process.read_bytes()));
  if (process.read_bytes() == 0) return absl::StrCat(who, " wrote ", size(process.write_bytes()));
  return absl::StrCat(who, " read ", size(process.read_bytes()), " and wrote ",
                      size(process.write_bytes()));
}

// One kind of request: its counters, and where the report has its figures.
struct RequestKind {
  uint64_t count, merges, bytes, time_ms;
  void (v1::DeviceReport::*per_second)(double);
  void (v1::DeviceReport::*bytes_per_second)(double);
  void (v1::DeviceReport::*merges_per_second)(double);
  void (v1::DeviceReport::*merged_ratio)(double);
  void (v1::DeviceReport::*await_ms)(double);
  void (v1::DeviceReport::*request_bytes)(double);
};

void Fill(const RequestKind& kind, double seconds, v1::DeviceReport* out) {
  const auto set = [&](void (v1::DeviceReport::*setter)(double), uint64_t sum, double by) {
    if (by > 0) (out->*setter)(static_cast<double>(sum) / by);
  };
  set(kind.per_second, kind.count, seconds);
  set(kind.bytes_per_second, kind.bytes, seconds);
  set(kind.merges_per_second, kind.merges, seconds);
  const auto count = static_cast<double>(kind.count);
  set(kind.merged_ratio, kind.merges, count + static_cast<double>(kind.merges));
  set(kind.await_ms, kind.time_ms, count);
  set(kind.request_bytes, kind.bytes, count);
}

}  // namespace

std::vector<v1::ProcessIo> OthersOf(const PhaseView& view,
                                    const measure::WorkerPhaseData& sampler) {
  const measure::RunWorker* self = view.WorkerOf(sampler.worker_index);
  int workers = 0;
  for (const measure::RunWorker& worker : view.data().workers) {
    workers += self != nullptr && worker.boot_id == self->boot_id;
  }
  std::vector<v1::ProcessIo> others;
  for (const v1::ProcessIo& process : sampler.result.others()) {
    if (workers <= 1 || process.command() != "lockstep-worker") others.push_back(process);
  }
  return others;
}

void FillDevice(const v1::DeviceSample& d, double seconds, v1::DeviceReport* out) {
  if (seconds <= 0) return;
  using Device = v1::DeviceReport;
  // Waits, sizes and the queue are computed as iostat computes them, so that both can be compared.
  Fill(
      {d.reads(), d.read_merges(), d.read_bytes(), d.read_time_ms(), &Device::set_reads_per_second,
       &Device::set_read_bytes_per_second, &Device::set_read_merges_per_second,
       &Device::set_read_merged_ratio, &Device::set_read_await_ms, &Device::set_read_request_bytes},
      seconds, out);
  Fill({d.writes(), d.write_merges(), d.write_bytes(), d.write_time_ms(),
        &Device::set_writes_per_second, &Device::set_write_bytes_per_second,
        &Device::set_write_merges_per_second, &Device::set_write_merged_ratio,
        &Device::set_write_await_ms, &Device::set_write_request_bytes},
       seconds, out);
  Fill({d.discards(), d.discard_merges(), d.discard_bytes(), d.discard_time_ms(),
        &Device::set_discards_per_second, &Device::set_discard_bytes_per_second,
        &Device::set_discard_merges_per_second, &Device::set_discard_merged_ratio,
        &Device::set_discard_await_ms, &Device::set_discard_request_bytes},
       seconds, out);
  out->set_flushes_per_second(static_cast<double>(d.flushes()) / seconds);
  if (d.flushes() > 0) {
    out->set_flush_await_ms(static_cast<double>(d.flush_time_ms()) /
                            static_cast<double>(d.flushes()));
  }
  out->set_queue_size(static_cast<double>(d.queue_time_ms()) / 1000 / seconds);
  // The kernel's counters and the interval's ends are read at slightly different instants, which
  // can make a busy device busier than the time.
  out->set_busy_ratio(std::min(1.0, static_cast<double>(d.busy_time_ms()) / 1000 / seconds));
}

ProgramsSeen OtherPrograms(const PhaseView& view, const measure::WorkerPhaseData& sampler,
                           double min_bytes, double max_read_bytes, double max_write_bytes) {
  ProgramsSeen seen;
  for (const v1::ProcessIo& process : OthersOf(view, sampler)) {
    const auto moved = static_cast<double>(process.read_bytes() + process.write_bytes());
    // /proc/PID/io has what reaped children did in their whole lives (proc(5)): what is more than
    // the device moved was not done on it, or not in this time.
    if (static_cast<double>(process.read_bytes()) > max_read_bytes ||
        static_cast<double>(process.write_bytes()) > max_write_bytes) {
      continue;
    }
    if (moved < min_bytes) continue;
    seen.names.push_back(DescribeProcess(process));
    seen.bytes += moved;
    // Together they cannot have moved more either.
    max_read_bytes -= static_cast<double>(process.read_bytes());
    max_write_bytes -= static_cast<double>(process.write_bytes());
  }
  return seen;
}

namespace {

// Whether a workload of the phase works on the target.
bool IsUsed(const PhaseView& view, const v1::TargetInspection& target) {
  const v1::JobSpec& job = view.data().run.job;
  if (static_cast<int>(target.target()) >= job.targets_size()) return false;
  const std::string& name = job.targets(static_cast<int>(target.target())).name();
  const auto& workloads = view.load().workloads();
  return std::any_of(workloads.begin(), workloads.end(), [&](const v1::Workload& w) {
    return std::find(w.targets().begin(), w.targets().end(), name) != w.targets().end();
  });
}

// Puts the devices that one worker sampled into the order of its stacks.
class StackOrder {
 public:
  StackOrder(const measure::WorkerPhaseData& worker, const v1::Inspection& inspection,
             const std::map<std::string, measure::DeviceSums>& sampled,
             std::vector<SampledDevice>* out)
      : worker_(worker), inspection_(inspection), sampled_(sampled), out_(out) {}

  // `observed`: what an observe phase sees; null for a load, whose stacks are its targets'.
  void Walk(const PhaseView& view, const v1::ObservedDevices* observed) {
    if (observed != nullptr) {
      for (const uint32_t top : observed->top_layers()) Visit(top, 0, {});
    } else {
      // Another phase's target may lie on a part of this phase's stack, such as one directory of an
      // overlay. Only the part of the stack above it would then be left, and not drawn.
      for (const bool used : {true, false}) {
        for (const v1::TargetInspection& target : inspection_.targets()) {
          if (IsUsed(view, target) == used) Visit(target.top_layer(), 0, {});
        }
      }
    }
    for (const auto& [name, sums] : sampled_) Put(name, SampledDevice());
  }

 private:
  // `filesystems`: those passed since the last device. The depth is that of layers, which are at
  // most limits::kStorageLayers.
  void Visit(uint32_t number, uint32_t depth, std::vector<std::string> filesystems) {
    const v1::StorageLayer* layer = LayerOf(inspection_, number);
    if (layer == nullptr || !seen_.insert(number).second) return;
    if (layer->device_name().empty()) {
      filesystems.push_back(absl::StrCat(layer->kind(), " on ", layer->mount_point()));
    } else {
      SampledDevice device;
      device.layer = layer;
      device.depth = depth;
      device.filesystems = std::move(filesystems);
      for (const uint32_t part : NearestDevices(inspection_, PartsOf(inspection_, number))) {
        device.underneath.push_back(LayerOf(inspection_, part)->device_name());
      }
      Put(layer->device_name(), std::move(device));
      filesystems.clear();
    }
    for (const uint32_t part : PartsOf(inspection_, number)) {
      Visit(part, depth + 1, filesystems);
      // The first device has them above it. They are not named again for the others.
      filesystems.clear();
    }
  }

  void Put(const std::string& name, SampledDevice device) {
    const auto sampled = sampled_.find(name);
    // Another worker of the kernel may have sampled it.
    if (sampled == sampled_.end() || !placed_.insert(name).second) return;
    device.sampler = &worker_;
    device.name = name;
    device.sums = &sampled->second;
    out_->push_back(std::move(device));
  }

  const measure::WorkerPhaseData& worker_;
  const v1::Inspection& inspection_;
  const std::map<std::string, measure::DeviceSums>& sampled_;
  std::vector<SampledDevice>* const out_;
  std::set<uint32_t> seen_;
  std::set<std::string> placed_;
};

}  // namespace

std::vector<SampledDevice> SampledDevices(const PhaseView& view) {
  std::vector<SampledDevice> devices;
  for (const measure::WorkerPhaseData& worker : view.phase().workers) {
    const measure::RunWorker* self = view.WorkerOf(worker.worker_index);
    StackOrder(worker, self == nullptr ? v1::Inspection::default_instance() : self->inspection,
               view.series().Of(worker.worker_index).devices, &devices)
        .Walk(view, self == nullptr ? nullptr : view.ObservedBy(*self));
  }
  return devices;
}

namespace {

void AddWorker(const measure::RunWorker& worker, v1::DeviceReport* out) {
  out->add_hosts(worker.host);
  out->add_workers(worker.worker_index);
}

void AddWorkers(const PhaseView& view, const EnginesOn& engines, v1::DeviceReport* out) {
  for (const uint32_t index : engines.workers) AddWorker(*view.WorkerOf(index), out);
}

// Adds up what the engines did to a device.
void AddEngines(const PhaseView& view, const EnginesOn& engines, CrossCheckInput* input,
                v1::DeviceReport* out) {
  input->lost = engines.lost;
  input->attributable = engines.attributable;
  input->buffered = engines.buffered;
  input->synced = engines.synced;
  input->trims_reach_device = !engines.files;
  if (engines.blocks.size() == 1) input->block_bytes = *engines.blocks.begin();
  out->set_identity(engines.identity);
  AddWorkers(view, engines, out);
  for (const EnginesOn::Part& part : engines.parts) {
    const v1::WorkloadResult& result = *part.result;
    // Ramp and drain count here, as on the device's side: a write of the ramp may reach the device
    // within the measured time.
    if (part.reads) {
      input->engine_read_bytes +=
          static_cast<double>(measure::CountsOf(result, v1::OPERATION_KIND_READ).bytes);
    }
    if (part.writes) {
      input->engine_write_bytes +=
          static_cast<double>(measure::CountsOf(result, v1::OPERATION_KIND_WRITE).bytes);
    }
    input->engine_trim_bytes +=
        static_cast<double>(measure::CountsOf(result, v1::OPERATION_KIND_TRIM).bytes);
    const measure::WorkerSeries& series = view.series().Of(part.worker->worker_index);
    measure::StatsOfKinds kinds;
    measure::AddMeasured(result, &kinds);
    if (!part.reads) kinds.erase(v1::OPERATION_KIND_READ);
    if (!part.writes) kinds.erase(v1::OPERATION_KIND_WRITE);
    const measure::OperationStats ios = measure::Ios(kinds);
    if (!(series.measured_seconds > 0)) continue;
    const double seconds = series.measured_seconds;
    out->set_engine_iops(out->engine_iops() +
                         static_cast<double>(ios.counts().operations) / seconds);
    // J. D. C. Little, 1961: what is in flight is the rate times the time that each takes.
    out->set_engine_queue_size(out->engine_queue_size() + ios.InFlightNs() / 1e9 / seconds);
  }
}

// Adds what the kernel counted of the workers whose engines work on the device.
void AddOwn(const EnginesOn& engines, CrossCheckInput* input) {
  std::set<const measure::WorkerPhaseData*> workers;
  for (const EnginesOn::Part& part : engines.parts) workers.insert(part.worker);
  double read = 0;
  double written = 0;
  for (const measure::WorkerPhaseData* worker : workers) {
    if (!worker->result.has_own_read_bytes()) return;
    read += static_cast<double>(worker->result.own_read_bytes());
    written += static_cast<double>(worker->result.own_write_bytes());
  }
  input->own_read_bytes = read;
  input->own_write_bytes = written;
  input->own_is_here = engines.alone;
}

// Kernel threads do what somebody else asked for, of a loop device also what the load did.
bool IsKernelThread(const std::string& command) {
  static constexpr const char* kNames[] = {"kworker/", "jbd2/",    "kswapd",         "loop",
                                           "flush-",   "xfsaild/", "dmcrypt_write/", "md"};
  return std::any_of(std::begin(kNames), std::end(kNames),
                     [&](const char* name) { return absl::StartsWith(command, name); });
}

}  // namespace

// If a program moved more than the device, on another one or while its counters alone were read,
// all the work of the device can be its own.
OthersMoved OthersMovedOn(const PhaseView& view, const measure::WorkerPhaseData& sampler,
                          double device_read_bytes, double device_write_bytes) {
  OthersMoved moved;
  std::vector<std::string> named;
  for (const v1::ProcessIo& process : OthersOf(view, sampler)) {
    if (IsKernelThread(process.command())) continue;
    moved.read_bytes =
        std::min(moved.read_bytes + static_cast<double>(process.read_bytes()), device_read_bytes);
    moved.write_bytes = std::min(moved.write_bytes + static_cast<double>(process.write_bytes()),
                                 device_write_bytes);
    if (named.size() < 3) named.push_back(DescribeProcess(process));
  }
  moved.names = absl::StrJoin(named, ", ");
  return moved;
}

namespace {

void AddOthers(const PhaseView& view, const SampledDevice& device, CrossCheckInput* input) {
  OthersMoved moved =
      OthersMovedOn(view, *device.sampler, input->device_read_bytes, input->device_write_bytes);
  input->others_read_bytes = moved.read_bytes;
  input->others_write_bytes = moved.write_bytes;
  input->others = std::move(moved.names);
}

// The other runs on the device while this one was in progress; empty when there was none.
std::string ConcurrentOn(const PhaseView& view, const std::string& boot_id,
                         const std::string& device) {
  const auto found = view.data().concurrent.find(boot_id + "/" + device);
  if (found == view.data().concurrent.end() || found->second.empty()) return "";
  std::string text = found->second.size() == 1 ? "run" : "runs";
  for (const std::string& run_id : found->second) text += " " + run_id.substr(0, 8);
  return text;
}

void DescribeLayer(const SampledDevice& device, v1::DeviceReport* out) {
  out->set_nested(device.sums->nested);
  out->set_depth(device.depth);
  for (const std::string& filesystem : device.filesystems) out->add_filesystems(filesystem);
  for (const std::string& name : device.underneath) out->add_underneath(name);
  if (device.layer == nullptr) return;
  out->set_kind(device.layer->kind());
  out->set_label(device.layer->label());
}

// Adds the workers that see a device on which no engine of the phase works.
void AddObservers(const PhaseView& view, const std::string& boot_id, v1::DeviceReport* out) {
  for (const measure::RunWorker& worker : view.data().workers) {
    const v1::ObservedDevices* observed = view.ObservedBy(worker);
    if (observed == nullptr || worker.boot_id != boot_id) continue;
    for (const v1::ObservedDevice& device : observed->devices()) {
      if (device.name() != out->name()) continue;
      out->set_identity(device.identity());
      AddWorker(worker, out);
    }
  }
}

// Compares the device's counters with the engines' work on it.
void CompareWithEngines(const PhaseView& view, const measure::RunWorker* self,
                        const SampledDevice& device, v1::DeviceReport* out) {
  const measure::DeviceSums& sums = *device.sums;
  CrossCheckInput input;
  input.device_read_bytes = sums.read_bytes;
  input.device_write_bytes = sums.write_bytes;
  input.device_reads = sums.reads;
  input.device_writes = sums.writes;
  input.device_discard_bytes = sums.discard_bytes;
  const EnginesOn engines =
      self == nullptr ? EnginesOn() : FindEngines(view, self->boot_id, device.name);
  if (self != nullptr && engines.parts.empty()) {
    const EnginesOn above = FindEngines(view, self->boot_id, device.name, Reach::kAnyLayer);
    // The engines are compared with the topmost device. A mirror or a stripe changes their I/Os
    // underneath it, which is no disagreement.
    if (sums.nested || !above.parts.empty()) {
      if (device.layer != nullptr) out->set_identity(device.layer->identity());
      AddWorkers(view, above, out);
      return;
    }
  }
  if (sums.measured_seconds > 0) {
    out->set_engine_iops(0);
    out->set_engine_queue_size(0);
  }
  if (self != nullptr) {
    AddEngines(view, engines, &input, out);
    AddOwn(engines, &input);
    AddOthers(view, device, &input);
    input.concurrent = ConcurrentOn(view, self->boot_id, device.name);
    // The load's bytes are also those of a ramp, beside which the difference is small.
    if (view.phase().phase.ramp_ns == 0 && device.sums->measured_seconds > 0) {
      const bool is_shorter = view.SampledSeconds(*device.sampler) < device.sums->measured_seconds;
      (is_shorter ? input.within : input.beyond) = out->not_rated();
    }
  }
  if (out->identity().empty() && device.layer != nullptr) {
    out->set_identity(device.layer->identity());
  }
  out->set_engine_read_bytes(input.engine_read_bytes);
  out->set_engine_write_bytes(input.engine_write_bytes);
  out->set_engine_trim_bytes(input.engine_trim_bytes);
  *out->mutable_cross_check() = CrossCheckOf(input);
  if (input.own_read_bytes && input.own_is_here) {
    out->mutable_cross_check()->set_own_read_bytes(*input.own_read_bytes);
  }
}

void AddDevices(const PhaseView& view, v1::PhaseReport* report) {
  for (const SampledDevice& device : SampledDevices(view)) {
    const measure::RunWorker* self = view.WorkerOf(device.sampler->worker_index);
    v1::DeviceReport* out = report->add_devices();
    out->set_name(device.name);
    DescribeLayer(device, out);
    // A phase that ended in its ramp has no measured time to divide by.
    const bool is_measured = device.sums->measured_seconds > 0;
    if (!is_measured) {
      out->set_not_rated("the phase has no measured time");
    } else if (!view.SamplesFit(*device.sampler)) {
      out->set_not_rated(view.WhySamplesDoNotFit(*device.sampler));
    } else {
      FillDevice(device.sums->measured, device.sums->measured_seconds, out);
    }
    out->set_device_read_bytes(device.sums->read_bytes);
    out->set_device_write_bytes(device.sums->write_bytes);
    out->set_device_discard_bytes(device.sums->discard_bytes);
    if (!view.IsObserve()) {
      CompareWithEngines(view, self, device, out);
    } else if (self != nullptr) {
      AddObservers(view, self->boot_id, out);
    }
  }
}

const RegisterAnalysis kDevicesRegistered(order::kDevices, "devices", &AddDevices, About::kDevices);

}  // namespace
}  // namespace lockstep::controller
