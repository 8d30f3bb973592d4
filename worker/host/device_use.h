#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "proto/worker.pb.h"

namespace lockstep::worker {

// What a job wants with a device.
struct DeviceUse {
  std::string identity;  // that it must have; empty for any
  bool write = false;
  std::vector<std::string> expendable;  // by the job
  // What was inspected: another device is refused. Empty and 0 when not known.
  std::string inspected_identity;
  uint64_t inspected_sequence = 0;
  bool held_by_peer = false;  // another worker of this kernel holds it for the phase
};

// Whether what the kernel says of a device (DescribeBlockDevice) lets it be used so: its size and
// identity, that it is the one that was inspected, and, where it is written, that it may be written
// and that nothing uses it. FAILED_PRECONDITION names the path and the reason. Pure.
absl::Status CheckDeviceFacts(const std::string& path, const v1::BlockDevice& device,
                              const DeviceUse& use);

}  // namespace lockstep::worker
