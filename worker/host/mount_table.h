#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace lockstep::worker {

// A line of /proc/self/mountinfo (proc_pid_mountinfo(5)).
struct MountLine {
  int id = 0;
  int parent = 0;
  dev_t number = 0;    // of the block device; major 0 where there is none, as for NFS and btrfs
  std::string root;    // the directory of the file system that is mounted
  std::string target;  // where it is mounted
  std::string written_target;  // the same as mountinfo and mountstats write it, with escapes
  std::string type;            // ext4, nfs4, …
  std::string source;          // /dev/sda1, nas:/export, tmpfs
  // The options of the mount and of its file system, as they are written, with escapes.
  std::string options, filesystem_options;
};

// The lines, in their order: a mount comes after those that it covers. Malformed lines are left
// out. libmount is no help here: it decodes the escapes of options, and a comma in the name of an
// overlay's directory is then like the one between two options. Pure.
std::vector<MountLine> ParseMountInfo(const std::string& text);

// The protocol over IP that file systems of this type speak to their servers: nfs, smb, ceph or
// lustre. Empty for other file systems. Pure.
std::string ServedProtocolOf(const std::string& type);

// The value of an option, without escapes: "/a" for upperdir in "rw,lowerdir=/b,upperdir=/a". Empty
// without the option or without a value. Pure.
std::string MountOption(const std::string& options, const std::string& name);

// Whether `options` has `option`, as a whole: "metacopy=on", or "rdma" without a value. Pure.
bool HasMountOption(const std::string& options, const std::string& option);

// The directories that an overlay is made of, as they were given at the mount: the upper one first,
// which gets what is written. `options`: of the file system. Pure.
std::vector<std::string> OverlayDirectories(const std::string& options);

}  // namespace lockstep::worker
