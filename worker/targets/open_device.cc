// Device targets: block devices that the guard lets through.
#include <fcntl.h>

#include <memory>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/files.h"
#include "measure/target_key.h"
#include "worker/targets/openers.h"

namespace lockstep::worker {
namespace {

bool IsInMemory(const std::string& name) {
  return absl::StartsWith(name, "zram") || absl::StartsWith(name, "ram") ||
         absl::StartsWith(name, "pmem");
}

}  // namespace

absl::Status OpenDeviceTarget(const OpenContext& context, const v1::TargetAssignment& target,
                              OpenTargets* open) {
  const OpenOptions& options = context.options;
  const v1::DeviceTarget& device = target.target().device();
  std::string path = DevicePath(device, context.who);
  // The job may name a device by its facts. The inspection has found its path then.
  if (path.empty()) path = target.path();
  const int flags =
      (options.write ? O_RDWR : O_RDONLY) | (options.direct ? O_DIRECT : 0) | options.flags;
  DeviceUse use = UseOf(target, device.identity(), options);
  use.inspected_sequence = target.disk_sequence();
  use.held_by_peer = target.held_by_peer();
  auto opened = context.guard.OpenDevice(path, use, flags, options.claims);
  if (!opened.ok()) return opened.status();
  const auto bytes = UsableBytes(opened->facts, device.size_bytes(), target.stamp_bytes());
  if (!bytes.ok()) return bytes.status();
  if (options.write) {
    open->ranges.insert(open->ranges.end(), opened->ranges.begin(), opened->ranges.end());
  }
  // One device that is not in memory is enough: the workload then has to wait for completions.
  open->in_memory = IsInMemory(opened->facts.name()) && (open->files.empty() || open->in_memory);
  // The fence outlives this load: it lasts until the end of the run. The path may lead to another
  // device by then, so that the fence keeps a descriptor of this one.
  if (options.write && target.reservation().key() != 0) {
    const auto device =
        std::make_shared<common::FileDescriptor>(fcntl(opened->fd.get(), F_DUPFD_CLOEXEC, 0));
    const absl::Status taken = options.fences->Take(
        options.run_id, path, target.reservation(),
        [device, path]() -> absl::StatusOr<std::unique_ptr<Reserver>> {
          return NewDeviceReserver(common::FileDescriptor(fcntl(device->get(), F_DUPFD_CLOEXEC, 0)),
                                   path);
        });
    if (!taken.ok()) return taken;
  }
  const EngineFile engine_file = {OpenBlockDevice{opened->fd.get()}, target.stamp_bytes() + *bytes};
  OpenedFile file;
  file.descriptor = std::move(opened->fd);
  file.engine_file = engine_file;
  file.path = path;
  // Block headers name the device by this, the same on every host that sees it.
  file.thing = measure::ThingOfDevice(opened->facts.identity(), path,
                                      common::ReadTrimmed("/proc/sys/kernel/random/boot_id"));
  return AddOpened(target, 0, std::move(file), open);
}

}  // namespace lockstep::worker
