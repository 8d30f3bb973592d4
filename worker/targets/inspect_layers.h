#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "proto/worker.pb.h"
#include "worker/host/host_policy.h"

namespace lockstep::worker {

// Adds the layers underneath the targets to the inspection. A target whose file system has no
// device number (btrfs, overlay) gets its topmost device from them. `mount_ids`: of each target the
// mount of its files (MountIdOf()); 0 where it has none. Without an answer within limits::kProbeNs
// nothing is added.
void AddLayers(const std::vector<uint64_t>& mount_ids, v1::Inspection* inspection);

// Whether the settings that phases change underneath the target are there, and whether `policy`
// lets jobs change them on each device that gets them. The target gets these devices, their bytes,
// and what stands for the options of file systems. Errors name the device.
absl::Status CheckSettings(const HostPolicy& policy, const v1::Inspect& request,
                           const std::vector<v1::StorageLayer>& layers,
                           v1::TargetInspection* found);

}  // namespace lockstep::worker
