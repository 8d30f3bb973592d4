// The layers underneath observed devices, and the mounts of servers, by a recorded sysfs.

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gtest/gtest.h"
#include "tests/worker/host/fake_sysfs.h"
#include "worker/host/observed_devices.h"

namespace lockstep::worker {
namespace {

using Kind = Guard::Named::Kind;
using Names = std::vector<std::string>;

// A host with two disks: a boot partition on the first, swap space on the second, and a mirror of
// their other partitions with LVM on it. /data is on LVM, /nas on a server, /lab a network's disk.
class ObservedLayersTest : public ::testing::Test, protected FakeSysfs {
 protected:
  ObservedLayersTest() {
    Write("proc/self/mountinfo",
          "20 1 253:0 / / rw,relatime - ext4 /dev/mapper/vg-root rw\n"
          "21 20 8:1 / /boot rw,relatime - vfat /dev/sda1 rw\n"
          "22 20 253:1 / /data rw,relatime - xfs /dev/mapper/vg-data rw\n"
          "23 20 0:40 / /nas rw,relatime - nfs4 nas:/export rw,addr=10.0.0.2\n"
          "24 20 0:41 / /share rw,relatime - cifs //nas/share rw,addr=10.0.0.3\n");
    Write("proc/swaps",
          "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n"
          "/dev/sdb1                               partition\t1\t\t0\t\t-2\n");
    for (const auto& [disk, minor_number] : {std::pair("sda", 0), std::pair("sdb", 16)}) {
      AddDisk(disk, 8, minor_number, 2000);
      for (int part = 1; part <= 2; ++part) AddPartition(disk, part, minor_number + part);
    }
    AddDisk("md0", 9, 0, 1000);
    Write("sys/devices/md0/md/level", "raid1\n");
    AddSlave("md0", "sda2");
    AddSlave("md0", "sdb2");
    for (const auto& [name, number, label] :
         {std::tuple("dm-0", 0, "vg-root"), std::tuple("dm-1", 1, "vg-data")}) {
      AddDisk(name, 253, number, 500);
      Write(absl::StrCat("sys/devices/", name, "/dm/uuid"), absl::StrCat("LVM-", name));
      Write(absl::StrCat("sys/devices/", name, "/dm/name"), label);
      AddSlave(name, "md0");
    }
    for (const char* folder : {"boot", "data", "nas", "share"}) {
      std::filesystem::create_directories(root() / folder);
    }
  }

  void AddPartition(const std::string& disk, int number, int minor_number) {
    const std::string name = absl::StrCat(disk, number);
    const std::string folder = absl::StrCat("sys/devices/", disk, "/", name);
    Write(folder + "/dev", absl::StrCat("8:", minor_number, "\n"));
    Write(folder + "/size", "500\n");
    Write(folder + "/partition", absl::StrCat(number, "\n"));
    Link(folder, name, 8, minor_number);
  }

