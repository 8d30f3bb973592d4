#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace lockstep::worker {

// What is mounted where (proc_pid_mountinfo(5)), and where paths lead by that. No file system is
// asked that may wait for a server: not even a link on it is read. Immutable; thread-safe.
class MountTree {
 public:
  struct Mount {
    int id = 0;
    int parent = 0;
    dev_t number = 0;     // of the block device; major 0 where there is none, as for NFS and btrfs
    std::string target;   // where it is mounted
    std::string type;     // ext4, nfs4, …
    std::string source;   // /dev/sda1, nas:/export, tmpfs
    std::string options;  // of the file system
    bool is_local = false;  // whether this kernel answers for the names on it by itself
  };
  // `root` is where /proc is, and where paths are looked up: tests have their own.
  explicit MountTree(std::string root = "");
  MountTree(const MountTree&) = delete;
  MountTree& operator=(const MountTree&) = delete;

  // Where a path leads.
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
  // On which server, or in which memory, its files are: "nfs4 (nas:/export)".
  static std::string Describe(const Mount& mount);

 private:
  // Whether all layers of an overlay are on file systems that are local.
  bool HasLocalLayers(const Mount& overlay) const;
  // What is mounted at `path` over `below`, the topmost; `below` where nothing is.
  const Mount* Topmost(const Mount* below, const std::string& path) const;

  const std::string root_;
  std::vector<Mount> mounts_;
  const Mount* top_ = nullptr;  // of /; null where the table could not be read
};

// The value of an option of a mount: "/a" for upperdir in "rw,lowerdir=/b,upperdir=/a". Empty
// without the option or without a value. Pure.
std::string MountOption(const std::string& options, const std::string& name);

}  // namespace lockstep::worker
