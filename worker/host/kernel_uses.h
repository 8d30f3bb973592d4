#pragma once

#include <sys/types.h>

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace lockstep::worker {

// A mounted file system.
struct MountEntry {
  dev_t number = 0;  // of the mount; btrfs and overlays have numbers of their own
  dev_t source = 0;  // of the block device that it is mounted from; 0 when there is none
  std::string target, type;
  std::string options;             // of the mount point: rw,noatime
  std::string filesystem_options;  // of the file system: rw,errors=remount-ro
  int id = 0;                      // of the mount, which another one may get after an unmount
};

// A loop device, and what it is over: a file, or another device.
struct LoopEntry {
  std::string name;
  std::string backing;  // the path as the kernel has it; with " (deleted)" when it is
  dev_t disk = 0;       // 0: it is over a file
  // The device number of a file, as its path leads now. 0 if it is not known: a network file system
  // is not queried, because it might not answer.
  dev_t device = 0;
  uint64_t inode = 0;
};

// The kernel's uses of files and devices at one moment: mounts, swaps, and files behind loop
// devices (proc_pid_mountinfo(5), proc(5), loop(4)). Immutable; thread-safe.
class KernelUses {
 public:
  // `root` is where /proc and /sys are looked for.
  explicit KernelUses(const std::string& root);

  // The mounts of a device, later ones last.
  std::vector<const MountEntry*> MountsOf(dev_t number) const;
  bool IsSwap(dev_t number) const { return swaps_.contains(number); }
  const std::vector<LoopEntry>& loops() const { return loops_; }
  // The topmost mount exactly at `target`; null when there is none.
  const MountEntry* MountAt(const std::string& target) const;

 private:
  bool IsOnNetwork(const std::string& path) const;
  void FindLoops(const std::string& root);

  std::vector<MountEntry> mounts_;
  std::set<dev_t> swaps_;
  std::vector<LoopEntry> loops_;
};

}  // namespace lockstep::worker
