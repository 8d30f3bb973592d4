#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/files.h"
#include "worker/host/mount_tree.h"

namespace lockstep::worker {

// The locations of the bytes of a file on an overlay: paths of the same file in the overlay's
// directories, the upper one first, which gets the writes. `path`: of the file, as the mount
// namespace has it. `base`: the directory that the overlay's relative directories lie in; empty
// where it is not known. Empty where the path is not beneath the mount, and where such a base is
// needed. Pure.
std::vector<std::string> PathsUnderOverlay(const MountLine& overlay, const std::string& path,
                                           const std::string& base = "");

// Finds the files that overlays show under names of their own. Nothing is found where a directory
// of the overlay has another path here, as in a container, or lies on a server. Not thread-safe.
class OverlayFiles {
 public:
  // The files that hold the bytes of this one, by O_PATH: one, or with metacopy those of all
  // directories. None for a file on no overlay. `device`: the number of its file system, which is
  // asked once what it is: a server's takes time for each answer.
  std::vector<common::FileDescriptor> Under(const common::FileDescriptor& file, dev_t device);

 private:
  // The mount with this number, null where there is none. The table is read when it lacks it.
  const MountTree::Mount* MountOf(uint64_t id);
  // The directory that the mount's relative directories lie in; empty where none is found.
  const std::string& BaseOf(const MountTree::Mount& mount);

  std::unique_ptr<MountTree> mounts_;
  std::map<dev_t, bool> is_overlay_;
  std::map<uint64_t, std::string> bases_;  // by the mount's number
};

}  // namespace lockstep::worker
