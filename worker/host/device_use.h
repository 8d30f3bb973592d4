#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "proto/worker.pb.h"

namespace lockstep::worker {

// How a job wants to use a device.
struct DeviceUse {
  std::string identity;  // that it must have; empty for any
  bool write = false;
  std::vector<std::string> expendable;  // by the job
  // The device that was inspected: another one is refused. Empty and 0 when not known.
  std::string inspected_identity;
  uint64_t inspected_sequence = 0;
  bool held_by_peer = false;  // another worker of this kernel holds it for the phase
  bool own_data = false;      // data on it is what this run has written
  // With own_data: what the run left there, as DeviceContent::samples says, one for each worker
  // that wrote it last. Empty where that is not known.
  std::vector<std::string> left_contents;
  // The fingerprint of what the inspection found, empty where it found the device blank; unset at
  // the inspection.
  std::optional<std::string> inspected_content;
  // The number of the stamp that the inspection found and the store had as live, empty for none;
  // unset at the inspection.
  std::optional<std::string> inspected_stamp;
  // A device that seems blank is read until this (CLOCK_MONOTONIC) to see whether it is.
  int64_t read_until_ns = 0;
};

// How long a look at the device as `use` wants it may take.
int64_t ProbeLimitNs(const DeviceUse& use, int64_t now_ns);

// Checks a device, as the kernel describes it (DescribeBlockDevice), against its use: size,
// identity, that it is the device that was inspected, and for writing also that it is writable and
// that nothing uses it. FAILED_PRECONDITION names the path and the reason. Pure.
absl::Status CheckDeviceFacts(const std::string& path, const v1::BlockDevice& device,
                              const DeviceUse& use);

}  // namespace lockstep::worker
