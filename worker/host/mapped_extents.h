#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lockstep::worker {

// A part of a mapped device, and where it lies underneath. In bytes.
struct MappedExtent {
  uint64_t begin = 0, end = 0;  // of the mapped device
  dev_t device = 0;             // underneath
  uint64_t device_begin = 0, device_end = 0;
  // Byte for byte: a part of the extent is a part of the device, at the same distance from its
  // begin. A stripe has its bytes somewhere in the device's extent.
  bool is_linear = false;
};

// The extents of one line of a device mapper's table, as DM_TABLE_STATUS gives it. `begin` and
// `sectors` of 512 bytes. Nothing for targets other than linear and striped, and for parameters
// that are not of their form. Pure.
std::optional<std::vector<MappedExtent>> ParseMapped(const std::string& target, uint64_t begin,
                                                     uint64_t sectors,
                                                     const std::string& parameters);

// The extents of a logical volume, which the kernel must be asked for by its device mapper
// (linux/dm-ioctl.h): sysfs has only the devices underneath. Nothing where the kernel does not
// answer, as without CAP_SYS_ADMIN, or where a part of it is of another kind (a snapshot, a thin
// volume). To be called for LVM's devices alone: the table of dm-crypt has its key.
std::optional<std::vector<MappedExtent>> MappedExtentsOf(dev_t mapped);

}  // namespace lockstep::worker
