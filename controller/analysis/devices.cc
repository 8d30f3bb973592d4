// What did each block device do over the measured time, and how does that compare with what the
// engines working on it did?

#include <algorithm>
#include <set>

#include "controller/analysis/analysis.h"
#include "controller/analysis/cross_check.h"
#include "controller/plan/loads.h"
#include "measure/result_stats.h"

namespace lockstep::controller {
namespace {

// What the engines of one kernel did to one device. False when a workload's targets lie on several
// devices.
void EngineBytes(const PhaseView& view, const std::string& boot_id, const std::string& device,
                 CrossCheckInput* input, v1::DeviceReport* out) {
  std::set<double> blocks;
  for (const measure::WorkerPhaseData& worker : view.phase().workers) {
    const measure::RunWorker* self = view.WorkerOf(worker.worker_index);
    if (self == nullptr || self->boot_id != boot_id) continue;
    input->lost = input->lost || !worker.has_result;
    bool sees = false;
    for (const v1::WorkloadResult& result : worker.result.workloads()) {
      if (static_cast<int>(result.workload()) >= view.load().workloads_size()) continue;
      const v1::Workload& workload = view.load().workloads(static_cast<int>(result.workload()));
      bool here = false;
      bool elsewhere = false;
      for (const v1::TargetInspection& target : self->inspection.targets()) {
        const std::string& name =
            view.data().run.job.targets(static_cast<int>(target.target())).name();
        if (std::find(workload.targets().begin(), workload.targets().end(), name) ==
            workload.targets().end()) {
          continue;
        }
        (target.device_name() == device ? here : elsewhere) = true;
        if (target.device_name() == device) out->set_identity(target.device_identity());
      }
      if (!here) continue;
      sees = true;
      if (elsewhere) input->attributable = false;
      if (!workload.direct()) input->buffered = true;
      if (SmallestBlock(workload) == LargestBlock(workload)) {
        blocks.insert(static_cast<double>(LargestBlock(workload)));
      }
      input->engine_read_bytes +=
          static_cast<double>(measure::CountsOf(result, v1::OPERATION_KIND_READ).bytes);
      input->engine_write_bytes +=
          static_cast<double>(measure::CountsOf(result, v1::OPERATION_KIND_WRITE).bytes);
    }
    if (sees) out->add_hosts(self->host);
  }
  if (blocks.size() == 1) input->block_bytes = *blocks.begin();
}

void FillDevice(const v1::DeviceSample& d, double seconds, v1::DeviceReport* out) {
  if (seconds <= 0) return;
  const auto per = [](uint64_t sum, uint64_t count) {
    return count == 0 ? 0 : static_cast<double>(sum) / static_cast<double>(count);
  };
  out->set_reads_per_second(static_cast<double>(d.reads()) / seconds);
  out->set_read_bytes_per_second(static_cast<double>(d.read_bytes()) / seconds);
  out->set_read_merges_per_second(static_cast<double>(d.read_merges()) / seconds);
  out->set_read_await_ms(per(d.read_time_ms(), d.reads()));
  out->set_read_request_bytes(per(d.read_bytes(), d.reads()));
  out->set_writes_per_second(static_cast<double>(d.writes()) / seconds);
  out->set_write_bytes_per_second(static_cast<double>(d.write_bytes()) / seconds);
  out->set_write_merges_per_second(static_cast<double>(d.write_merges()) / seconds);
  out->set_write_await_ms(per(d.write_time_ms(), d.writes()));
  out->set_write_request_bytes(per(d.write_bytes(), d.writes()));
  out->set_flushes_per_second(static_cast<double>(d.flushes()) / seconds);
  out->set_queue_size(static_cast<double>(d.queue_time_ms()) / 1000 / seconds);
  out->set_busy_ratio(std::min(1.0, static_cast<double>(d.busy_time_ms()) / 1000 / seconds));
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

void AddDevices(const PhaseView& view, v1::PhaseReport* report) {
  for (const measure::WorkerPhaseData& worker : view.phase().workers) {
    const measure::RunWorker* self = view.WorkerOf(worker.worker_index);
    for (const auto& [name, sums] : view.series().Of(worker.worker_index).devices) {
      v1::DeviceReport* out = report->add_devices();
      out->set_name(name);
      FillDevice(sums.measured, sums.measured_seconds, out);
      CrossCheckInput input;
      input.device_read_bytes = sums.read_bytes;
      input.device_write_bytes = sums.write_bytes;
      input.device_reads = sums.reads;
      input.device_writes = sums.writes;
      if (self != nullptr) EngineBytes(view, self->boot_id, name, &input, out);
      if (self != nullptr) input.concurrent = ConcurrentOn(view, self->boot_id, name);
      out->set_engine_read_bytes(input.engine_read_bytes);
      out->set_engine_write_bytes(input.engine_write_bytes);
      out->set_device_read_bytes(input.device_read_bytes);
      out->set_device_write_bytes(input.device_write_bytes);
      *out->mutable_cross_check() = CrossCheckOf(input);
    }
  }
}

const RegisterAnalysis kRegistered(order::kDevices, "devices", &AddDevices);

}  // namespace
}  // namespace lockstep::controller