  ObservableDevices Devices(const Names& allowed, ObserveScope scope) const {
    std::vector<Guard::Named> named;
    for (const std::string& path : allowed) named.push_back({path, Kind::kPath, "", 0});
    return ObservableDevices(named, scope, root().string());
  }
  static v1::ObserveRequest Of(const Names& paths) {
    v1::ObserveRequest request;
    for (const std::string& path : paths) request.add_devices(path);
    return request;
  }
  static std::string NamesOf(const v1::ObservedDevices& answer) {
    EXPECT_EQ(answer.refused(), "");
    Names names;
    for (const v1::ObservedDevice& device : answer.devices()) names.push_back(device.name());
    return absl::StrJoin(names, " ");
  }
  // "dm-1 md0 sda sdb": from this layer down, each device once.
  static void AddStack(const std::vector<v1::StorageLayer>& layers, uint32_t number, Names* out) {
    const v1::StorageLayer& layer = layers[number - 1];
    const std::string text = layer.device_name().empty()
                                 ? absl::StrCat(layer.kind(), ":", layer.mount_point())
                                 : absl::StrCat(layer.device_name(), "(", layer.kind(), ")");
    if (std::find(out->begin(), out->end(), text) == out->end()) out->push_back(text);
    for (const uint32_t part : layer.underneath()) AddStack(layers, part, out);
  }
  static std::string StackOf(const ObservableDevices& devices, const v1::ObservedDevices& answer) {
    Names stack;
    for (const uint32_t top : answer.top_layers()) AddStack(devices.layers(), top, &stack);
    return absl::StrJoin(stack, " ");
  }
};

TEST_F(ObservedLayersTest, AllLayersUnderAnAllowedDirectoryAreSeen) {
  ObservableDevices devices = Devices({"/data"}, ObserveScope::kAllowed);
  for (const Names& paths : {Names{}, Names{"/data"}}) {
    const v1::ObservedDevices answer = devices.Answer(Of(paths));
    EXPECT_EQ(NamesOf(answer), "dm-1 md0 sda sdb");
    EXPECT_EQ(StackOf(devices, answer), "xfs:/data dm-1(lvm) md0(md raid1) sda(disk) sdb(disk)");
    EXPECT_EQ(absl::StrJoin(answer.devices(0).on(), " "), "md0 sda sdb");
  }
  EXPECT_TRUE(devices.MaySample({"dm-1", "md0", "sda", "sdb"}).ok());
  EXPECT_TRUE(absl::IsPermissionDenied(devices.MaySample({"dm-0"}))) << "beside the others";
}

TEST_F(ObservedLayersTest, AllDevicesHaveTheirFileSystemsAboveThem) {
  ObservableDevices devices = Devices({}, ObserveScope::kAll);
  const v1::ObservedDevices answer = devices.Answer(Of({}));
  EXPECT_EQ(NamesOf(answer), "dm-0 dm-1 md0 sda sdb");
  const std::string stack = StackOf(devices, answer);
  EXPECT_EQ(stack,
            "xfs:/data dm-1(lvm) md0(md raid1) sda(disk) sdb(disk) vfat:/boot ext4:/ dm-0(lvm)");
  // Each number among those of the tops is larger than the next one.
  EXPECT_TRUE(std::is_sorted(answer.top_layers().rbegin(), answer.top_layers().rend()));
}

TEST_F(ObservedLayersTest, FileSystemsAndSwapSpaceAreAUseOfTheirDisk) {
  ObservableDevices devices = Devices({}, ObserveScope::kAll);
  Names in_use;
  const v1::ObservedDevices answer = devices.Answer(Of({}));
  for (const v1::ObservedDevice& device : answer.devices()) {
    if (device.in_use()) in_use.push_back(device.name());
  }
  EXPECT_EQ(in_use, (Names{"dm-0", "dm-1", "sda", "sdb"})) << "the mirror has no file system";
}

TEST_F(ObservedLayersTest, APartOfAnotherDeviceIsNoUseThatWasAskedFor) {
  ObservableDevices devices = Devices({"/data", "/boot"}, ObserveScope::kAllowed);
  const auto uses = [&](const Names& paths) {
    Names in_use;
    const v1::ObservedDevices answer = devices.Answer(Of(paths));
    for (const v1::ObservedDevice& device : answer.devices()) {
      if (device.in_use()) in_use.push_back(device.name());
    }
    return absl::StrJoin(in_use, " ");
  };
  EXPECT_EQ(uses({"/data"}), "dm-1");
  EXPECT_EQ(uses({}), "dm-1 sda");
  const auto only_underneath = [&](const Names& paths) {
    Names names;
    const v1::ObservedDevices answer = devices.Answer(Of(paths));
    for (const v1::ObservedDevice& device : answer.devices()) {
      if (device.only_underneath()) names.push_back(device.name());
    }
    return absl::StrJoin(names, " ");
  };
  EXPECT_EQ(only_underneath({"/data"}), "md0 sda sdb");
  EXPECT_EQ(only_underneath({}), "md0 sdb");
}

TEST_F(ObservedLayersTest, MountsOfServersAreSeenWithoutADevice) {
  ObservableDevices allowed = Devices({"/nas"}, ObserveScope::kAllowed);
  const v1::ObservedDevices answer = allowed.Answer(Of({}));
  EXPECT_EQ(NamesOf(answer), "");
  ASSERT_EQ(answer.mounts_size(), 1);
  EXPECT_EQ(answer.mounts(0).mount_point(), "/nas");
  EXPECT_EQ(answer.mounts(0).kind(), "nfs4");
  EXPECT_TRUE(answer.left_out().empty());
  EXPECT_EQ(allowed.Answer(Of({"/nas/deep/file"})).mounts_size(), 1);
  const std::string refused = allowed.Answer(Of({"/share"})).refused();
  EXPECT_NE(refused.find("/share: is on the mount /share"), std::string::npos) << refused;
  EXPECT_TRUE(allowed.MaySample({}, {"/nas"}).ok());
  EXPECT_TRUE(absl::IsPermissionDenied(allowed.MaySample({}, {"/share"})));
  ObservableDevices all = Devices({}, ObserveScope::kAll);
  EXPECT_EQ(all.Answer(Of({})).mounts_size(), 2);
}

TEST_F(ObservedLayersTest, LayersOfTargetsAreNotAddedTwice) {
  ObservableDevices devices = Devices({}, ObserveScope::kAll);
  devices.Answer(Of({}));
  v1::Inspection inspection;
  v1::StorageLayer* disk = inspection.add_layers();
  disk->set_device_name("sdb");
  const std::vector<uint32_t> numbers = MergeLayers(devices.layers(), &inspection);
  ASSERT_EQ(numbers.size(), devices.layers().size());
  EXPECT_EQ(static_cast<size_t>(inspection.layers_size()), devices.layers().size());
  for (size_t i = 0; i < numbers.size(); ++i) {
    const v1::StorageLayer& before = devices.layers()[i];
    const v1::StorageLayer& after = inspection.layers(static_cast<int>(numbers[i]) - 1);
    EXPECT_EQ(after.device_name(), before.device_name());
    if (before.device_name() == "sdb") continue;
    ASSERT_EQ(after.underneath_size(), before.underneath_size());
    for (int part = 0; part < after.underneath_size(); ++part) {
      EXPECT_EQ(after.underneath(part), numbers[before.underneath(part) - 1]);
      EXPECT_LT(after.underneath(part), numbers[i]);
    }
  }
}

}  // namespace
}  // namespace lockstep::worker
