#include "worker/targets/inspect_layers.h"

#include <sys/sysmacros.h>

#include <algorithm>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/files.h"
#include "common/limits.h"
#include "worker/environment/settings.h"
#include "worker/host/block_devices.h"
#include "worker/host/byte_ranges.h"
#include "worker/host/layers.h"
#include "worker/host/time_limit.h"

namespace lockstep::worker {

void AddLayers(const std::vector<uint64_t>& mount_ids, v1::Inspection* inspection) {
  std::vector<std::string> devices;
  for (const v1::TargetInspection& found : inspection->targets()) {
    devices.push_back(found.device_name());
  }
  struct Found {
    std::vector<v1::StorageLayer> layers;
    std::vector<uint32_t> tops;  // by target
  };
  const auto found = std::make_shared<Found>();
  const absl::Status status =
      WithinLimit("storage underneath the targets", limits::kProbeNs, [found, mount_ids, devices] {
        StorageLayers layers("", common::ReadTrimmed("/proc/self/mountinfo"));
        for (size_t i = 0; i < devices.size(); ++i) {
          uint32_t top = layers.AddMount(mount_ids[i]);
          if (top == 0) top = layers.AddDevice(devices[i]);
          found->tops.push_back(top);
        }
        found->layers = layers.layers();
        return absl::OkStatus();
      });
  // The file system of a loop device's file may not answer. The targets then have the devices that
  // their numbers name.
  if (!status.ok()) return;
  for (int i = 0; i < inspection->targets_size(); ++i) {
    v1::TargetInspection* target = inspection->mutable_targets(i);
    target->set_top_layer(found->tops[static_cast<size_t>(i)]);
    // btrfs and overlays have numbers that are no device's.
    const auto tops = TopDevicesUnder(found->layers, target->top_layer());
    if (!target->device_name().empty() || tops.empty()) continue;
    target->set_device_name(tops.front());
    const auto layer =
        std::find_if(found->layers.begin(), found->layers.end(),
                     [&](const v1::StorageLayer& l) { return l.device_name() == tops.front(); });
    target->set_device_identity(layer->identity());
  }
  *inspection->mutable_layers() = {found->layers.begin(), found->layers.end()};
}

namespace {

// Whether the settings are there on each of the devices, and may be changed. `tops`: the target's
// topmost devices.
absl::Status CheckSettingsOf(const HostPolicy& policy, const v1::Environment& settings,
                             const std::vector<std::string>& devices,
                             const std::vector<std::string>& tops) {
  if (devices.empty()) {
    return absl::FailedPreconditionError(
        "no block device of this host lies underneath it, whose settings a phase could change");
  }
  const KernelSettings kernel;
  for (const std::string& name : devices) {
    absl::Status status = policy.MayChangeDevice(ThisKernel().Describe(name));
    if (status.ok()) status = kernel.OfDevice(settings, name).status();
    if (status.ok()) continue;
    if (std::find(tops.begin(), tops.end(), name) != tops.end()) return status;
    return absl::Status(status.code(),
                        absl::StrCat(name, ", which lies underneath ", absl::StrJoin(tops, ", "),
                                     ": ", std::string(status.message())));
  }
  return absl::OkStatus();
}

// Adds the devices to the list, each once, and all their bytes to the target.
absl::Status AddSettingsDevices(const std::vector<std::string>& devices,
                                google::protobuf::RepeatedPtrField<std::string>* list,
                                v1::TargetInspection* found) {
  for (const std::string& name : devices) {
    if (std::find(list->begin(), list->end(), name) != list->end()) continue;
    *list->Add() = name;
    const v1::BlockDevice device = ThisKernel().Describe(name);
    const dev_t number = makedev(device.major_number(), device.minor_number());
    const auto ranges = std::make_shared<std::vector<v1::ByteRange>>();
    // A loop device is asked for its file, whose file system may not answer.
    const absl::Status status = WithinLimit(device.path(), limits::kProbeNs, [ranges, number] {
      *ranges = DeviceRanges(number, -1);
      return absl::OkStatus();
    });
    if (!status.ok()) return status;
    // Without a byte of it the run would not keep other runs from the device.
    if (ranges->empty()) {
      return absl::UnavailableError(
          absl::StrCat(device.path(), ": has gone; submit the job again"));
    }
    for (const v1::ByteRange& range : *ranges) *found->add_settings_ranges() = range;
  }
  return absl::OkStatus();
}

// Adds what keeps other runs from the options of a file system, once.
void AddMountOptions(dev_t filesystem, v1::TargetInspection* found) {
  const v1::ByteRange range = MountOptionsRange(filesystem);
  const auto& known = found->settings_ranges();
  const auto is_it = [&](const v1::ByteRange& other) { return other.thing() == range.thing(); };
  if (std::none_of(known.begin(), known.end(), is_it)) *found->add_settings_ranges() = range;
}

}  // namespace

absl::Status CheckSettings(const HostPolicy& policy, const v1::Inspect& request,
                           const std::vector<v1::StorageLayer>& layers,
                           v1::TargetInspection* found) {
  const KernelSettings kernel;
  for (const v1::EnvironmentUse& use : request.environments()) {
    const auto& targets = use.targets();
    if (std::find(targets.begin(), targets.end(), found->target()) == targets.end()) continue;
    v1::Environment queue = use.environment();
    // All that is left are settings of the queue, also those that a later version adds to the
    // message.
    queue.clear_remount();
    const uint32_t top = found->top_layer();
    std::vector<std::string> tops = TopDevicesUnder(layers, top);
    // If the layers are not known, the target's own device is.
    if (top == 0 && !found->device_name().empty()) tops.push_back(found->device_name());
    if (queue.has_read_ahead_bytes()) {
      // The kernel keeps it with the device that a file system is mounted from, whatever is
      // underneath.
      v1::Environment read_ahead;
      read_ahead.set_read_ahead_bytes(queue.read_ahead_bytes());
      queue.clear_read_ahead_bytes();
      auto devices = ReadAheadDevicesUnder(layers, top);
      if (!devices.ok()) return devices.status();
      if (top == 0) *devices = tops;
      absl::Status status = CheckSettingsOf(policy, read_ahead, *devices, tops);
      if (status.ok()) {
        status = AddSettingsDevices(*devices, found->mutable_read_ahead_devices(), found);
      }
      if (!status.ok()) return status;
    }
    if (queue.ByteSizeLong() != 0) {
      const std::vector<std::string> devices = top == 0 ? tops : QueuesUnder("", layers, top);
      absl::Status status = CheckSettingsOf(policy, queue, devices, tops);
      if (status.ok()) {
        status = AddSettingsDevices(devices, found->mutable_settings_devices(), found);
      }
      if (!status.ok()) return status;
    }
    for (const v1::Remount& remount : use.environment().remount()) {
      if (absl::Status may = policy.MayRemount(remount.path()); !may.ok()) return may;
      const auto can = kernel.OfMount(remount);
      if (!can.ok()) return can.status();
      if (!remount.options().empty()) AddMountOptions(can->filesystem, found);
    }
  }
  return absl::OkStatus();
}

}  // namespace lockstep::worker
