#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/limits.h"
#include "proto/worker.pb.h"
#include "worker/host/kernel_blocks.h"
#include "worker/host/mount_tree.h"

namespace lockstep::worker {

// Finds the layers of storage underneath file systems and devices, down to the disks: from a mount
// to its devices (btrfs has several) or to the file systems underneath an overlay, from a mapped
// device to its parts, from a loop device to the file system of its file. It reads sysfs (sysfs(5))
// and a table of mounts, and opens no device. It looks up the directories of overlays and the files
// of loop devices by their paths, and asks no server for that (MountTree). Not thread-safe.
class StorageLayers {
 public:
  // `root` as KernelBlocks'; `mountinfo` as in /proc/self/mountinfo (proc_pid_mountinfo(5)).
  // `max_layers`: what lies beyond is left out.
  StorageLayers(const std::string& root, const std::string& mountinfo,
                size_t max_layers = static_cast<size_t>(limits::kStorageLayers));

  // Adds the layers underneath the mount with this id, or underneath this block device, unless they
  // are there. Returns the number of the topmost layer, from 1. 0: there is no such mount or
  // device, or there are too many layers.
  uint32_t AddMount(uint64_t mount_id);
  uint32_t AddDevice(const std::string& name);
  // The kernel's name of the device that this path is of; empty where it is of none.
  std::string DeviceNamed(const std::string& path) const;

  // Each comes after those underneath it. In a circle the last link is left out, and so is what
  // lies deeper than 32 layers.
  const std::vector<v1::StorageLayer>& layers() const { return layers_; }

 private:
  uint32_t AddFilesystem(const MountLine& mount);
  // The layer with this key, made of the layers that `find_parts` adds.
  template <typename FindParts>
  uint32_t Add(const std::string& key, v1::StorageLayer layer, FindParts find_parts);
  void AddPartsOf(const MountLine& mount, std::set<uint32_t>* parts);
  void AddPartsOf(const std::string& disk, std::set<uint32_t>* parts);
  // Adds the layers of the file or device that the path leads to.
  uint32_t AddPath(const std::string& path);
  // The devices of the btrfs that this device is one of.
  std::vector<std::string> BtrfsDevices(const std::string& device) const;
  // Empty where only a server could say it.
  std::string IdentityOf(const std::string& disk) const;

  const std::string root_;
  const size_t max_layers_;
  const KernelBlocks kernel_;
  const MountTree mounts_;
  std::vector<v1::StorageLayer> layers_;
  std::map<std::string, uint32_t> numbers_;  // by key
  std::set<std::string> in_progress_;        // keys of the layers above the one that is being added
};

// The mount that a descriptor was opened through, also by O_PATH; 0 where the kernel does not say.
uint64_t MountIdOf(int fd);

// The topmost block devices underneath the layer with this number, whose figures add up: none of
// them lies underneath another one. A device over another one of them is left out, in favour of
// what is underneath it.
std::vector<std::string> TopDevicesUnder(const std::vector<v1::StorageLayer>& layers, uint32_t top);

// All layers underneath the one with this number, and the devices among them, by name.
std::set<uint32_t> LayersBelow(const std::vector<v1::StorageLayer>& layers, uint32_t number);
std::set<std::string> DevicesBelow(const std::vector<v1::StorageLayer>& layers, uint32_t number);

// Adds layers to an inspection's, each once: a device or a mount point that is among them already
// is not added again. Returns their numbers there; 0 for what is left out because there are
// limits::kStorageLayers.
std::vector<uint32_t> MergeLayers(const std::vector<v1::StorageLayer>& layers,
                                  v1::Inspection* inspection);

// The devices underneath whose queues a phase can change: on each way down the first one that keeps
// requests in a queue. Most mapped devices (dm, md) keep none and pass each I/O on: the kernel
// offers them no scheduler. A multipath device may have one, and the kernel then uses no scheduler
// of its paths.
std::vector<std::string> QueuesUnder(const std::string& root,
                                     const std::vector<v1::StorageLayer>& layers, uint32_t top);

// The devices that keep the read-ahead of what lies on the layer: on each way down the first one.
// FAILED_PRECONDITION where a file system keeps it (btrfs, bcachefs).
absl::StatusOr<std::vector<std::string>> ReadAheadDevicesUnder(
    const std::vector<v1::StorageLayer>& layers, uint32_t top);

}  // namespace lockstep::worker
