// Stacks of storage as sysfs and mountinfo have them on real hosts.

#include "worker/host/layers.h"

#include <fcntl.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/files.h"
#include "common/limits.h"
#include "gtest/gtest.h"
#include "tests/worker/host/fake_sysfs.h"

namespace lockstep::worker {
namespace {

using Names = std::vector<std::string>;

class LayersTest : public ::testing::Test, protected FakeSysfs {
 protected:
  LayersTest() { Write("proc/swaps", ""); }

  void AddPartition(const std::string& disk, int number, int major_number, int minor_number) {
    const std::string name = disk + std::to_string(number);
    const std::string folder = "sys/devices/" + disk + "/" + name;
    Write(folder + "/dev", absl::StrCat(major_number, ":", minor_number, "\n"));
    Write(folder + "/size", "500\n");
    Write(folder + "/partition", std::to_string(number) + "\n");
    Link(folder, name, major_number, minor_number);
  }

  void AddMapped(const std::string& name, int minor_number, const std::string& uuid,
                 const std::string& label) {
    AddDisk(name, 253, minor_number, 1000);
    Write("sys/devices/" + name + "/dm/uuid", uuid + "\n");
    Write("sys/devices/" + name + "/dm/name", label + "\n");
    Write("sys/devices/" + name + "/queue/scheduler", "none\n");
  }

  void AddVirtioDisk(const std::string& name, int number, int minor_number,
                     const std::string& serial) {
    AddDisk(name, 254, minor_number, 262144);
    const auto device = root() / absl::StrCat("sys/devices/pci0000:00/virtio", number);
    std::filesystem::create_directories(device);
    std::filesystem::create_symlink(device, root() / "sys/devices" / name / "device");
    Write(absl::StrCat("sys/devices/", name, "/serial"), serial);
    Write(absl::StrCat("sys/devices/", name, "/queue/scheduler"), "[mq-deadline] bfq kyber none\n");
  }

  void AddLoop(int number, const std::string& backing) {
    const std::string name = absl::StrCat("loop", number);
    AddDisk(name, 7, number, 1000);
    Write("sys/devices/" + name + "/loop/backing_file", backing + "\n");
    Write("sys/devices/" + name + "/loop/dio", "0\n");
    Write("sys/devices/" + name + "/queue/scheduler", "[none] mq-deadline kyber\n");
  }

  void Mount(int id, const std::string& number, const std::string& target, const std::string& type,
             const std::string& source, const std::string& options = "rw") {
    absl::StrAppend(&mounts_, id, " ", root_mount_, " ", number, " / ", target,
                    " rw,relatime shared:1 - ", type, " ", source, " ", options, "\n");
    if (target == "/") root_mount_ = id;
  }

  StorageLayers layers() const { return StorageLayers(root().string(), mounts_); }

  // "ext4 /data", "dm-0 lvm": the layers from the top, each with the numbers underneath it.
  static Names Texts(const StorageLayers& layers) {
    Names texts;
    for (const v1::StorageLayer& layer : layers.layers()) {
      const std::string& device = layer.device_name();
      texts.insert(texts.begin(), absl::StrCat(device.empty() ? layer.kind() : device, " ",
                                               device.empty() ? layer.mount_point() : layer.kind(),
                                               " [", absl::StrJoin(layer.underneath(), " "), "]"));
    }
    return texts;
  }

