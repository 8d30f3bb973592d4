#include "worker/host/kernel_blocks.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/limits.h"
#include "gtest/gtest.h"
#include "tests/worker/host/fake_sysfs.h"
#include "worker/host/device_use.h"
#include "worker/host/kernel_uses.h"

namespace lockstep::worker {
namespace {

namespace fs = std::filesystem;

// The disk sda with two partitions.
class KernelBlocksTest : public ::testing::Test, protected FakeSysfs {
 protected:
  KernelBlocksTest() : root_(root()) {
    Write("proc/self/mountinfo", "");
    Write("proc/swaps", "Filename Type Size Used Priority\n");
    Write("proc/sys/kernel/random/boot_id", "b007\n");
    AddDisk("sda", 8, 0, 2000);
    Write("sys/devices/sda/wwid", "naa.600 01\n");
    Write("sys/devices/sda/device/model", "Array LUN   \n");
    Write("sys/devices/sda/queue/scheduler", "none [mq-deadline] kyber\n");
    AddPartition("sda", 1, 100, 500);
    AddPartition("sda", 2, 600, 700);
  }

  void AddPartition(const std::string& disk, int number, int start, int sectors) {
    const std::string name = disk + std::to_string(number);
    const std::string folder = "sys/devices/" + disk + "/" + name;
    Write(folder + "/dev", "8:" + std::to_string(number) + "\n");
    Write(folder + "/size", std::to_string(sectors) + "\n");
    Write(folder + "/start", std::to_string(start) + "\n");
    Write(folder + "/partition", std::to_string(number) + "\n");
    Link(folder, name, 8, number);
  }

  void Mount(const std::string& number, const std::string& where) {
    Write("proc/self/mountinfo",
          "30 1 " + number + " / " + where + " rw,relatime - ext4 /dev/none rw\n");
  }

  KernelBlocks blocks() const { return KernelBlocks(root_.string()); }

