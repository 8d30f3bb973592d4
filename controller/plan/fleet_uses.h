#pragma once

#include <map>
#include <string>
#include <vector>

#include "controller/plan/selection.h"
#include "proto/controller.pb.h"

namespace lockstep::controller {

// Whether the job writes a block device or a LUN, which other hosts may have mounted.
bool WritesDevices(const v1::JobSpec& job);

// A device as all hosts know it: its identity; of those that only one kernel calls so (loop
// devices, zram) with the kernel's boot id.
std::string DeviceKey(const std::string& identity, const std::string& boot_id);

// The uses of devices by the kernels of a fleet. Immutable.
class FleetUses {
 public:
  // `kernels` outlives this.
  explicit FleetUses(const v1::DevicesReply& kernels);
  // The disk of a partition; empty for what is none. Keys are DeviceKey()'s.
  std::string DiskOf(const std::string& key) const;
  // The hosts that have the device, its disk or a partition of it mounted, in swap, or as a part of
  // something, in words: "node3 has it as /dev/sdb, which is mounted on /data".
  std::vector<std::string> Of(const std::string& key) const;

 private:
  std::map<std::string, std::string> disks_;                  // partition → disk
  std::multimap<std::string, std::string> by_key_, by_disk_;  // → words
};

// Why the job must not write its devices: a host of the fleet, in the job or not, has one of them,
// its disk or a partition of it mounted, in swap, or as a part of something; or it did not say.
// `kernels`: what each attached host's kernel says. Pure.
std::vector<std::string> UsesInFleet(const v1::JobSpec& job, const std::vector<PlanWorker>& workers,
                                     const v1::DevicesReply& kernels);

}  // namespace lockstep::controller