  std::string mounts_;
  int root_mount_ = 1;  // the parent of all further mounts
};

// LVM over a mirror of two partitions.
TEST_F(LayersTest, LvmOverAMirrorLeadsToTheDisksOfItsPartitions) {
  for (const auto& [disk, minor_number] : {std::pair("sda", 0), std::pair("sdb", 16)}) {
    AddDisk(disk, 8, minor_number, 2000);
    AddPartition(disk, 1, 8, minor_number + 1);
    AddSlave("md0", absl::StrCat(disk, "1"));
  }
  AddDisk("md0", 9, 0, 1000);
  Write("sys/devices/md0/md/level", "raid1\n");
  AddMapped("dm-0", 0, "LVM-abc", "vg-data");
  AddSlave("dm-0", "md0");
  Mount(40, "253:0", "/data", "ext4", "/dev/mapper/vg-data");
  StorageLayers found = layers();
  const uint32_t top = found.AddMount(40);
  EXPECT_EQ(Texts(found), (Names{"ext4 /data [4]", "dm-0 lvm [3]", "md0 md raid1 [1 2]",
                                 "sdb disk []", "sda disk []"}));
  EXPECT_EQ(found.layers()[3].label(), "vg-data");
  EXPECT_EQ(top, 5u);
  EXPECT_EQ(TopDevicesUnder(found.layers(), top), Names{"dm-0"});
  // A layer that is there already is found again.
  EXPECT_EQ(found.AddDevice("sda1"), 1u);
  EXPECT_EQ(found.layers().size(), 5u);
}

// sysfs and mountinfo of a virtual machine with Linux 6.1: dm-crypt over LVM over a mirror of two
// partitions of virtio disks.
TEST_F(LayersTest, AStackOfFiveAsLinux61HasIt) {
  AddVirtioDisk("vdi", 13, 128, "LABI");
  AddVirtioDisk("vdj", 14, 144, "LABJ");
  AddPartition("vdi", 1, 254, 129);
  AddPartition("vdj", 1, 254, 145);
  AddSlave("md1", "vdi1");
  AddSlave("md1", "vdj1");
  AddDisk("md1", 9, 1, 243712);
  Write("sys/devices/md1/md/level", "raid1\n");
  Write("sys/devices/md1/md/uuid", "b024cfd2-86a4-6866-729b-fda551d9ecb1\n");
  Write("sys/devices/md1/queue/scheduler", "none\n");
  AddMapped("dm-4", 4, "LVM-OdTXqji5WtKNcpSWp9eL7ELajwPhGdII3JbOB6gBWMsxF27xHBCtJo3YZofFqLhb",
            "vgd-data");
  AddSlave("dm-4", "md1");
  AddMapped("dm-5", 5, "CRYPT-LUKS2-3b00419ad44b4a38a1daf4b66eae0040-deep", "deep");
  AddSlave("dm-5", "dm-4");
  mounts_ =
      "25 1 254:1 / / rw,relatime - ext4 /dev/vda1 rw\n"
      "37 25 253:5 / /mnt/deep rw,relatime - ext4 /dev/mapper/deep rw\n";
  StorageLayers found = layers();
  const uint32_t top = found.AddMount(37);
  EXPECT_EQ(Texts(found), (Names{"ext4 /mnt/deep [5]", "dm-5 crypt [4]", "dm-4 lvm [3]",
                                 "md1 md raid1 [1 2]", "vdj virtio []", "vdi virtio []"}));
  EXPECT_EQ(found.layers()[0].identity(), "LABI");
  EXPECT_EQ(found.layers()[2].identity(), "b024cfd2-86a4-6866-729b-fda551d9ecb1");
  EXPECT_EQ(QueuesUnder(root().string(), found.layers(), top), (Names{"vdi", "vdj"}));
  EXPECT_EQ(*ReadAheadDevicesUnder(found.layers(), top), Names{"dm-5"});
}

// The same machine: a snapshot of a striped volume. LVM puts two hidden volumes underneath, of
// which the first is underneath the origin and the snapshot. sysfs does not tie the origin to the
// space that its writes are copied to.
TEST_F(LayersTest, AnLvmSnapshotSharesItsOriginsDisks) {
  AddVirtioDisk("vdd", 8, 48, "LABD");
  AddVirtioDisk("vde", 9, 64, "LABE");
  const std::string vg = "LVM-TCBmR4Ed7hB6r92jUwjD6z9ArAY6WTjY";
  const std::string origin = vg + "ZaBLJuYescQqewvk9Hs6AQsUwJaKtuHq";
  const std::string snapshot = vg + "WI5P6n35kOftKnrX6SySvIatvndgjFJd";
  AddMapped("dm-1", 1, origin, "vgb-str");
  AddMapped("dm-6", 6, origin + "-real", "vgb-str-real");
  AddMapped("dm-7", 7, snapshot + "-cow", "vgb-snap-cow");
  AddMapped("dm-8", 8, snapshot, "vgb-snap");
  for (const auto& [device, part] :
       {std::pair("dm-1", "dm-6"), std::pair("dm-6", "vdd"), std::pair("dm-6", "vde"),
        std::pair("dm-7", "vdd"), std::pair("dm-8", "dm-6"), std::pair("dm-8", "dm-7")}) {
    AddSlave(device, part);
  }
  mounts_ =
      "25 1 254:1 / / rw,relatime - ext4 /dev/vda1 rw\n"
      "34 25 253:1 / /mnt/str rw,relatime - ext4 /dev/mapper/vgb-str rw,stripe=128\n"
      "38 25 253:8 / /mnt/snap rw,relatime - ext4 /dev/mapper/vgb-snap rw,stripe=128\n";
  StorageLayers found = layers();
  const uint32_t of_origin = found.AddMount(34);
  EXPECT_EQ(Texts(found), (Names{"ext4 /mnt/str [4]", "dm-1 lvm [3]", "dm-6 lvm [1 2]",
                                 "vde virtio []", "vdd virtio []"}));
  const uint32_t of_snapshot = found.AddMount(38);
  EXPECT_EQ(found.layers()[of_snapshot - 1].mount_point(), "/mnt/snap");
  EXPECT_EQ(found.layers().size(), 8u) << "dm-6 and its disks are there already";
  for (const uint32_t top : {of_origin, of_snapshot}) {
    EXPECT_EQ(QueuesUnder(root().string(), found.layers(), top), (Names{"vdd", "vde"}));
  }
}

TEST_F(LayersTest, SettingsGoToTheDevicesThatKeepAQueue) {
  AddDisk("sda", 8, 0, 2000);
  AddDisk("sdb", 8, 16, 2000);
  Write("sys/devices/sda/queue/scheduler", "none [mq-deadline] kyber\n");
  AddMapped("dm-0", 0, "mpath-3600", "mpatha");
  AddSlave("dm-0", "sda");
  AddSlave("dm-0", "sdb");
  AddMapped("dm-1", 1, "CRYPT-LUKS2-abc", "secret");
  AddSlave("dm-1", "dm-0");
  Mount(40, "253:1", "/data", "xfs", "/dev/mapper/secret");
  StorageLayers found = layers();
  const uint32_t top = found.AddMount(40);
  EXPECT_EQ(Texts(found), (Names{"xfs /data [4]", "dm-1 crypt [3]", "dm-0 multipath [1 2]",
                                 "sdb disk []", "sda disk []"}));
  const std::string root_path = root().string();
  EXPECT_EQ(QueuesUnder(root_path, found.layers(), top), (Names{"sda", "sdb"}));
  // A multipath device with a queue of its own: the kernel uses no scheduler of the paths then.
  Write("sys/devices/dm-0/queue/scheduler", "[mq-deadline] kyber none\n");
  EXPECT_EQ(QueuesUnder(root_path, found.layers(), top), Names{"dm-0"});
  EXPECT_EQ(*ReadAheadDevicesUnder(found.layers(), top), Names{"dm-1"});
}

TEST_F(LayersTest, BtrfsHasAllDevicesOfItsList) {
  AddDisk("sda", 8, 0, 2000);
  AddDisk("sdb", 8, 16, 2000);
  AddPartition("sdb", 2, 8, 18);
  AddDisk("sdc", 8, 32, 2000);
  for (const char* device : {"sda", "sdb2"}) {
    Write(absl::StrCat("sys/fs/btrfs/1b4e28ba/devices/", device, "/size"), "");
  }
  Write("sys/fs/btrfs/features/raid1c34", "0\n");
  Write("sys/fs/btrfs/2c5f39cb/devices/sdc/size", "");
  Mount(40, "0:40", "/mnt/a", "btrfs", "/dev/sdb2", "rw,subvolid=257,subvol=/a");
  Mount(41, "0:40", "/mnt/b", "btrfs", "/dev/sdb2", "rw,subvolid=258,subvol=/b");
  StorageLayers found = layers();
  const uint32_t top = found.AddMount(40);
  EXPECT_EQ(Texts(found), (Names{"btrfs /mnt/a [1 2]", "sdb disk []", "sda disk []"}));
  EXPECT_EQ(TopDevicesUnder(found.layers(), top), (Names{"sda", "sdb"}));
  EXPECT_EQ(found.AddMount(41), top) << "another subvolume of the same file system";
  const auto read_ahead = ReadAheadDevicesUnder(found.layers(), top);
  EXPECT_EQ(read_ahead.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(read_ahead.status().message().find("leave read_ahead out"), std::string::npos);
}

TEST_F(LayersTest, AnOverlayLeadsToTheFileSystemsOfItsDirectories) {
  AddDisk("sda", 8, 0, 2000);
  AddDisk("sdb", 8, 16, 2000);
  for (const char* directory : {"upper", "work", "lower:1", "images"}) {
    std::filesystem::create_directories(root() / directory / "x");
  }
  Mount(30, "8:0", "/", "ext4", "/dev/sda");
  Mount(31, "8:16", "/images", "xfs", "/dev/sdb");
  // As the kernel escapes a colon in a name and a blank.
  Mount(32, "0:50", "/merged\\040dir", "overlay", "overlay",
        "rw,lowerdir=/lower\\134:1:/images/x,upperdir=/upper,workdir=/work");
  StorageLayers found = layers();
  const uint32_t top = found.AddMount(32);
  EXPECT_EQ(Texts(found), (Names{"overlay /merged dir [2 4]", "xfs /images [3]", "sdb disk []",
                                 "ext4 / [1]", "sda disk []"}));
  EXPECT_EQ(TopDevicesUnder(found.layers(), top), (Names{"sda", "sdb"}));
  EXPECT_EQ(*ReadAheadDevicesUnder(found.layers(), top), (Names{"sda", "sdb"}));
}

// As in a container: the directories are those of the host.
TEST_F(LayersTest, DirectoriesThatAreNotHereLeadNowhere) {
  AddDisk("sda", 8, 0, 2000);
  Mount(30, "0:50", "/", "overlay", "overlay",
        "rw,lowerdir=/var/lib/containers/l1,upperdir=/var/lib/containers/u,workdir=relative");
  Mount(31, "8:0", "/var", "ext4", "/dev/sda");
  StorageLayers found = layers();
  const uint32_t top = found.AddMount(30);
  EXPECT_EQ(Texts(found), Names{"overlay / []"});
  EXPECT_TRUE(TopDevicesUnder(found.layers(), top).empty());
}

TEST_F(LayersTest, ALoopDeviceLeadsToTheFileSystemOfItsFile) {
  AddDisk("sda", 8, 0, 2000);
  Write("images/disk.img", "");
  Write("gone/other", "");
  AddLoop(0, "/images/disk.img");
  AddLoop(1, "/dev/loop0");
  AddLoop(2, "/gone/disk.img (deleted)");
  Mount(30, "8:0", "/", "ext4", "/dev/sda");
  Mount(31, "7:1", "/data", "xfs", "/dev/loop1");
  Mount(32, "0:60", "/gone", "nfs4", "server:/export");
  StorageLayers found = layers();
  const uint32_t top = found.AddMount(31);
  EXPECT_EQ(Texts(found), (Names{"xfs /data [4]", "loop1 loop [3]", "loop0 loop [2]", "ext4 / [1]",
                                 "sda disk []"}));
  EXPECT_TRUE(found.layers()[2].page_cached());
  EXPECT_EQ(TopDevicesUnder(found.layers(), top), Names{"loop1"});
  EXPECT_EQ(QueuesUnder(root().string(), found.layers(), top), Names{"loop1"})
      << "it has a queue of its own";
  const uint32_t deleted = found.AddDevice("loop2");
  ASSERT_NE(deleted, 0u);
  const v1::StorageLayer& loop2 = found.layers()[deleted - 1];
  ASSERT_EQ(loop2.underneath_size(), 1);
  EXPECT_EQ(found.layers()[loop2.underneath(0) - 1].kind(), "nfs4");
}

// A loop device whose file lies on a file system of another loop device, whichever of the two has
// the smaller number.
TEST_F(LayersTest, ALoopDeviceOverAFileOnALoopDeviceHasBothUnderneath) {
  AddDisk("sda", 8, 0, 2000);
  for (const char* file : {"low.img", "high.img", "low/disk.img", "high/disk.img"}) Write(file, "");
  AddLoop(0, "/low.img");
  AddLoop(1, "/low/disk.img");
  AddLoop(3, "/high.img");
  AddLoop(2, "/high/disk.img");
  Mount(30, "8:0", "/", "ext4", "/dev/sda");
  Mount(31, "7:0", "/low", "ext4", "/dev/loop0");
  Mount(32, "7:1", "/over/low", "xfs", "/dev/loop1");
  Mount(33, "7:3", "/high", "ext4", "/dev/loop3");
  Mount(34, "7:2", "/over/high", "xfs", "/dev/loop2");
  StorageLayers found = layers();
  const uint32_t low = found.AddMount(32);
  EXPECT_EQ(Texts(found), (Names{"xfs /over/low [5]", "loop1 loop [4]", "ext4 /low [3]",
                                 "loop0 loop [2]", "ext4 / [1]", "sda disk []"}));
  const uint32_t high = found.AddMount(34);
  EXPECT_EQ(DevicesBelow(found.layers(), low), (std::set<std::string>{"loop0", "loop1", "sda"}));
  EXPECT_EQ(DevicesBelow(found.layers(), high), (std::set<std::string>{"loop2", "loop3", "sda"}));
  // Each has a queue of its own, and figures that its parts have, too.
  EXPECT_EQ(TopDevicesUnder(found.layers(), high), Names{"loop2"});
  EXPECT_EQ(QueuesUnder(root().string(), found.layers(), low), Names{"loop1"});
  EXPECT_EQ(QueuesUnder(root().string(), found.layers(), high), Names{"loop2"});
  EXPECT_EQ(*ReadAheadDevicesUnder(found.layers(), high), Names{"loop2"});
}

// The file of a loop device on a server: its layer is found, and the server is not asked for it.
TEST_F(LayersTest, NoServerIsAskedForWhatLiesUnderneath) {
  AddDisk("sda", 8, 0, 2000);
  AddLoop(0, "/nas/disk.img");
  AddLoop(1, "/home/link/disk.img");
  std::filesystem::create_directories(root() / "home");
  std::filesystem::create_directories(root() / "data");
  std::filesystem::create_symlink("../nas/a", root() / "home/link");
  Mount(30, "8:0", "/", "ext4", "/dev/sda");
  Mount(31, "0:60", "/nas", "nfs4", "server:/export");
  // Nothing is there by these names: a file system that was asked would say so.
  StorageLayers found = layers();
  for (const char* loop : {"loop0", "loop1"}) {
    const uint32_t number = found.AddDevice(loop);
    ASSERT_NE(number, 0u);
    const v1::StorageLayer& layer = found.layers()[number - 1];
    ASSERT_EQ(layer.underneath_size(), 1) << loop;
    EXPECT_EQ(found.layers()[layer.underneath(0) - 1].kind(), "nfs4");
    EXPECT_EQ(layer.identity(), "");
  }
}

// A mount over a directory hides the mounts beneath it that came before.
TEST_F(LayersTest, AFileLiesOnTheMountThatIsSeenThere) {
  AddDisk("sda", 8, 0, 2000);
  AddDisk("sdb", 8, 16, 2000);
  AddDisk("sdc", 8, 32, 2000);
  Write("images/deep/disk.img", "");
  AddLoop(0, "/images/deep/disk.img");
  Mount(30, "8:0", "/", "ext4", "/dev/sda");
  Mount(31, "8:16", "/images/deep", "ext4", "/dev/sdb");
  Mount(32, "8:32", "/images", "ext4", "/dev/sdc");
  StorageLayers found = layers();
  const uint32_t number = found.AddDevice("loop0");
  ASSERT_NE(number, 0u);
  EXPECT_EQ(Texts(found), (Names{"loop0 loop [2]", "ext4 /images [1]", "sdc disk []"}));
}

TEST_F(LayersTest, ADeviceOverAnotherOneGivesWayToWhatIsUnderneath) {
  AddDisk("sda", 8, 0, 2000);
  Write("up/x", "");
  Write("mnt/low/x", "");
  Write("disk.img", "");
  AddLoop(0, "/disk.img");
  Mount(30, "8:0", "/", "ext4", "/dev/sda");
  Mount(31, "7:0", "/mnt", "ext4", "/dev/loop0");
  Mount(32, "0:50", "/merged", "overlay", "overlay",
        "rw,lowerdir=/mnt/low,upperdir=/up,workdir=/work");
  StorageLayers found = layers();
  const uint32_t top = found.AddMount(32);
  EXPECT_EQ(TopDevicesUnder(found.layers(), top), Names{"sda"})
      << "all I/O passes it, a part of it loop0, too";
}

TEST_F(LayersTest, CirclesEndAndStacksThatAreTooDeepAreCut) {
  AddMapped("dm-0", 0, "", "");
  AddMapped("dm-1", 1, "", "");
  AddSlave("dm-0", "dm-1");
  AddSlave("dm-1", "dm-0");
  StorageLayers circle = layers();
  EXPECT_EQ(circle.AddDevice("dm-0"), 2u);
  EXPECT_EQ(Texts(circle), (Names{"dm-0 dm [1]", "dm-1 dm []"}));
  for (int i = 2; i < 100; ++i) {
    AddMapped(absl::StrCat("dm-", i), i, "", "");
    if (i > 2) AddSlave(absl::StrCat("dm-", i), absl::StrCat("dm-", i - 1));
  }
  StorageLayers deep = layers();
  EXPECT_NE(deep.AddDevice("dm-99"), 0u);
  EXPECT_EQ(deep.layers().size(), 32u);
}

TEST_F(LayersTest, ThereAreNoMoreLayersThanTheLimit) {
  AddDisk("md0", 9, 0, 1000);
  for (int i = 0; i < 300; ++i) {
    const std::string disk = absl::StrCat("sd", i, "x");
    AddDisk(disk, 8, i, 100);
    AddSlave("md0", disk);
  }
  StorageLayers found = layers();
  EXPECT_EQ(found.AddDevice("md0"), 0u);
  EXPECT_EQ(found.layers().size(), static_cast<size_t>(limits::kStorageLayers));
}

// Each device of a level lies on both of the next one: there are 2^29 ways down.
TEST_F(LayersTest, BeyondTheLimitNoStackIsWalkedAgainAndAgain) {
  for (int i = 0; i < limits::kStorageLayers; ++i) {
    AddDisk(absl::StrCat("sd", i, "x"), 8, i, 100);
  }
  for (int i = 0; i < 60; ++i) {
    AddMapped(absl::StrCat("dm-", i), i, "", "");
    for (const int part : {(i / 2 - 1) * 2, (i / 2 - 1) * 2 + 1}) {
      if (part >= 0) AddSlave(absl::StrCat("dm-", i), absl::StrCat("dm-", part));
    }
  }
  StorageLayers found = layers();
  for (int i = 0; i < limits::kStorageLayers; ++i) {
    EXPECT_NE(found.AddDevice(absl::StrCat("sd", i, "x")), 0u);
  }
  EXPECT_EQ(found.AddDevice("dm-59"), 0u);
  EXPECT_EQ(found.layers().size(), static_cast<size_t>(limits::kStorageLayers));
}

TEST_F(LayersTest, WhatIsInMemoryOrUnknownHasNoDevice) {
  Mount(30, "0:30", "/tmp", "tmpfs", "tmpfs");
  // The user who mounts a FUSE file system chooses its source.
  AddDisk("sda", 8, 0, 2000);
  Mount(31, "0:31", "/fuse", "fuse.sshfs", "/dev/sda");
  StorageLayers found = layers();
  EXPECT_TRUE(TopDevicesUnder(found.layers(), found.AddMount(30)).empty());
  EXPECT_TRUE(TopDevicesUnder(found.layers(), found.AddMount(31)).empty());
  EXPECT_EQ(found.AddMount(99), 0u);
  EXPECT_EQ(found.AddDevice("nothing"), 0u);
  EXPECT_EQ(found.AddDevice("../sda"), 0u);
  EXPECT_EQ(found.AddDevice(""), 0u);
}

TEST(MountIdTest, ADescriptorTellsItsMount) {
  const common::FileDescriptor root(open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  const uint64_t id = MountIdOf(root.get());
  EXPECT_NE(id, 0u);
  const std::string mounts = common::ReadTrimmed("/proc/self/mountinfo");
  EXPECT_NE(absl::StrCat("\n", mounts).find(absl::StrCat("\n", id, " ")), std::string::npos);
  EXPECT_EQ(MountIdOf(-1), 0u);
}

}  // namespace
}  // namespace lockstep::worker
