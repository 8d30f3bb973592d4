#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

#include "absl/status/statusor.h"
#include "proto/worker.pb.h"

namespace lockstep::worker {

// All block devices of this kernel with a size, whole disks and partitions, with their identities and what is on
// them. Slow (it reads the devices' first sectors): for registration and `lockstep devices`, not for a hot path.
std::vector<v1::BlockDevice> ListBlockDevices();

// The device with this number. NOT_FOUND when the kernel has none.
absl::StatusOr<v1::BlockDevice> DescribeBlockDevice(dev_t number);

// The whole disk of a partition, or the device itself: what /proc/diskstats counts with merges and queue. NOT_FOUND
// for device numbers that are no block device's, as tmpfs's or overlay's.
absl::StatusOr<std::string> WholeDiskOf(dev_t number);

// Why a device must never be written: "mounted on /data", "in use as swap", "held by dm-0 (LVM, md or multipath)".
// Looks at the device, its partitions and the disk that it is a partition of. Empty when nothing uses it.
std::string UseOf(const std::string& name);

// What a device carries although nothing uses it now: "an ext4 file system", "a gpt partition table". Empty when
// blank. UNAVAILABLE or PERMISSION_DENIED when it cannot be read.
absl::StatusOr<std::string> SignatureOf(const std::string& path);

}  // namespace lockstep::worker