  const fs::path root_;
};

TEST_F(KernelBlocksTest, OfManyMountsTheFirstAreNamedAndTheRestCounted) {
  std::string mounts;
  for (int i = 0; i < 1502; ++i) {
    absl::StrAppend(&mounts, 30 + i, " 1 8:1 / /m", i, " rw - ext4 /dev/none rw\n");
  }
  Write("proc/self/mountinfo", mounts);
  const v1::BlockDevice device = blocks().Describe("sda1");
  ASSERT_EQ(device.mounts_size(), limits::kMountsOfADevice + 1);
  EXPECT_EQ(device.mounts(0), "ext4 on /m0 (rw;rw)");
  EXPECT_EQ(device.mounts(limits::kMountsOfADevice), "and 1402 more");
}

TEST_F(KernelBlocksTest, DescribesADiskAndItsPartitions) {
  const v1::BlockDevice disk = blocks().Describe("sda");
  EXPECT_EQ(disk.path(), "/dev/sda");
  EXPECT_EQ(disk.major_number(), 8u);
  EXPECT_EQ(disk.size_bytes(), 2000u * 512);
  EXPECT_EQ(disk.logical_block_bytes(), 512u);
  EXPECT_EQ(disk.scheduler(), "mq-deadline");
  EXPECT_EQ(disk.model(), "Array LUN");
  EXPECT_EQ(disk.identity(), "naa.600_01");
  EXPECT_EQ(disk.disk_sequence(), 7u);
  EXPECT_TRUE(disk.rotational());
  EXPECT_EQ(disk.in_use(), "");
  const v1::BlockDevice part = blocks().Describe("sda2");
  EXPECT_EQ(part.identity(), "naa.600_01-part2");
  EXPECT_EQ(part.disk_sequence(), 7u) << "the disk's";
  EXPECT_EQ(part.scheduler(), "mq-deadline") << "the disk's";
  EXPECT_EQ(blocks().WholeDiskOf("sda2"), "sda");
  const BlockDeviceParts place = blocks().PartsOf("sda2");
  EXPECT_EQ(place.parent, "sda");
  EXPECT_EQ(place.start_bytes, 600u * 512);
  EXPECT_EQ(place.size_bytes, 700u * 512);
}

TEST_F(KernelBlocksTest, TellsWhatADiskIsLike) {
  Write("sys/devices/sda/queue/physical_block_size", "4096\n");
  Write("sys/devices/sda/queue/nr_requests", "256\n");
  Write("sys/devices/sda/queue/max_sectors_kb", "1280\n");
  Write("sys/devices/sda/queue/read_ahead_kb", "128\n");
  Write("sys/devices/sda/queue/write_cache", "write back\n");
  Write("sys/devices/sda/queue/discard_max_bytes", "65536\n");
  Write("sys/devices/sda/device/state", "running\n");
  Write("sys/devices/sda/device/vpd_pg80", std::string("\x01\x80\x00\x06 S3RIAL ", 12));
  Mount("8:1", "/data");
  const v1::BlockDevice disk = blocks().Describe("sda");
  EXPECT_EQ(disk.physical_block_bytes(), 4096u);
  EXPECT_EQ(disk.nr_requests(), 256u);
  EXPECT_EQ(disk.max_sectors_bytes(), 1280u << 10);
  EXPECT_EQ(disk.read_ahead_bytes(), 128u << 10);
  EXPECT_EQ(disk.write_cache(), "write back");
  EXPECT_TRUE(disk.discard());
  EXPECT_EQ(disk.serial(), "S3RIAL");
  ASSERT_EQ(disk.paths_size(), 1);
  EXPECT_EQ(disk.paths(0).state(), "running");
  EXPECT_EQ(disk.partitions_size(), 2);
  EXPECT_FALSE(disk.busy()) << "its partition is, not the disk itself";
  EXPECT_EQ(disk.in_use(), "its partition sda1 is mounted on /data");
  const v1::BlockDevice part = blocks().Describe("sda1");
  EXPECT_TRUE(part.busy());
  EXPECT_EQ(part.disk_identity(), "naa.600_01");
  EXPECT_EQ(part.begin_bytes(), 100u * 512);
  ASSERT_EQ(part.mounts_size(), 1);
  EXPECT_EQ(part.mounts(0), "ext4 on /data (rw,relatime;rw)");
}

TEST_F(KernelBlocksTest, AsksUdevWhereSysfsDoesNotSay) {
  AddDisk("sdz", 8, 400, 2000);
  Write("run/udev/data/b8:400",
        "S:disk/by-id/x\nE:ID_SERIAL=VENDOR_DISK_42\nE:ID_SERIAL_SHORT=42\n");
  const v1::BlockDevice disk = blocks().Describe("sdz");
  EXPECT_EQ(disk.identity(), "VENDOR_DISK_42");
  EXPECT_EQ(disk.serial(), "42");
  Write("run/udev/data/b8:400", "E:ID_SERIAL=VENDOR_DISK_42\nE:ID_WWN_WITH_EXTENSION=0x5001\n");
  EXPECT_EQ(blocks().Describe("sdz").identity(), "0x5001");
}

TEST_F(KernelBlocksTest, ATransportIsKnownByWhereTheDeviceHangs) {
  const auto transport = [&](const std::string& name, const std::string& where) {
    AddDisk(name, 8, 32 + static_cast<int>(name.back()), 2000);
    fs::create_directories(root_ / "sys/devices" / where);
    fs::create_symlink(root_ / "sys/devices" / where, root_ / "sys/devices" / name / "device");
    return blocks().Describe(name).transport();
  };
  EXPECT_EQ(transport("sdb", "pci0/host1/rport-1:0-1/target1:0:1/1:0:1:0"), "fc");
  EXPECT_EQ(transport("sdc", "platform/host2/session1/target2:0:0/2:0:0:1"), "iscsi");
  EXPECT_EQ(transport("sdd", "pci0/host3/port-3:0/end_device-3:0/target3:0:0/3:0:0:0"), "sas");
  EXPECT_EQ(transport("sde", "pci0/ata1/host4/target4:0:0/4:0:0:0"), "sata");
  EXPECT_EQ(transport("vdf", "pci0/virtio2"), "virtio");
  const std::string pci = "pci0000:00/0000:00:05.0/virtio1";
  EXPECT_EQ(transport("sdi", pci + "/host5/target5:0:0/5:0:0:1"), "virtio-scsi");
  EXPECT_EQ(transport("vdk", pci), "virtio");
  fs::create_directories(root_ / "sys/class/fc_host/host9");
  EXPECT_EQ(transport("sdg", "pci0/host9/target9:0:0/9:0:0:0"), "fc");
  EXPECT_EQ(transport("sdh", "pci0/host8/target8:0:0/8:0:0:0"), "");
  AddDisk("nvme0n1", 259, 1, 2000);
  Write("sys/devices/nvme0n1/device/transport", "tcp\n");
  EXPECT_EQ(blocks().Describe("nvme0n1").transport(), "nvme-tcp");
  AddDisk("loop3", 7, 3, 2000);
  EXPECT_EQ(blocks().Describe("loop3").transport(), "loop");
}

TEST_F(KernelBlocksTest, AMultipathDeviceIsTheLunOfItsPaths) {
  for (const char* path : {"sdm", "sdn"}) {
    AddDisk(path, 8, 192 + path[2], 2000);
    Write(std::string("sys/devices/") + path + "/wwid", "naa.6002\n");
    Write(std::string("sys/devices/") + path + "/device/state",
          path[2] == 'm' ? "running\n" : "offline\n");
    fs::create_directories(root_ / "sys/devices/dm-0/slaves");
    fs::create_symlink(root_ / "sys/devices" / path, root_ / "sys/devices/dm-0/slaves" / path);
    fs::create_directories(root_ / "sys/devices" / path / "holders/dm-0");
  }
  AddDisk("dm-0", 253, 0, 2000);
  Write("sys/devices/dm-0/dm/uuid", "mpath-36002\n");
  const v1::BlockDevice lun = blocks().Describe("dm-0");
  EXPECT_EQ(lun.identity(), "naa.6002");
  EXPECT_EQ(lun.transport(), "multipath");
  ASSERT_EQ(lun.paths_size(), 2);
  EXPECT_EQ(lun.paths(1).name(), "sdn");
  EXPECT_EQ(lun.paths(1).state(), "offline");
  EXPECT_EQ(blocks().Describe("sdm").in_use(), "held by dm-0 (LVM, md or multipath)");
}

TEST_F(KernelBlocksTest, CountsWhatIsWrittenUnderEveryNameOfTheBytes) {
  const auto count = [&](const std::string& device, int written, int discarded = 0) {
    Write("sys/devices/" + device + "/stat", "  1 0 8 0  9 0 " + std::to_string(written) +
                                                 " 0 0 0 0  0 0 " + std::to_string(discarded) +
                                                 " 0  0 0\n");
  };
  count("sda", 1000);
  count("sda/sda1", 300);
  count("sda/sda2", 500);
  const std::string before = blocks().WrittenSoFar("sda1");
  EXPECT_EQ(blocks().OtherNodesOf("sda1"), std::vector<std::string>{"sda"});
  // A neighbour's writes count for the disk, and change nothing here.
  count("sda", 1008);
  count("sda/sda2", 508);
  EXPECT_EQ(blocks().WrittenSoFar("sda1"), before);
  count("sda", 1016);
  EXPECT_NE(blocks().WrittenSoFar("sda1"), before) << "through the disk's own node";
  count("sda", 1016, 8);
  count("sda/sda2", 516);
  EXPECT_NE(blocks().WrittenSoFar("sda1"), before) << "a discard";
  count("sda", 1016);
  EXPECT_EQ(blocks().WrittenSoFar("sda1"), before);
  count("sda", 1024);
  count("sda/sda1", 308);
  EXPECT_NE(blocks().WrittenSoFar("sda1"), before) << "its own";
  // A disk's count has those of its partitions.
  const std::string disk = blocks().WrittenSoFar("sda");
  count("sda", 1032);
  EXPECT_NE(blocks().WrittenSoFar("sda"), disk);
  EXPECT_EQ(blocks().NotCountedBy("sda1"), "");
  Write("sys/devices/sda/queue/iostats", "0\n");
  EXPECT_TRUE(absl::StrContains(blocks().NotCountedBy("sda1"), "/sda/queue/iostats"));

  AddDisk("sdm", 8, 192, 2000);
  AddDisk("dm-0", 253, 0, 2000);
  AddSlave("dm-0", "sdm");
  Write("sys/devices/dm-0/dm/uuid", "mpath-36002\n");
  count("sdm", 10);
  count("dm-0", 10);
  const std::string lun = blocks().WrittenSoFar("dm-0");
  count("sdm", 18);
  EXPECT_NE(blocks().WrittenSoFar("dm-0"), lun) << "through one of its paths";
  EXPECT_EQ(blocks().NotCountedBy("dm-0"), "");
  Write("sys/devices/sdm/queue/iostats", "0\n");
  EXPECT_TRUE(absl::StrContains(blocks().NotCountedBy("dm-0"), "/sdm/queue/iostats"));
}

// As Linux 6.1 lays a namespace of NVMe's own multipath out: its paths are hidden, and have no
// number. Number 0 is that of mounts without a device, too.
TEST_F(KernelBlocksTest, HiddenPathsOfANamespaceAreNoDevicesOfTheirOwn) {
  Write("proc/self/mountinfo", "22 29 0:20 / /proc rw,nosuid - proc proc rw\n");
  AddDisk("nvme1n1", 259, 1, 4000);
  Write("sys/devices/nvme1n1/wwid", "nvme.1b36-1\n");
  for (const std::string path : {"nvme1c0n1", "nvme1c3n1"}) {
    const std::string folder = "sys/devices/" + path;
    Write(folder + "/size", "4000\n");
    Write(folder + "/hidden", "1\n");
    Write(folder + "/wwid", "nvme.1b36-1\n");
    Write(folder + "/device/state", path == "nvme1c0n1" ? "live\n" : "connecting\n");
    fs::create_symlink(root_ / folder, root_ / "sys/class/block" / path);
  }
  fs::create_directories(root_ / "sys/devices/nvme1n1/device/nvme0");
  fs::create_directories(root_ / "sys/devices/nvme1n1/device/nvme3");
  EXPECT_EQ(blocks().UseOf("nvme1n1"), "");
  int with_identity = 0;
  for (const v1::BlockDevice& device : blocks().List()) {
    with_identity += device.identity() == "nvme.1b36-1" ? 1 : 0;
  }
  EXPECT_EQ(with_identity, 1);
  EXPECT_TRUE(blocks().IsMultipath("nvme1n1"));
  const auto paths = blocks().PathsOf("nvme1n1");
  ASSERT_EQ(paths.size(), 2u);
  EXPECT_EQ(paths[0].name() + " " + paths[0].state(), "nvme1c0n1 live");
  EXPECT_EQ(paths[1].name() + " " + paths[1].state(), "nvme1c3n1 connecting");
}

TEST_F(KernelBlocksTest, ListsWhatHasASizeAndFindsNumbers) {
  AddDisk("loop0", 7, 0, 0);
  std::vector<std::string> names;
  for (const v1::BlockDevice& device : blocks().List()) names.push_back(device.name());
  EXPECT_EQ(names, (std::vector<std::string>{"sda", "sda1", "sda2"}));
  EXPECT_EQ(*blocks().NameOf(makedev(8, 2)), "sda2");
  EXPECT_EQ(blocks().NameOf(makedev(9, 2)).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(KernelBlocksTest, AMountedPartitionIsAUseOfItsDiskButNotOfItsSibling) {
  Mount("8:1", "/data");
  EXPECT_EQ(blocks().UseOf("sda1"), "mounted on /data");
  EXPECT_EQ(blocks().UseOf("sda"), "its partition sda1 is mounted on /data");
  EXPECT_EQ(blocks().UseOf("sda2"), "");
}

TEST_F(KernelBlocksTest, AMountedDiskIsAUseOfItsPartitions) {
  Mount("8:0", "/whole");
  EXPECT_EQ(blocks().UseOf("sda2"), "on sda, which is mounted on /whole");
}

TEST_F(KernelBlocksTest, AHolderIsAUse) {
  Write("sys/devices/sda/sda1/holders/dm-0/x", "");
  AddDisk("dm-0", 253, 0, 400);
  Write("sys/devices/dm-0/dm/uuid", "LVM-abc\n");
  Write("sys/devices/dm-0/slaves/sda1/x", "");
  EXPECT_EQ(blocks().UseOf("sda1"), "held by dm-0 (LVM, md or multipath)");
  EXPECT_EQ(blocks().UseOf("sda"), "its partition sda1 is held by dm-0 (LVM, md or multipath)");
  EXPECT_EQ(blocks().IdentityOf("dm-0"), "LVM-abc");
  EXPECT_EQ(blocks().PartsOf("dm-0").underneath, std::vector<std::string>{"sda1"});
}

TEST_F(KernelBlocksTest, IdentitiesAreTheMostPreciseThatTheKernelHas) {
  AddDisk("nvme0n1", 259, 0, 100);
  EXPECT_EQ(blocks().IdentityOf("nvme0n1"), "");
  Write("sys/devices/nvme0n1/device/serial", "S1");
  EXPECT_EQ(blocks().IdentityOf("nvme0n1"), "S1");
  Write("sys/devices/nvme0n1/nguid", "aa-bb");
  EXPECT_EQ(blocks().IdentityOf("nvme0n1"), "aa-bb");
  Write("sys/devices/nvme0n1/wwid", "uuid.1");
  EXPECT_EQ(blocks().IdentityOf("nvme0n1"), "uuid.1");
  AddDisk("zram0", 252, 0, 100);
  EXPECT_EQ(blocks().IdentityOf("zram0"), "zram:b007:zram0") << "of this boot";
  AddDisk("loop1", 7, 1, 100);
  EXPECT_EQ(blocks().IdentityOf("loop1"), "") << "its file is gone";
  Write("image", "data");
  Write("sys/devices/loop1/loop/backing_file", root_ / "image");
  const std::string whole = blocks().IdentityOf("loop1");
  EXPECT_EQ(whole.rfind("loop-file:", 0), 0u) << whole;
  Write("sys/devices/loop1/loop/offset", "4096");
  EXPECT_EQ(blocks().IdentityOf("loop1"), whole + "@4096") << "another part of the file";
  Write("sys/devices/loop1/loop/sizelimit", "512");
  EXPECT_EQ(blocks().IdentityOf("loop1"), whole + "@4096+512");
}

TEST_F(KernelBlocksTest, ADeviceInUseIsReadButNeverWritten) {
  Mount("8:1", "/data");
  DeviceUse use;
  EXPECT_TRUE(CheckDeviceFacts("/dev/sda", blocks().Describe("sda"), use).ok());
  use.write = true;
  const absl::Status refused = CheckDeviceFacts("/dev/sda", blocks().Describe("sda"), use);
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(refused.message(),
            "/dev/sda: its partition sda1 is mounted on /data; a device in use is never written");
  use.expendable = {"naa.600_01"};
  EXPECT_FALSE(CheckDeviceFacts("/dev/sda", blocks().Describe("sda"), use).ok())
      << "whatever the job says";
  EXPECT_TRUE(CheckDeviceFacts("/dev/sda2", blocks().Describe("sda2"), use).ok());
}

// It may not answer. A node there has the number of a device, so that a stat(2) is seen.
TEST_F(KernelBlocksTest, NoServerIsAskedForTheSourceOfAMount) {
  const std::string here = (root() / "node").string();
  const std::string there = (root() / "nas/node").string();
  std::filesystem::create_directories(root() / "nas");
  if (mknod(here.c_str(), S_IFBLK | 0600, makedev(259, 77)) != 0 ||
      mknod(there.c_str(), S_IFBLK | 0600, makedev(259, 78)) != 0) {
    GTEST_SKIP() << "only root makes nodes";
  }
  const std::string nas = absl::StrCat((root() / "nas").string(), " rw - nfs4 nas:/export rw\n");
  Write("proc/self/mountinfo",
        absl::StrCat("20 1 8:1 / / rw - ext4 /dev/sda1 rw\n21 20 0:40 / ", nas,
                     "22 20 0:41 / /a rw - fuse.x ", here, " rw\n23 20 0:42 / /b rw - fuse.x ",
                     there, " rw\n24 20 0:43 / /c rw - cifs /", there, " rw\n"));
  const KernelUses uses(root().string());
  ASSERT_EQ(uses.MountsOf(makedev(259, 77)).size(), 1u);
  EXPECT_EQ(uses.MountsOf(makedev(259, 77))[0]->target, "/a");
  EXPECT_TRUE(uses.MountsOf(makedev(259, 78)).empty());
}

TEST_F(KernelBlocksTest, AnotherDeviceThanTheOneThatIsMeantIsRefused) {
  const v1::BlockDevice disk = blocks().Describe("sda");
  const auto says = [&](const DeviceUse& use) {
    return std::string(CheckDeviceFacts("/dev/sda", disk, use).message());
  };
  DeviceUse use;
  use.identity = "naa.9";
  EXPECT_NE(says(use).find("its identity is 'naa.600_01', the job requires 'naa.9'"),
            std::string::npos);
  use.identity = "naa.600_01";
  EXPECT_EQ(says(use), "");
  use.inspected_identity = "naa.9";
  EXPECT_NE(says(use).find("another device is there than the one that was inspected"),
            std::string::npos);
  use.inspected_identity = disk.identity();
  use.inspected_sequence = 8;
  EXPECT_NE(says(use).find("(attachment 7)"), std::string::npos) << "the same name, attached anew";
  use.inspected_sequence = 7;
  EXPECT_EQ(says(use), "");
}

TEST_F(KernelBlocksTest, NothingIsWrittenToWhatIsReadOnlyOrHasNoSize) {
  Write("sys/devices/sda/ro", "1\n");
  DeviceUse use;
  use.write = true;
  EXPECT_NE(CheckDeviceFacts("/dev/sda", blocks().Describe("sda"), use).message().find("read-only"),
            std::string::npos);
  Write("sys/devices/sda/size", "0\n");
  use.write = false;
  EXPECT_NE(CheckDeviceFacts("/dev/sda", blocks().Describe("sda"), use).message().find("no size"),
            std::string::npos);
}

}  // namespace
}  // namespace lockstep::worker
