// The network between a worker and the servers of its targets: by recorded texts and messages, made
// up interfaces, and the loopback interface of this machine.

#include "worker/host/storage_network.h"

#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <sys/sysmacros.h>

#include <cstring>
#include <filesystem>
#include <memory>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/limits.h"
#include "gtest/gtest.h"
#include "tests/worker/host/fake_sysfs.h"

namespace lockstep::worker {
namespace {

namespace fs = std::filesystem;

constexpr char kMounts[] =
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

std::vector<std::string> AddressesOf(dev_t device) {
  std::vector<std::string> found;
  for (const StorageServer& server : ServersOfMount(kMounts, device)) {
    found.push_back(absl::StrCat(server.protocol, " ", server.address));
  }
  return found;
}

TEST(StorageServersTest, AMountSaysItsServer) {
  using List = std::vector<std::string>;
  EXPECT_EQ(AddressesOf(makedev(0, 52)), List{"nfs 10.0.0.1"});
  EXPECT_EQ(AddressesOf(makedev(0, 53)), List{"nfs fd00::1"});
  EXPECT_EQ(AddressesOf(makedev(0, 54)), List{"smb 10.0.0.2"});
  EXPECT_EQ(AddressesOf(makedev(0, 55)), (List{"ceph 10.0.0.3", "ceph 10.0.0.4"}));
  EXPECT_EQ(AddressesOf(makedev(0, 56)), (List{"ceph 10.0.0.5", "ceph fd00::5"}));
  EXPECT_EQ(AddressesOf(makedev(0, 57)), (List{"lustre 10.0.0.6", "lustre 10.0.0.7"}));
  EXPECT_EQ(AddressesOf(makedev(8, 1)), List{});
  EXPECT_EQ(AddressesOf(makedev(0, 60)), List{}) << "a daemon of this host serves it";
  EXPECT_EQ(ServersOfMount("garbage\n1 2\n", makedev(0, 52)).size(), 0u);
  const std::vector<StorageServer> nas = ServersOfMount(kMounts, makedev(0, 52));
  EXPECT_EQ(nas.at(0).mount, "/mnt/my nas");
  EXPECT_EQ(nas.at(0).mount_escaped, "/mnt/my\\040nas");
}

TEST(StorageServersTest, RdmaIsNotCountedByInterfaces) {
  for (const int minor_number : {58, 59}) {
    const auto servers = ServersOfMount(kMounts, makedev(0, minor_number));
    ASSERT_EQ(servers.size(), 1u);
    EXPECT_EQ(servers[0].address, "");
    EXPECT_EQ(servers[0].not_known, "its traffic is RDMA, which interfaces do not count");
  }
}

TEST(StorageServersTest, FileSystemsHaveTheirNames) {
  EXPECT_EQ(FileSystemName(0x6969), "nfs");
  EXPECT_EQ(FileSystemName(0xff534d42), "smb");
  EXPECT_EQ(FileSystemName(0xfe534d42), "smb");
  EXPECT_EQ(FileSystemName(0x00c36400), "ceph");
  EXPECT_EQ(FileSystemName(0x0bd00bd0), "lustre");
  EXPECT_EQ(FileSystemName(0xef53), "ext4");
  EXPECT_EQ(FileSystemName(0x1234), "type 0x1234");
}

TEST(StorageServersTest, AnAddressIsToldFromItsPort) {
  EXPECT_EQ(HostIn("10.0.0.1:3260"), "10.0.0.1");
  EXPECT_EQ(HostIn("10.0.0.1"), "10.0.0.1");
  EXPECT_EQ(HostIn("[fd00::1]:3260"), "fd00::1");
  EXPECT_EQ(HostIn("fe80::1%eth0"), "fe80::1%eth0");
  EXPECT_EQ(HostIn("["), "");
}

// A multipath device over two sessions of the kernel's initiator, and NVMe.
class DeviceServersTest : public ::testing::Test, protected FakeSysfs {
 protected:
  void AddIscsiDisk(const std::string& name, int number, const std::string& address) {
    const std::string n = std::to_string(number);
    AddDisk(name, 8, 16 * number, 2000);
    const std::string where = absl::StrCat("sys/devices/platform/host", n, "/session", n, "/target",
                                           n, ":0:0/", n, ":0:0:1");
    fs::create_directories(root() / where);
    fs::create_symlink(root() / where, root() / "sys/devices" / name / "device");
    Write(absl::StrCat("sys/class/scsi_host/host", n, "/proc_name"), "iscsi_tcp\n");
    Write(absl::StrCat("sys/class/iscsi_connection/connection", n, ":0/address"), address + "\n");
  }
  std::vector<StorageServer> ServersOf(const std::string& name) {
    return ServersOfDevice(KernelBlocks(root().string()), root().string(), name);
  }
};

TEST_F(DeviceServersTest, EveryPathOfAMultipathDeviceHasASession) {
  AddIscsiDisk("sdb", 1, "10.0.0.1");
  AddIscsiDisk("sdc", 2, "10.0.1.1");
  Write("sys/class/iscsi_host/host2/netdev", "eth1\n");
  AddDisk("dm-0", 253, 0, 2000);
  AddSlave("dm-0", "sdb");
  AddSlave("dm-0", "sdc");
  const auto servers = ServersOf("dm-0");
  ASSERT_EQ(servers.size(), 2u);
  EXPECT_EQ(servers[0].protocol, "iscsi");
  EXPECT_EQ(servers[0].address, "10.0.0.1");
  EXPECT_EQ(servers[0].interface, "");
  EXPECT_EQ(servers[1].address, "10.0.1.1");
  EXPECT_EQ(servers[1].interface, "eth1");
}

TEST_F(DeviceServersTest, AnAdapterOfItsOwnHasNoInterfaceHere) {
  AddIscsiDisk("sdb", 1, "10.0.0.1");
  Write("sys/class/scsi_host/host1/proc_name", "qla4xxx\n");
  const auto servers = ServersOf("sdb");
  ASSERT_EQ(servers.size(), 1u);
  EXPECT_EQ(servers[0].not_known, "its driver qla4xxx has a network stack of its own");
}

TEST_F(DeviceServersTest, ALocalDiskHasNoServer) {
  AddDisk("sda", 8, 0, 2000);
  EXPECT_TRUE(ServersOf("sda").empty());
  AddDisk("nvme0n1", 259, 0, 2000);
  Write("sys/devices/nvme0n1/device/transport", "pcie\n");
  Write("sys/devices/nvme0n1/device/address", "0000:00:05.0\n");
  EXPECT_TRUE(ServersOf("nvme0n1").empty());
}

TEST_F(DeviceServersTest, AnNvmeControllerSaysItsAddress) {
  AddDisk("nvme0n1", 259, 0, 2000);
  Write("sys/devices/nvme0n1/device/transport", "tcp\n");
  Write("sys/devices/nvme0n1/device/address",
        "traddr=10.0.0.3,trsvcid=4420,host_iface=eth2,src_addr=10.0.0.9\n");
  const auto servers = ServersOf("nvme0n1");
  ASSERT_EQ(servers.size(), 1u);
  EXPECT_EQ(servers[0].protocol, "nvme-tcp");
  EXPECT_EQ(servers[0].address, "10.0.0.3");
  EXPECT_EQ(servers[0].interface, "eth2");
}

// As Linux 6.18 writes it, of two NFS mounts; errors are missing in the second, as before 5.3.
std::string MountStats(int reads) {
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

TEST(NfsStatsTest, EachOperationOfAMountHasItsTimes) {
  const NfsCounters all = ParseMountStats(MountStats(100), {"/mnt/my\\040nas", "/mnt/x"});
  EXPECT_EQ(all.size(), 4u);
  EXPECT_EQ(all.at({"/mnt/x", "READ"}).execution_ms(), 5u);
  const NfsCounters earlier = ParseMountStats(MountStats(100), {"/mnt/my\\040nas"});
  const NfsCounters later = ParseMountStats(MountStats(150), {"/mnt/my\\040nas"});
  EXPECT_EQ(later.size(), 3u);
  const auto key = std::pair("/mnt/my\\040nas", "READ");
  const auto reads = Difference(earlier.at(key), later.at(key));
  ASSERT_TRUE(reads.has_value());
  EXPECT_EQ(reads->operation(), "READ");
  EXPECT_EQ(reads->operations(), 50u);
  EXPECT_EQ(reads->transmissions(), 50u);
  EXPECT_EQ(reads->received_bytes(), 50u * 1048688);
  EXPECT_EQ(reads->queue_time_ms(), 0u);
  EXPECT_EQ(reads->round_trip_ms(), 600u);
  EXPECT_EQ(reads->execution_ms(), 650u);
  EXPECT_FALSE(Difference(later.at(key), earlier.at(key)).has_value()) << "mounted anew";
}

// A message of rtnetlink about an interface.
std::string LinkMessage(int index, const std::string& name, const std::string& kind, int link,
                        int master, uint64_t sent_bytes, bool is_elsewhere = false) {
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
std::vector<NetLink> StackedLinks() {
  return ParseLinks(LinkMessage(1, "lo", "", 0, 0, 1) + LinkMessage(2, "eth0", "", 0, 4, 2) +
                    LinkMessage(3, "eth1", "", 0, 4, 3) + LinkMessage(4, "bond0", "bond", 0, 0, 4) +
                    LinkMessage(5, "storage.100", "vlan", 4, 0, 5) +
                    LinkMessage(6, "br0", "bridge", 0, 0, 6) + LinkMessage(7, "eth2", "", 0, 6, 7) +
                    LinkMessage(8, "tap0", "tun", 0, 6, 8) +
                    LinkMessage(9, "veth0", "veth", 2, 0, 9) +
                    LinkMessage(10, "far", "macvlan", 3, 0, 10, /*is_elsewhere=*/true));
}

TEST(NetLinksTest, MessagesSayWhatLiesOnWhat) {
  const std::vector<NetLink> links = StackedLinks();
  ASSERT_EQ(links.size(), 10u);
  EXPECT_EQ(links[4].name, "storage.100");
  EXPECT_EQ(links[4].kind, "vlan");
  EXPECT_EQ(links[4].counters.sent_bytes, 5u);
  EXPECT_EQ(links[4].counters.received_drops, 5u);
  using List = std::vector<int>;
  EXPECT_EQ(LinksUnderneath(links, 5), (List{4, 2, 3}));
  EXPECT_EQ(LinksUnderneath(links, 6), List{7}) << "the tap leads to a guest";
  EXPECT_EQ(LinksUnderneath(links, 9), List{}) << "a veth lies on nothing";
  EXPECT_EQ(LinksUnderneath(links, 10), List{}) << "in another network namespace";
  EXPECT_EQ(LinksUnderneath(links, 99), List{});
}

TEST(NetLinksTest, BrokenMessagesAreLeftOut) {
  std::string message = LinkMessage(2, "eth0", "", 0, 0, 1);
  EXPECT_TRUE(ParseLinks(message.substr(0, 40)).empty());
  EXPECT_TRUE(ParseLinks("x").empty());
  memset(message.data() + NLMSG_LENGTH(sizeof(ifinfomsg)), 0, 2);  // an attribute of length 0
  EXPECT_TRUE(ParseLinks(message).empty());
  EXPECT_EQ(ParseRoute(message), 0);
}

// "tc qdisc add dev va root tbf rate 16mbit burst 64kb limit 1mb", as Linux 6.18 sent it.
constexpr char kTbf[] =
    "bc0000002400020007000000e4670000000000000300000000000180ffffffff0300000008000100746266002c0002"
    "0028000100000100000000000080841e000000000000000000000000000000100000d007000000000005000c000000"
    "00003000070014000100b00000000000000002000000000000001800030000000000000000000000000000000000"
    "000000002c000300b00000000000000002000000000000000000000000000000000000000000000000000000000000"
    "00";

TEST(NetLinksTest, ATokenBucketFilterLimitsWhatIsSent) {
  const auto qdiscs = ParseRootQdiscs(absl::HexStringToBytes(kTbf));
  ASSERT_EQ(qdiscs.size(), 1u);
  EXPECT_EQ(qdiscs.at(3).limit_bits_per_second, 16000000u);
  EXPECT_EQ(qdiscs.at(3).drops, 0u);
  std::string child = absl::HexStringToBytes(kTbf);
  memset(child.data() + NLMSG_LENGTH(0) + 12, 1, 4);  // tcm_parent
  EXPECT_TRUE(ParseRootQdiscs(child).empty());
}

TEST(NetLinksTest, TheKernelKnowsTheLoopbackInterface) {
  KernelNetLinks kernel;
  const std::vector<NetLink> links = kernel.List();
  ASSERT_FALSE(links.empty());
  EXPECT_EQ(links[0].name, "lo");
  EXPECT_EQ(links[0].kind, "loopback");
  const auto again = kernel.Read(links[0].index);
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(again->name, "lo");
  EXPECT_GE(again->counters.sent_bytes, links[0].counters.sent_bytes);
  EXPECT_FALSE(kernel.SpeedOf("lo").has_value());
  EXPECT_FALSE(kernel.Read(1 << 30).has_value());
  EXPECT_EQ(kernel.RouteTo("a name"), 0);
  const int route = kernel.RouteTo("127.0.0.1");
  EXPECT_TRUE(route == links[0].index || route == 0) << "0 while it is down";
}

// Interfaces whose counters a test sets.
class FakeLinks : public NetLinks {
 public:
  struct Facts {
    std::vector<NetLink> links;
    std::map<int, RootQdisc> qdiscs;
    std::map<std::string, int> routes;
    std::map<std::string, uint64_t> speeds;
    int asked_for_speed = 0;
  };
  explicit FakeLinks(Facts* facts) : facts_(facts) {}
  std::vector<NetLink> List() override { return facts_->links; }
  std::optional<NetLink> Read(int index) override {
    for (const NetLink& link : facts_->links) {
      if (link.index == index) return link;
    }
    return std::nullopt;
  }
  std::map<int, RootQdisc> RootQdiscs() override { return facts_->qdiscs; }
  int RouteTo(const std::string& address) override { return facts_->routes[address]; }
  std::optional<uint64_t> SpeedOf(const std::string& name) override {
    ++facts_->asked_for_speed;
    const auto speed = facts_->speeds.find(name);
    return speed == facts_->speeds.end() ? std::nullopt : std::optional(speed->second);
  }

 private:
  Facts* const facts_;
};

class StorageNetworkTest : public ::testing::Test {
 protected:
  StorageNetworkTest()
      : network_({[this] { return std::make_unique<FakeLinks>(&facts_); },
                  [this] { return mountstats_; }, [] { return std::string("net:[1]"); }}) {
    facts_.links = StackedLinks();
    facts_.routes = {{"10.0.0.1", 5}, {"10.0.0.2", 9}};
    facts_.speeds = {{"eth0", 10000000000},
                     {"bond0", 20000000000},
                     {"storage.100", 20000000000},
                     {"veth0", 10000000000}};
  }

  static StorageServer Server(const std::string& protocol, const std::string& address) {
    StorageServer server;
    server.protocol = protocol;
    server.address = address;
    return server;
  }
  v1::IntervalSample Sample(const StorageNetwork::Reading& earlier) {
    v1::IntervalSample sample;
    network_.AddDifference(earlier, network_.Read(), &sample);
    return sample;
  }

  FakeLinks::Facts facts_;
  std::string mountstats_;
  StorageNetwork network_;
};

TEST_F(StorageNetworkTest, AVlanOnABondIsSampledWithAllUnderneath) {
  network_.Add(0, Server("iscsi", "10.0.0.1"));
  network_.Add(2, Server("iscsi", "10.0.0.1"));
  v1::PhaseResult result;
  network_.AddRoutes(&result);
  ASSERT_EQ(result.routes_size(), 1);
  EXPECT_EQ(result.network_namespace(), "net:[1]");
  const v1::StorageRoute& route = result.routes(0);
  EXPECT_EQ(std::vector<uint32_t>(route.targets().begin(), route.targets().end()),
            (std::vector<uint32_t>{0, 2}));
  EXPECT_EQ(std::vector<std::string>(route.interfaces().begin(), route.interfaces().end()),
            (std::vector<std::string>{"storage.100", "bond0", "eth0", "eth1"}));
  EXPECT_EQ(route.not_sampled(), "");
  EXPECT_EQ(route.no_line_rate_size(), 4);
  const auto earlier = network_.Read();
  facts_.links[3].counters.sent_bytes += 1000;
  facts_.links[3].counters.received_drops += 7;
  const v1::IntervalSample sample = Sample(earlier);
  ASSERT_EQ(sample.interfaces_size(), 4);
  const v1::InterfaceSample& bond = sample.interfaces(0);
  EXPECT_EQ(bond.name(), "bond0");
  EXPECT_EQ(bond.sent_bytes(), 1000u);
  EXPECT_EQ(bond.received_drops(), 7u);
  EXPECT_EQ(bond.send_speed_bits_per_second(), 20000000000u);
  EXPECT_EQ(sample.interfaces(2).name(), "eth1");
  EXPECT_FALSE(sample.interfaces(2).has_receive_speed_bits_per_second()) << "no carrier";
}

TEST_F(StorageNetworkTest, AVirtualInterfaceHasNoSpeedButThatOfAFilter) {
  network_.Add(0, Server("iscsi", "10.0.0.2"));
  facts_.qdiscs[9].drops = 4294967290;
  const auto earlier = network_.Read();
  facts_.qdiscs[9].drops = 4;
  v1::IntervalSample sample = Sample(earlier);
  ASSERT_EQ(sample.interfaces_size(), 1);
  EXPECT_FALSE(sample.interfaces(0).has_send_speed_bits_per_second());
  EXPECT_EQ(sample.interfaces(0).sent_drops(), 10u) << "over the end of 32 bits";
  v1::PhaseResult result;
  network_.AddRoutes(&result);
  EXPECT_EQ(result.routes(0).no_line_rate(0),
            "a virtual interface (veth) has no line rate of its own");
  facts_.qdiscs[9].limit_bits_per_second = 16000000;
  sample = Sample(earlier);
  EXPECT_EQ(sample.interfaces(0).send_speed_bits_per_second(), 16000000u);
  EXPECT_FALSE(sample.interfaces(0).has_receive_speed_bits_per_second());
}

TEST_F(StorageNetworkTest, ASpeedIsReadAgainWhenTheCarrierChanges) {
  network_.Add(0, Server("iscsi", "10.0.0.1"));
  const auto earlier = network_.Read();
  const int asked = facts_.asked_for_speed;
  (void)network_.Read();
  EXPECT_EQ(facts_.asked_for_speed, asked);
  facts_.links[1].carrier_changes = 2;
  facts_.speeds["eth0"] = 1000000000;
  const v1::IntervalSample sample = Sample(earlier);
  EXPECT_EQ(sample.interfaces(1).name(), "eth0");
  EXPECT_EQ(sample.interfaces(1).receive_speed_bits_per_second(), 1000000000u);
  // A bond keeps its carrier when it loses a member.
  facts_.links[2].carrier_changes = 1;
  facts_.speeds["bond0"] = 1000000000;
  EXPECT_EQ(Sample(earlier).interfaces(0).receive_speed_bits_per_second(), 1000000000u);
  v1::PhaseResult result;
  network_.AddRoutes(&result);
  const auto& why = result.routes(0).no_line_rate();
  EXPECT_EQ(std::vector<std::string>(why.begin(), why.end()),
            (std::vector<std::string>{"", "", "", "its driver does not know its line rate"}));
}

TEST_F(StorageNetworkTest, AnInterfaceThatWasMadeAnewHasNoSample) {
  network_.Add(0, Server("iscsi", "10.0.0.2"));
  const auto earlier = network_.Read();
  facts_.links[8].counters.sent_bytes = 0;
  EXPECT_EQ(Sample(earlier).interfaces_size(), 0);
  facts_.links.erase(facts_.links.begin() + 8);
  EXPECT_EQ(Sample(earlier).interfaces_size(), 0);
}

TEST_F(StorageNetworkTest, WhatIsNotSampledSaysWhy) {
  StorageServer rdma = Server("nvme-rdma", "10.0.0.1");
  rdma.not_known = "its traffic is RDMA";
  network_.Add(0, rdma);
  network_.Add(1, Server("iscsi", "10.9.9.9"));
  StorageServer bound = Server("iscsi", "10.9.9.8");
  bound.interface = "eth2";
  network_.Add(2, bound);
  network_.Add(3, Server("nfs", "fe80::1%veth0"));
  bound.interface = "eth0";  // another session with the same portal
  network_.Add(2, bound);
  v1::PhaseResult result;
  network_.AddRoutes(&result);
  ASSERT_EQ(result.routes_size(), 5);
  EXPECT_EQ(result.routes(4).interfaces(0), "eth0");
  EXPECT_EQ(result.routes(0).not_sampled(), "its traffic is RDMA");
  EXPECT_EQ(result.routes(1).not_sampled(), "the kernel knows no route to it");
  EXPECT_EQ(result.routes(2).interfaces(0), "eth2");
  EXPECT_EQ(result.routes(3).interfaces(0), "veth0");
}

TEST_F(StorageNetworkTest, NoMoreInterfacesAreSampledThanTheLimit) {
  for (int i = 0; i < 20; ++i) {
    NetLink link;
    link.index = 100 + i;
    link.name = absl::StrCat("eth", 100 + i);
    facts_.links.push_back(link);
    facts_.routes[absl::StrCat("10.1.0.", i)] = link.index;
  }
  for (uint32_t i = 0; i < 20; ++i) network_.Add(i, Server("iscsi", absl::StrCat("10.1.0.", i)));
  EXPECT_EQ(network_.Read().interfaces.size(), static_cast<size_t>(limits::kSampledInterfaces));
  v1::PhaseResult result;
  network_.AddRoutes(&result);
  EXPECT_EQ(result.routes(0).not_sampled(), "");
  EXPECT_EQ(result.routes(19).not_sampled(), "a worker samples at most 8 interfaces");
}

TEST_F(StorageNetworkTest, AnNfsMountIsSampledByOperation) {
  StorageServer nas = ServersOfMount(kMounts, makedev(0, 52)).at(0);
  network_.Add(0, nas);
  mountstats_ = MountStats(100);
  const auto earlier = network_.Read();
  mountstats_ = MountStats(150);
  const v1::IntervalSample sample = Sample(earlier);
  ASSERT_EQ(sample.nfs_size(), 1) << "operations that there were";
  EXPECT_EQ(sample.nfs(0).mount(), "/mnt/my nas");
  EXPECT_EQ(sample.nfs(0).operation(), "READ");
  EXPECT_EQ(sample.nfs(0).operations(), 50u);
}

TEST_F(StorageNetworkTest, WithoutAServerNothingIsAsked) {
  StorageNetwork::Sources sources;
  sources.links = []() -> std::unique_ptr<NetLinks> {
    ADD_FAILURE();
    return nullptr;
  };
  sources.mountstats = sources.network_namespace = [] {
    ADD_FAILURE();
    return std::string();
  };
  StorageNetwork network(std::move(sources));
  v1::IntervalSample sample;
  network.AddDifference(network.Read(), network.Read(), &sample);
  v1::PhaseResult result;
  network.AddRoutes(&result);
  EXPECT_EQ(sample.interfaces_size() + result.routes_size(), 0);
}

}  // namespace
}  // namespace lockstep::worker
