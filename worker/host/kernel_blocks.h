#pragma once

#include <sys/types.h>

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/worker.pb.h"
#include "worker/host/kernel_uses.h"

namespace lockstep::worker {

// The devices that a device is a part of, or is made of.
struct BlockDeviceParts {
  std::string parent;        // the disk of a partition
  uint64_t start_bytes = 0;  // in it
  uint64_t size_bytes = 0;
  std::vector<std::string> underneath;  // of a mapped device (dm, md)
};

// The names in a folder of sysfs, sorted; none where there is no such folder.
std::vector<std::string> EntriesOf(const std::string& folder);
// The number at the start of a text; 0 where there is none.
uint64_t NumberIn(const std::string& text);

// Block devices as the kernel describes them: sysfs, udev's database, the mounts and the swaps
// (sysfs(5), udev(7)). No device is opened. /sys, /run and /proc are read below `root`: tests have
// their own. Immutable; thread-safe.
class KernelBlocks {
 public:
  explicit KernelBlocks(std::string root = "") : root_(std::move(root)) {}

  // All with a size, whole disks and partitions, by name.
  std::vector<v1::BlockDevice> List() const;
  // Describes a device whose name exists.
  v1::BlockDevice Describe(const std::string& name) const;
  // The kernel's name of the device with this number: sda1. NOT_FOUND when there is none.
  absl::StatusOr<std::string> NameOf(dev_t number) const;
  // Its number; 0 where there is no such device.
  dev_t NumberOf(const std::string& name) const;
  // As BlockDevice::identity; empty when it has none.
  std::string IdentityOf(const std::string& name) const;
  // The suffix of a partition's identity, behind its disk's: "-part1". Empty for whole disks.
  std::string PartitionSuffixOf(const std::string& name) const;
  BlockDeviceParts PartsOf(const std::string& name) const;
  // The whole disk of a partition, or the device itself.
  std::string WholeDiskOf(const std::string& name) const;
  // The paths of a multipath device, or the device itself as its only path, with their states as
  // the kernel has them: running, offline, optimized, connecting. Nothing if the device has no
  // state.
  std::vector<v1::DevicePath> PathsOf(const std::string& name) const;
  // The kind of a whole disk or mapped device: lvm, crypt, multipath, dm, "md raid1", drbd, loop.
  // For another disk its transport, or "disk" where that is not known.
  std::string KindOf(const std::string& disk) const;
  // A zoned device that takes writes only at each zone's write pointer.
  bool IsHostManaged(const std::string& name) const;
  // dm's or NVMe's own.
  bool IsMultipath(const std::string& name) const;
  // Why a device must never be written: "mounted on /data", "in use as swap", "held by dm-0 (LVM,
  // md or multipath)". Looks at the device, its partitions, the disk that it is a partition of, and
  // loop devices over the same bytes. A loop device over another device has that one's name for
  // use. Empty when nothing uses it.
  std::string UseOf(const std::string& name) const;
  // Other devices that show the same bytes, or some of them: the disk of a partition, the
  // partitions of a disk, the paths of a multipath device.
  std::vector<std::string> OtherNodesOf(const std::string& name) const;
  // Every other device that shows some of its bytes: OtherNodesOf(), and loop devices over the same
  // file or over any of these, with their partitions.
  std::vector<std::string> AliasesOf(const std::string& name) const;
  // The backing of a loop device, or the disk of a partition: its attachment, file, offset and
  // length, as a text to compare. Asks no file system.
  std::string ShownBy(const std::string& name) const;
  // The file to write 1 to where the counters of the device, or of one of OtherNodesOf(), are
  // switched off (Documentation/ABI/stable/sysfs-block, iostats). Empty where all count.
  std::string NotCountedBy(const std::string& name) const;
  // How many sectors have been written to the device and discarded on it, by its own name and by
  // OtherNodesOf(), as a text to compare. Writes to a partition's neighbours do not count.
  std::string WrittenSoFar(const std::string& name) const;
  // The loop devices that are attached, with what their paths lead to.
  std::vector<LoopEntry> Loops() const;
  // The use of a loop device over a file, or of another one that shows the same bytes: "loop0,
  // which is mounted on /data". Empty when nothing uses them.
  std::string UseOfFileUnder(const std::string& loop_name) const;

  // A loop device's identity is that of its file, and of the part of it where it is not all:
  // "loop-file:8:1:131@1048576+67108864" (offset and length, the latter only with a size limit).
  static std::string LoopIdentity(dev_t device, uint64_t inode, uint64_t offset,
                                  uint64_t size_limit);

 private:
  // In sectors of 512 bytes.
  struct Writes {
    uint64_t written = 0, discarded = 0;
    bool operator==(const Writes&) const = default;
  };
  Writes WritesOf(const std::string& name) const;
  // To a disk, beside what went to its partitions.
  Writes WritesPastPartitions(const std::string& disk) const;
  std::string Folder(const std::string& name) const;
  // A file of the device's folder, without white space at its ends; empty where there is none.
  std::string Read(const std::string& name, const std::string& file) const;
  bool IsPartition(const std::string& name) const;
  std::string ParentOf(const std::string& partition) const;
  std::vector<std::string> PartitionsOf(const std::string& disk) const;
  // A property that udev has found; empty where there is none.
  std::string UdevOf(const std::string& name, const std::string& key) const;
  std::vector<std::string> HiddenPathsOf(const std::string& name) const;
  std::string TransportOf(const std::string& disk) const;
  std::string SerialOf(const std::string& disk) const;
  // Fills in model, serial, transport and queue of a whole disk.
  void DescribeQueue(const std::string& disk, v1::BlockDevice* device) const;
  v1::BlockDevice Describe(const std::string& name, const KernelUses& uses) const;
  std::string UseOf(const std::string& name, const KernelUses& uses) const;
  // The use of the device, or of one of its partitions.
  std::string WholeUseOf(const std::string& disk, const KernelUses& uses) const;
  // Through other loop devices that show bytes of it.
  std::string UseThroughLoops(const std::string& name, const KernelUses& uses) const;
  // As WholeUseOf(), and whether anybody holds it (it is opened to look).
  std::string UseOfLoop(const std::string& loop, const KernelUses& uses) const;
  // These loop devices, and all others over them, over their files, or over these disks.
  std::vector<const LoopEntry*> LoopsOver(std::vector<const LoopEntry*> found,
                                          std::set<dev_t> disks, const KernelUses& uses) const;
  // The use of the device itself, not of its partitions.
  std::string DirectUseOf(const std::string& name, const KernelUses& uses) const;

  const std::string root_;
};

}  // namespace lockstep::worker
