// The servers of mounts and devices, by recorded texts and a made up sysfs.

#include "worker/host/storage_servers.h"

#include <sys/sysmacros.h>

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/worker/host/fake_sysfs.h"
#include "tests/worker/host/network_records.h"

namespace lockstep::worker {
namespace {

namespace fs = std::filesystem;

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

}  // namespace
}  // namespace lockstep::worker
