#pragma once

#include <sys/types.h>

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
};

// What the kernel has mounted and swaps on, at one moment (proc_pid_mountinfo(5), proc(5)).
// Immutable; thread-safe.
class KernelUses {
 public:
  // `root` is where /proc is looked for.
  explicit KernelUses(const std::string& root);

  // Of a device; later mounts last.
  std::vector<const MountEntry*> MountsOf(dev_t number) const;
  bool IsSwap(dev_t number) const { return swaps_.contains(number); }
  // What is mounted exactly there, the topmost; null when nothing is.
  const MountEntry* MountAt(const std::string& target) const;

 private:
  std::vector<MountEntry> mounts_;
  std::set<dev_t> swaps_;
};

}  // namespace lockstep::worker
