#include "worker/host/storage_servers.h"

#include <arpa/inet.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/files.h"
#include "worker/host/mount_table.h"

namespace lockstep::worker {
namespace {

// The limit for one stack. No servers are looked for beyond it.
constexpr size_t kMaxDevices = 1024;

bool IsNumericAddress(const std::string& text) {
  in6_addr bytes;
  const std::string address = text.substr(0, text.find('%'));
  return inet_pton(AF_INET, address.c_str(), &bytes) == 1 ||
         inet_pton(AF_INET6, address.c_str(), &bytes) == 1;
}

// Addresses between separators, each with or without a port.
std::vector<std::string> AddressesIn(const std::string& text, char separator) {
  std::vector<std::string> found;
  for (const auto part : absl::StrSplit(text, separator, absl::SkipEmpty())) {
    const std::string host = HostIn(std::string(part));
    if (IsNumericAddress(host) && std::find(found.begin(), found.end(), host) == found.end()) {
      found.push_back(host);
    }
  }
  return found;
}

// Monitors: the clients' traffic goes to other daemons, whose addresses the kernel does not tell,
// usually in the same network. "a:6789,b:6789:/path", or since Linux 5.17 "name@fsid.fs=/path" with
// mon_addr=a:6789/b:6789.
std::vector<std::string> CephMonitors(const MountLine& mount) {
  const std::string option = MountOption(mount.filesystem_options, "mon_addr");
  if (!option.empty()) return AddressesIn(option, '/');
  return AddressesIn(mount.source.substr(0, mount.source.find(":/")), ',');
}

// "10.0.0.1@tcp:10.0.0.2@tcp:/fs": the nodes of the management service.
std::vector<std::string> LustreNodes(const std::string& source, bool* has_other_networks) {
  std::vector<std::string> found;
  for (const auto node :
       absl::StrSplit(source.substr(0, source.find(":/")), absl::ByAnyChar(":,"))) {
    const std::vector<std::string> parts = absl::StrSplit(node, '@');
    // Without a network the node is of tcp0.
    if (parts.size() > 1 && !absl::StartsWith(parts[1], "tcp")) {
      *has_other_networks = true;
    } else if (IsNumericAddress(parts[0])) {
      found.push_back(parts[0]);
    }
  }
  return found;
}

constexpr char kRdma[] = "its traffic is RDMA, which interfaces do not count";

// The component of a path in sysfs that is `prefix` with a number behind it; empty without one.
std::string NumberedIn(const std::string& path, const std::string& prefix) {
  for (const auto part : absl::StrSplit(path, '/')) {
    const auto rest = absl::StartsWith(part, prefix) ? part.substr(prefix.size()) : "";
    if (!rest.empty() && rest.find_first_not_of("0123456789") == std::string::npos) {
      return std::string(part);
    }
  }
  return "";
}

// Adds the connections of a SCSI disk of the kernel's own initiator: those of its session.
void AddIscsi(const std::string& root, const std::string& disk, std::vector<StorageServer>* out) {
  char resolved[PATH_MAX];
  if (realpath(absl::StrCat(root, "/sys/class/block/", disk, "/device").c_str(), resolved) ==
      nullptr) {
    return;
  }
  const std::string session = NumberedIn(resolved, "session");
  if (session.empty()) return;
  const std::string host = NumberedIn(resolved, "host");
  StorageServer server;
  server.protocol = "iscsi";
  const std::string driver =
      common::ReadTrimmed(absl::StrCat(root, "/sys/class/scsi_host/", host, "/proc_name"));
  if (!driver.empty() && driver != "iscsi_tcp") {
    server.not_known = absl::StrCat("its driver ", driver, " has a network stack of its own");
    out->push_back(server);
    return;
  }
  server.interface =
      common::ReadTrimmed(absl::StrCat(root, "/sys/class/iscsi_host/", host, "/netdev"));
  const std::string connections = root + "/sys/class/iscsi_connection";
  const std::string prefix = absl::StrCat("connection", session.substr(strlen("session")), ":");
  for (const std::string& entry : EntriesOf(connections)) {
    if (!absl::StartsWith(entry, prefix)) continue;
    server.address = HostIn(common::ReadTrimmed(absl::StrCat(connections, "/", entry, "/address")));
    // While a session is being recovered it has no address.
    server.not_known = IsNumericAddress(server.address) ? "" : "its session has no connection";
    out->push_back(server);
  }
}

// Adds the address of the controller of a namespace, or of a path to one.
void AddNvme(const std::string& root, const std::string& path, std::vector<StorageServer>* out) {
  const std::string controller = absl::StrCat(root, "/sys/class/block/", path, "/device/");
  const std::string transport = common::ReadTrimmed(controller + "transport");
  if (transport != "tcp" && transport != "rdma") return;
  StorageServer server;
  server.protocol = "nvme-" + transport;
  const std::string address = common::ReadTrimmed(controller + "address");
  server.address = HostIn(MountOption(address, "traddr"));
  server.interface = MountOption(address, "host_iface");
  if (transport == "rdma") {
    server.not_known = kRdma;
  } else if (!IsNumericAddress(server.address)) {
    server.not_known = "its controller has no address";
  }
  out->push_back(server);
}

// The disks underneath a device. Devices of a stack may share their parts: each is visited once.
void AddDisks(const KernelBlocks& blocks, const std::string& name, std::set<std::string>* visited,
              std::set<std::string>* disks) {
  if (visited->size() >= kMaxDevices || !visited->insert(name).second) return;
  const BlockDeviceParts parts = blocks.PartsOf(name);
  if (!parts.parent.empty()) {
    AddDisks(blocks, parts.parent, visited, disks);
  } else if (parts.underneath.empty()) {
    disks->insert(name);
  }
  for (const std::string& below : parts.underneath) AddDisks(blocks, below, visited, disks);
}

}  // namespace

std::string HostIn(const std::string& address) {
  if (absl::StartsWith(address, "[")) {
    return address.substr(1, std::min(address.find(']'), address.size()) - 1);
  }
  const size_t colon = address.find(':');
  // With several colons it is an IPv6 address without a port.
  return colon == address.rfind(':') ? address.substr(0, colon) : address;
}

// The numbers are those of statfs(2), Lustre's and BeeGFS's those of their sources.
std::string FileSystemName(int64_t type) {
  static const std::map<int64_t, std::string> kNames = {
      {0xef53, "ext4"},      {0x58465342, "xfs"},  {0x01021994, "tmpfs"},   {0x9123683e, "btrfs"},
      {0x6969, "nfs"},       {0x65735546, "fuse"}, {0x794c7630, "overlay"}, {0xff534d42, "smb"},
      {0xfe534d42, "smb"},   {0x517b, "smb"},      {0x00c36400, "ceph"},    {0x0bd00bd0, "lustre"},
      {0x19830326, "beegfs"}};
  const auto found = kNames.find(type);
  return found == kNames.end() ? absl::StrCat("type 0x", absl::Hex(type)) : found->second;
}

std::vector<StorageServer> ServersOfMount(const std::string& mounts, dev_t device,
                                          uint64_t mount_id) {
  MountLine mount;
  // The later one of two mounts at one path covers the other.
  for (MountLine& line : ParseMountInfo(mounts)) {
    if (line.number != device) continue;
    const bool is_meant = mount_id != 0 && static_cast<uint64_t>(line.id) == mount_id;
    mount = std::move(line);
    if (is_meant) break;
  }
  StorageServer server;
  server.protocol = ServedProtocolOf(mount.type);
  if (server.protocol.empty()) return {};
  server.mount_escaped = mount.written_target;
  server.mount = mount.target;
  std::vector<std::string> addresses;
  bool is_rdma = MountOption(mount.filesystem_options, "proto") == "rdma" ||
                 HasMountOption(mount.filesystem_options, "rdma");
  if (server.protocol == "ceph") {
    addresses = CephMonitors(mount);
  } else if (server.protocol == "lustre") {
    addresses = LustreNodes(mount.source, &is_rdma);
  } else {
    const std::string address = MountOption(mount.filesystem_options, "addr");
    if (IsNumericAddress(address)) addresses.push_back(address);
  }
  if (is_rdma) addresses.clear();
  std::vector<StorageServer> servers;
  for (const std::string& address : addresses) {
    servers.push_back(server);
    servers.back().address = address;
  }
  if (!servers.empty()) return servers;
  server.not_known = is_rdma ? kRdma : "its mount has no address of the server";
  return {server};
}

std::vector<StorageServer> ServersOfDevice(const KernelBlocks& blocks, const std::string& root,
                                           const std::string& name) {
  std::set<std::string> disks;
  std::set<std::string> visited;
  AddDisks(blocks, name, &visited, &disks);
  std::vector<StorageServer> servers;
  for (const std::string& disk : disks) {
    if (!absl::StartsWith(disk, "nvme")) {
      AddIscsi(root, disk, &servers);
      continue;
    }
    // With the kernel's own multipath each controller has a path of its own.
    const auto paths = blocks.PathsOf(disk);
    for (const v1::DevicePath& path : paths) AddNvme(root, path.name(), &servers);
    if (paths.empty()) AddNvme(root, disk, &servers);
  }
  return servers;
}

}  // namespace lockstep::worker
