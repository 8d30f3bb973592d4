#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "worker/host/kernel_blocks.h"

namespace lockstep::worker {

// A server that serves a file system or a device over IP.
struct StorageServer {
  std::string protocol;       // iscsi, nvme-tcp, nfs, smb, ceph, lustre
  std::string address;        // numeric; empty where it is not known
  std::string interface;      // that the connection is bound to; empty: the route decides
  std::string mount;          // where the file system is mounted
  std::string mount_escaped;  // the same as mountinfo and mountstats write it
  std::string not_known;      // why there is no address
};

// A file system's name by its number in statfs(2): ext4, nfs, smb, ceph, lustre, …; "type 0x…" for
// others.
std::string FileSystemName(int64_t type);

// The servers of the network file system with this device number. `mounts`: as
// /proc/self/mountinfo. It may be mounted at several places: `mount_id` is the one that is meant,
// and 0 is the last one. None for other file systems. Asks no server.
std::vector<StorageServer> ServersOfMount(const std::string& mounts, dev_t device,
                                          uint64_t mount_id = 0);

// The servers of a block device: of the disks underneath it, those that are iSCSI or NVMe/TCP. By
// what sysfs says of their sessions and controllers. `root` as of `blocks`.
std::vector<StorageServer> ServersOfDevice(const KernelBlocks& blocks, const std::string& root,
                                           const std::string& name);

// "10.0.0.1" of "10.0.0.1:3260", "fe80::1%eth0" of "[fe80::1%eth0]:3260" and of itself.
std::string HostIn(const std::string& address);

}  // namespace lockstep::worker
