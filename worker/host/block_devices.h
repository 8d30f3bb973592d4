#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/worker.pb.h"

namespace lockstep::worker {

// All block devices of this kernel with a size, whole disks and partitions, with their identities
// and who uses them. From sysfs alone: no device is opened. What is on those that are `allowed` is
// for whoever may open them to find out.
std::vector<v1::BlockDevice> ListBlockDevices();

// The device with this number. With `fd`, the device itself open for reading, a loop device's file
// is the one that the kernel has, not what now has its name. NOT_FOUND when the kernel has none.
absl::StatusOr<v1::BlockDevice> DescribeBlockDevice(dev_t number, int fd = -1);

// The kernel's name of the device with this number: sda1. NOT_FOUND when there is none.
absl::StatusOr<std::string> NameOfNumber(dev_t number);
// As BlockDevice::identity; empty when it has none.
std::string IdentityOfDevice(const std::string& name);
std::string IdentityOfNumber(dev_t number);

// What a device is a part of, or is made of.
struct BlockDeviceParts {
  std::string parent;        // the disk of a partition
  uint64_t start_bytes = 0;  // in it
  uint64_t size_bytes = 0;
  std::vector<std::string> underneath;  // of a mapped device (dm, md)
};
BlockDeviceParts PartsOf(const std::string& name);

// The whole disk of a partition, or the device itself: what /proc/diskstats counts with merges and
// queue. NOT_FOUND for device numbers that are no block device's, as tmpfs's or overlay's.
absl::StatusOr<std::string> WholeDiskOf(dev_t number);

// Why a device must never be written: "mounted on /data", "in use as swap", "held by dm-0 (LVM, md
// or multipath)". Looks at the device, its partitions and the disk that it is a partition of. Empty
// when nothing uses it.
std::string UseOf(const std::string& name);

// What a device carries although nothing uses it now: "an ext4 file system", "a gpt partition
// table". Empty when blank. `fd`: the device, open for reading; `path` is for words. UNAVAILABLE
// when it cannot be read.
absl::StatusOr<std::string> SignatureOf(int fd, const std::string& path);

}  // namespace lockstep::worker
