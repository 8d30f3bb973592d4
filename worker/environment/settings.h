#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/worker.pb.h"
#include "worker/host/kernel_uses.h"

namespace lockstep::worker {

// Names a setting of a mounted file system; all others are files of a device's queue (sysfs,
// Documentation/ABI/stable/sysfs-block).
inline constexpr char kMountOptions[] = "mount options";

// What a phase asks for: `value` is what is written.
struct WantedSetting {
  std::string thing;  // a device's name, or where a file system is mounted
  std::string name;
  std::string value;
  std::string restore_to;  // what is written to restore it; empty: what was there before
  std::string options;     // of a mount, as the job has them
};

// The kernel's settings: read, written, and what of them a job may ask for. `root` is where /sys
// and /proc are looked for: tests have their own. Not thread-safe.
class KernelSettings {
 public:
  explicit KernelSettings(std::string root = "") : root_(std::move(root)) {}

  // NOT_FOUND where the thing has no such setting.
  absl::StatusOr<std::string> Read(const std::string& thing, const std::string& name) const;
  // Errors have the kernel's words.
  absl::Status Write(const std::string& thing, const std::string& name,
                     const std::string& value) const;

  // The kernel's number of this attachment of a device; 0 for a mount, or where it is not known.
  uint64_t SequenceOf(const std::string& thing) const;
  // Whether the kernel has made it so: INTERNAL where it has made it something else, with what.
  absl::Status Holds(const WantedSetting& wanted) const;
  // What an environment means for a device's queue. FAILED_PRECONDITION where the device has no
  // such setting, or cannot have the value.
  absl::StatusOr<std::vector<WantedSetting>> OfDevice(const v1::Environment& environment,
                                                      const std::string& device) const;
  // The same for a mount. INVALID_ARGUMENT where an option could not be restored.
  absl::StatusOr<WantedSetting> OfMount(const v1::Remount& remount) const;

 private:
  std::string FileOf(const std::string& device, const std::string& name) const;

  const std::string root_;
};

// Splits and checks mount options, given what the mount has now: what to write so that they hold,
// and so that they no longer do.
absl::StatusOr<WantedSetting> PlanRemount(const v1::Remount& remount, const MountEntry& now);
// Whether all of the options, as Remount.options has them, hold for a mount.
bool HasOptions(const std::string& options, const MountEntry& now);

}  // namespace lockstep::worker
