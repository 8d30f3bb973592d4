#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "worker/host/mount_table.h"

namespace lockstep::worker {

// The tree of mounts (proc_pid_mountinfo(5)), and the locations that paths lead to by it. No file
// system is asked that may wait for a server: not even a link on it is read. Immutable;
// thread-safe.
class MountTree {
 public:
  struct Mount : MountLine {
    bool is_local = false;  // whether this kernel answers for the names on it by itself
  };
  // `root` is where /proc is, and where paths are looked up: tests have their own.
  explicit MountTree(const std::string& root = "");
  // `mountinfo`: as /proc/self/mountinfo.
  MountTree(std::string root, const std::string& mountinfo);
  MountTree(const MountTree&) = delete;
  MountTree& operator=(const MountTree&) = delete;

  // The mount, and the path on it, that a path leads to.
  struct Location {
    const Mount* mount = nullptr;
    std::string path;  // without links, as far as these could be read
    // Whether all links were read, and the file itself can be asked without waiting for a server.
    bool is_local = false;
  };
  // INVALID_ARGUMENT for a path that is not absolute, FAILED_PRECONDITION for too many links.
  absl::StatusOr<Location> Find(const std::string& path) const;
  // The mounts that paths beneath this directory, which has no links in it, lead to.
  std::vector<const Mount*> Beneath(const std::string& directory) const;
  // The mounts of this one's file system, itself among them: first those of all of it, in the order
  // of the table, then bind mounts of its directories.
  std::vector<const Mount*> OfSameFilesystem(const Mount& mount) const;
  // The mount with this id; null where there is none.
  const Mount* WithId(uint64_t id) const;
  // On which server, or in which memory, its files are: "nfs4 (nas:/export)".
  static std::string Describe(const Mount& mount);

 private:
  // Whether all layers of an overlay are on file systems that are local.
  bool HasLocalLayers(const Mount& overlay) const;
  // Whether the file of a loop device that is mounted is.
  bool HasLocalFile(const Mount& loop) const;
  // The topmost mount at `path` over `below`; `below` itself where there is none.
  const Mount* Topmost(const Mount* below, const std::string& path) const;

  const std::string root_;
  std::vector<Mount> mounts_;
  // By the parent's id and the target: hosts of containers have thousands of mounts.
  std::map<std::pair<int, std::string>, const Mount*> by_place_;
  const Mount* top_ = nullptr;  // of /; null where the table could not be read
};

// A loop device's file by the path that sysfs has of it. For a file that has lost its name, its
// former directory. Pure.
std::string PathOfBackingFile(const std::string& backing);

}  // namespace lockstep::worker
