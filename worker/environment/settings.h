#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/worker.pb.h"
#include "worker/host/kernel_uses.h"

namespace lockstep::worker {

// The name of the setting of a mounted file system. All other settings are files of a device's
// queue (sysfs, Documentation/ABI/stable/sysfs-block).
inline constexpr char kMountOptions[] = "mount options";

// A setting that a phase requests. `value` is written to the kernel.
struct WantedSetting {
  std::string thing;  // a device's name, or where a file system is mounted
  std::string name;
  std::string value;
  std::string restore_to;  // written to restore the setting; empty: the value before
  std::string options;     // of a mount, as the job has them
  std::string before;      // of a mount, as Read() would have shown it
  dev_t filesystem = 0;    // that is mounted there; its number in mountinfo
};

// Reads and writes the kernel's settings, and says which of them a job may request. `root` is the
// directory that has /sys and /proc; tests have their own. Not thread-safe.
class KernelSettings {
 public:
  explicit KernelSettings(std::string root = "") : root_(std::move(root)) {}

  // NOT_FOUND if the device or mount has no such setting. A mount point has the options of what is
  // mounted there now.
  absl::StatusOr<std::string> Read(const std::string& thing, const std::string& name) const;
  // Changes a setting of a queue (mounts: Remount()). Errors have the kernel's message.
  absl::Status Write(const std::string& thing, const std::string& name,
                     const std::string& value) const;

  // The kernel's sequence number of this attachment of a device. 0 if not known.
  uint64_t SequenceOf(const std::string& device) const;
  // The same for the disk with this number, or the disk of that partition.
  uint64_t SequenceOf(dev_t number) const;
  // OK if the setting of a queue has the wanted value. INTERNAL, with the actual value, if the
  // kernel has set another one.
  absl::Status Holds(const WantedSetting& wanted) const;
  // The settings of a device's queue that an environment requests. FAILED_PRECONDITION if the
  // device has no such setting or does not support the value.
  absl::StatusOr<std::vector<WantedSetting>> OfDevice(const v1::Environment& environment,
                                                      const std::string& device) const;
  // The same for a mount. INVALID_ARGUMENT if an option could not be restored.
  absl::StatusOr<WantedSetting> OfMount(const v1::Remount& remount) const;

 private:
  std::string FileOf(const std::string& device, const std::string& name) const;

  const std::string root_;
};

// The options of a mount and of its file system, as KernelSettings::Read() has them:
// "rw,noatime;rw,discard".
std::string OptionsOf(const MountEntry& mount);
// Splits and checks the requested mount options, given the mount's current options `now`. The
// result has the options to write, and those that restore the mount.
absl::StatusOr<WantedSetting> PlanRemount(const v1::Remount& remount, const MountEntry& now);
// Whether the mount has all of the options (in the form of Remount.options).
bool HasOptions(const std::string& options, const MountEntry& now);

}  // namespace lockstep::worker
