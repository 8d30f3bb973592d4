#pragma once

#include <linux/if_link.h>
#include <linux/rtnetlink.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "worker/host/net_links.h"

namespace lockstep::worker {

// What the kernel says of mounts and interfaces, for tests of the network of storage.

inline constexpr char kMounts[] =
    "36 25 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
    "90 25 0:52 / /mnt/my\\040nas rw shared:7 master:2 - nfs4 nas:/export "
    "rw,vers=4.2,rsize=1048576,proto=tcp,clientaddr=10.0.0.9,local_lock=none,addr=10.0.0.1\n"
    "91 25 0:53 / /mnt/six rw - nfs nas6:/export rw,proto=tcp6,addr=fd00::1\n"
    "92 25 0:54 / /mnt/win rw - cifs //filer/share rw,vers=3.1.1,addr=10.0.0.2,port=445\n"
    "93 25 0:55 / /mnt/ceph rw - ceph 10.0.0.3:6789,10.0.0.4:6789:/vol rw,name=a\n"
    "94 25 0:56 / /mnt/ceph2 rw - ceph a@b.fs=/ rw,mon_addr=10.0.0.5:3300/[fd00::5]:3300\n"
    "95 25 0:57 / /mnt/lustre rw - lustre 10.0.0.6@tcp:10.0.0.7@tcp:/fs rw\n"
    "96 25 0:58 / /mnt/ib rw - lustre 10.1.0.6@o2ib:/fs rw\n"
    "97 25 0:59 / /mnt/rdma rw - nfs4 nas:/export rw,proto=rdma,addr=10.0.0.1\n"
    "98 25 0:60 / /mnt/f rw - fuse.x x rw,addr=10.0.0.1\n";

// As Linux 6.18 writes it, of two NFS mounts; errors are missing in the second, as before 5.3.
inline std::string MountStats(int reads) {
  return absl::StrCat(
      "device proc mounted on /proc with fstype proc\n"
      "device nas:/export mounted on /mnt/my\\040nas with fstype nfs4 statvers=1.1\n"
      "\topts:\trw,vers=4.2,rsize=1048576,proto=tcp,addr=10.0.0.1\n"
      "\tage:\t4711\n"
      "\tbytes:\t0 0 1 2 3 4 5 6\n"
      "\tRPC iostats version: 1.1  p/v: 100003/4 (nfs)\n"
      "\txprt:\ttcp 0 0 1 0 11 99 99 0 99 0 2 0 0\n"
      "\tper-op statistics\n"
      "\t        NULL: 1 1 0 44 24 0 0 0 0\n"
      "\t        READ: ",
      reads, " ", reads + 1, " 0 ", 184 * reads, " ", 1048688 * reads, " 3 ", 12 * reads, " ",
      13 * reads,
      " 0\n"
      "\t       WRITE: 5 5 0 500 600 1 10 11 0\n"
      "\n"
      "device other:/x mounted on /mnt/x with fstype nfs statvers=1.1\n"
      "\tper-op statistics\n"
      "\t        READ: 7 7 0 1 2 3 4 5\n"
      "\t     GETATTR: garbage\n");
}

// A message of rtnetlink about an interface.
inline std::string LinkMessage(int index, const std::string& name, const std::string& kind,
                               int link, int master, uint64_t sent_bytes,
                               bool is_elsewhere = false) {
  std::string attributes;
  const auto add = [](int type, std::string_view value, std::string* out) {
    rtattr head = {};
    head.rta_type = static_cast<uint16_t>(type);
    head.rta_len = static_cast<uint16_t>(RTA_LENGTH(value.size()));
    out->append(reinterpret_cast<const char*>(&head), sizeof head);
    out->append(value);
    out->resize(RTA_ALIGN(out->size()), '\0');
  };
  const auto number = [](auto value) {
    return std::string(reinterpret_cast<const char*>(&value), sizeof value);
  };
  add(IFLA_IFNAME, std::string_view(name.c_str(), name.size() + 1), &attributes);
  if (link != 0) add(IFLA_LINK, number(int32_t{link}), &attributes);
  if (is_elsewhere) add(IFLA_LINK_NETNSID, number(int32_t{0}), &attributes);
  if (master != 0) add(IFLA_MASTER, number(int32_t{master}), &attributes);
  if (!kind.empty()) {
    std::string info;
    add(IFLA_INFO_KIND, std::string_view(kind.c_str(), kind.size() + 1), &info);
    add(IFLA_LINKINFO, info, &attributes);
  }
  rtnl_link_stats64 stats = {};
  stats.tx_bytes = sent_bytes;
  stats.rx_dropped = 2;
  stats.rx_missed_errors = 3;
  // An older kernel's statistics are shorter.
  add(IFLA_STATS64, number(stats).substr(0, offsetof(rtnl_link_stats64, rx_nohandler)),
      &attributes);
  ifinfomsg fixed = {};
  fixed.ifi_index = index;
  nlmsghdr head = {};
  head.nlmsg_type = RTM_NEWLINK;
  head.nlmsg_len = static_cast<uint32_t>(NLMSG_LENGTH(sizeof fixed) + attributes.size());
  return number(head) + number(fixed) + attributes;
}

// storage.100 is a VLAN on bond0, which has eth0 and eth1; br0 has eth2 and a guest's tap0.
inline std::vector<NetLink> StackedLinks() {
  return ParseLinks(LinkMessage(1, "lo", "", 0, 0, 1) + LinkMessage(2, "eth0", "", 0, 4, 2) +
                    LinkMessage(3, "eth1", "", 0, 4, 3) + LinkMessage(4, "bond0", "bond", 0, 0, 4) +
                    LinkMessage(5, "storage.100", "vlan", 4, 0, 5) +
                    LinkMessage(6, "br0", "bridge", 0, 0, 6) + LinkMessage(7, "eth2", "", 0, 6, 7) +
                    LinkMessage(8, "tap0", "tun", 0, 6, 8) +
                    LinkMessage(9, "veth0", "veth", 2, 0, 9) +
                    LinkMessage(10, "far", "macvlan", 3, 0, 10, /*is_elsewhere=*/true));
}

}  // namespace lockstep::worker
