#include "controller/analysis/device_sums.h"

#include <set>

#include "absl/strings/str_cat.h"
#include "controller/plan/fleet_uses.h"

namespace lockstep::controller {

void DeviceSum::Add(const v1::DeviceReport& d) {
  ++devices_;
  reads_ += d.reads_per_second();
  writes_ += d.writes_per_second();
  read_bytes_ += d.read_bytes_per_second();
  write_bytes_ += d.write_bytes_per_second();
  // Weighted by the requests, by whose sum Figures() divides.
  read_ms_ += d.reads_per_second() * d.read_await_ms();
  write_ms_ += d.writes_per_second() * d.write_await_ms();
  queue_ += d.queue_size();
  if (busiest_.empty() || d.busy_ratio() > busy_) {
    busy_ = d.busy_ratio();
    busiest_ = d.name();
  }
}

void DeviceSum::Add(const DeviceSum& other) {
  devices_ += other.devices_;
  reads_ += other.reads_;
  writes_ += other.writes_;
  read_bytes_ += other.read_bytes_;
  write_bytes_ += other.write_bytes_;
  read_ms_ += other.read_ms_;
  write_ms_ += other.write_ms_;
  queue_ += other.queue_;
  if (busiest_.empty() || other.busy_ > busy_) {
    busy_ = other.busy_;
    busiest_ = other.busiest_;
  }
}

v1::ObservedFigures DeviceSum::Figures() const {
  v1::ObservedFigures f;
  f.set_devices(devices_);
  f.set_reads_per_second(reads_);
  f.set_writes_per_second(writes_);
  f.set_read_bytes_per_second(read_bytes_);
  f.set_write_bytes_per_second(write_bytes_);
  if (iops() > 0) f.set_read_ratio(reads_ / iops());
  if (reads_ > 0) f.set_read_request_bytes(read_bytes_ / reads_);
  if (reads_ > 0) f.set_read_await_ms(read_ms_ / reads_);
  if (writes_ > 0) f.set_write_request_bytes(write_bytes_ / writes_);
  if (writes_ > 0) f.set_write_await_ms(write_ms_ / writes_);
  f.set_queue_size(queue_);
  f.set_busy_ratio(busy_);
  f.set_busiest(busiest_);
  return f;
}

void DevicesByKey::Add(const std::string& host, const std::string& key, const v1::DeviceReport& d) {
  Both& both = devices_[{key, host}];
  DeviceOnHost& device = d.nested() ? both.nested : both.plain;
  device.sum.Add(d);
  device.engine_iops += d.engine_iops();
  device.agrees = device.agrees && (!d.has_cross_check() ||
                                    d.cross_check().verdict() == v1::CrossCheck::VERDICT_AGREE);
  // A host may have several paths to the device. The first one gives it its name.
  if (device.sum.devices() > 1) return;
  device.name = d.name();
  device.identity = d.identity();
  device.hosts.assign(d.hosts().begin(), d.hosts().end());
}

std::map<std::string, std::vector<DeviceOnHost>> DevicesByKey::Take() const {
  std::map<std::string, std::vector<DeviceOnHost>> by_key;
  for (const auto& [device, both] : devices_) {
    by_key[device.first].push_back(both.plain.sum.devices() > 0 ? both.plain : both.nested);
  }
  return by_key;
}

namespace {

// By boot id and name, what at least one worker of the kernel was asked for.
std::set<std::pair<std::string, std::string>> AskedFor(const PhaseView& view) {
  std::set<std::pair<std::string, std::string>> asked;
  for (const measure::RunWorker& worker : view.data().workers) {
    const v1::ObservedDevices* observed = view.ObservedBy(worker);
    if (observed == nullptr) continue;
    for (const v1::ObservedDevice& device : observed->devices()) {
      if (!device.only_underneath()) asked.emplace(worker.boot_id, device.name());
    }
  }
  return asked;
}

}  // namespace

std::map<std::string, std::vector<DeviceOnHost>> ObservedByKey(const PhaseView& view,
                                                               const v1::PhaseReport& report,
                                                               ObservedLayers layers) {
  std::set<std::pair<std::string, std::string>> asked;
  if (layers == ObservedLayers::kAskedFor) asked = AskedFor(view);
  DevicesByKey devices;
  // devices.cc has added the devices worker by worker, in this order.
  int next = 0;
  for (const measure::WorkerPhaseData& worker : view.phase().workers) {
    const measure::RunWorker* self = view.WorkerOf(worker.worker_index);
    const size_t sampled = view.series().Of(worker.worker_index).devices.size();
    for (size_t i = 0; i < sampled; ++i) {
      const v1::DeviceReport& d = report.devices(next++);
      // Rates are of the workers that have a result, as everywhere in the report.
      if (!worker.has_result || d.identity().empty() || self == nullptr) continue;
      if (!d.not_rated().empty()) continue;
      if (layers == ObservedLayers::kAskedFor && !asked.contains({self->boot_id, d.name()})) {
        continue;
      }
      devices.Add(absl::StrCat(worker.worker_index), DeviceKey(d.identity(), self->boot_id), d);
    }
  }
  return devices.Take();
}

}  // namespace lockstep::controller
