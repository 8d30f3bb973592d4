#include "worker/host/device_use.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/limits.h"

namespace lockstep::worker {

int64_t ProbeLimitNs(const DeviceUse& use, int64_t now_ns) {
  // Reading every byte takes its time. A device that is only slow must not count as one that does
  // not answer.
  const int64_t reading_ns = use.write ? std::max<int64_t>(0, use.read_until_ns - now_ns) : 0;
  return limits::kProbeNs + reading_ns;
}

absl::Status CheckDeviceFacts(const std::string& path, const v1::BlockDevice& device,
                              const DeviceUse& use) {
  if (device.size_bytes() == 0) {
    return absl::FailedPreconditionError(absl::StrCat(path, ": the device has no size"));
  }
  if (!use.identity.empty() && use.identity != device.identity()) {
    return absl::FailedPreconditionError(absl::StrCat(path, ": its identity is '",
                                                      device.identity(), "', the job requires '",
                                                      use.identity, "'"));
  }
  // 0 is no sequence: a LUN has none, nor has any device before Linux 5.15.
  const bool other =
      (!use.inspected_identity.empty() && use.inspected_identity != device.identity()) ||
      (use.inspected_sequence != 0 && use.inspected_sequence != device.disk_sequence());
  if (other) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, ": another device is there than the one that was inspected: '",
                     device.identity(), "' (attachment ", device.disk_sequence(), "), not '",
                     use.inspected_identity, "' (attachment ", use.inspected_sequence, ")"));
  }
  // A device that somebody uses may be read: that harms nobody's data.
  if (!use.write) return absl::OkStatus();
  if (device.read_only()) {
    return absl::FailedPreconditionError(absl::StrCat(path, ": the device is read-only"));
  }
  if (!device.in_use().empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, ": ", device.in_use(), "; a device in use is never written"));
  }
  return absl::OkStatus();
}

}  // namespace lockstep::worker
