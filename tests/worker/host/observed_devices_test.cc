// Paths by mounts and links, and the devices that observe phases see.

#include "worker/host/observed_devices.h"

#include <algorithm>
#include <filesystem>

#include "gtest/gtest.h"
#include "tests/worker/host/fake_sysfs.h"
#include "worker/host/mount_tree.h"

namespace lockstep::worker {
namespace {

using Kind = Guard::Named::Kind;

// sda with a partition under /, sdb under /data, an NFS, a btrfs over sdc and sdd, an overlay, and
// memory. sde is nowhere.
class ObservedDevicesTest : public ::testing::Test {
 protected:
  ObservedDevicesTest() {
    sys_.Write("proc/self/mountinfo",
               "20 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw\n"
               "21 20 8:16 / /data rw,relatime - xfs /dev/sdb rw\n"
               "22 20 0:40 / /nas rw,relatime - nfs4 nas:/export rw\n"
               "23 20 0:41 / /pool rw,relatime - btrfs /dev/sdc rw\n"
               "24 20 0:42 / /over rw,relatime - overlay overlay rw,upperdir=/data/up\n"
               "25 20 0:43 / /memory rw,relatime - tmpfs tmpfs rw\n"
               "26 21 0:44 / /data/shown rw,relatime - tmpfs tmpfs rw\n");
    int minor_number = 0;
    for (const char* name : {"sda", "sdb", "sdc", "sdd", "sde"}) {
      sys_.AddDisk(name, 8, minor_number, 2048);
      sys_.Write(std::string("sys/devices/") + name + "/wwid", std::string("naa.") + name);
      minor_number += 16;
    }
    sys_.Write("sys/devices/sda/sda1/dev", "8:1");
    sys_.Write("sys/devices/sda/sda1/partition", "1");
    sys_.Write("sys/devices/sda/sda1/size", "1024");
    sys_.Link("sys/devices/sda/sda1", "sda1", 8, 1);
    for (const char* name : {"sdc", "sdd"}) {
      sys_.Write(std::string("sys/fs/btrfs/1234/devices/") + name + "/size", "1");
    }
    for (const char* folder : {"data/up", "nas", "pool", "over", "memory", "home"}) {
      std::filesystem::create_directories(sys_.root() / folder);
    }
  }

  v1::ObservedDevices Answer(const std::vector<Guard::Named>& allowed, ObserveScope scope,
                             const std::vector<std::string>& paths = {}) const {
    v1::ObserveRequest request;
    for (const std::string& path : paths) request.add_devices(path);
    return ObservableDevices(allowed, scope, sys_.root().string()).Answer(request);
  }
  static std::vector<std::string> NamesOf(const v1::ObservedDevices& answer) {
    EXPECT_EQ(answer.refused(), "");
    std::vector<std::string> names;
    for (const v1::ObservedDevice& device : answer.devices()) names.push_back(device.name());
    return names;
  }

  FakeSysfs sys_;
};

TEST_F(ObservedDevicesTest, PathsLeadToTheMountThatIsSeenThere) {
  const MountTree tree(sys_.root().string());
  EXPECT_EQ(tree.Find("/data/a/b")->mount->id, 21);
  EXPECT_EQ(tree.Find("/data/shown/x")->mount->id, 26);
  EXPECT_EQ(tree.Find("/database")->mount->id, 20);
  EXPECT_EQ(tree.Find("/data/../nas")->mount->id, 22);
  EXPECT_FALSE(tree.Find("data").ok());
  // Another mount over /data hides what was mounted beneath.
  sys_.Write("proc/self/mountinfo",
             "20 1 8:1 / / rw - ext4 /dev/sda1 rw\n21 20 8:16 / /data rw - xfs /dev/sdb rw\n"
             "26 21 0:44 / /data/shown rw - tmpfs tmpfs rw\n"
             "27 21 8:32 / /data rw - xfs /dev/sdc rw\n");
  const MountTree covered(sys_.root().string());
  EXPECT_EQ(covered.Find("/data/shown/x")->mount->id, 27);
  EXPECT_TRUE(covered.Beneath("/data").empty());
}

TEST_F(ObservedDevicesTest, NoLinkOnAServersFileSystemIsRead) {
  std::filesystem::create_symlink("/data", sys_.root() / "nas/link");
  std::filesystem::create_symlink("../nas/link", sys_.root() / "home/away");
  std::filesystem::create_symlink("/data/up", sys_.root() / "home/near");
  const MountTree tree(sys_.root().string());
  const auto away = tree.Find("/home/away/file");
  ASSERT_TRUE(away.ok());
  EXPECT_EQ(away->path, "/nas/link/file");
  EXPECT_EQ(away->mount->type, "nfs4");
  EXPECT_FALSE(away->is_local);
  const auto near = tree.Find("/home/near");
  EXPECT_EQ(near->path, "/data/up");
  EXPECT_TRUE(near->is_local);
  std::filesystem::create_symlink("/home/loop", sys_.root() / "home/loop");
  EXPECT_FALSE(tree.Find("/home/loop").ok());
}

TEST_F(ObservedDevicesTest, NoLinkIsReadOnAnOverlayOverAServer) {
  const auto is_local = [&](const std::string& lower) {
    sys_.Write("proc/self/mountinfo",
               "20 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw\n"
               "21 20 8:16 / /data rw,relatime - xfs /dev/sdb rw\n"
               "22 20 0:40 / /nas rw,relatime - nfs4 nas:/export rw\n"
               "24 20 0:42 / /over rw,relatime - overlay overlay rw,lowerdir=" +
                   lower + ",upperdir=/data/up,workdir=/data/work\n");
    const auto location = MountTree(sys_.root().string()).Find("/over/link/file");
    return location.ok() && location->is_local;
  };
  EXPECT_TRUE(is_local("/home:/data/base"));
  EXPECT_FALSE(is_local("/home:/nas/base"));
}

TEST_F(ObservedDevicesTest, DefaultIsWhatTheAllowListCovers) {
  const std::vector<Guard::Named> allowed = {{"/data", Kind::kPath, "", 0},
                                             {"naa.sde", Kind::kIdentity, "", 0},
                                             {"/memory", Kind::kPath, "", 0},
                                             {"iscsi://h/iqn.a/0", Kind::kLun, "", 0}};
  const v1::ObservedDevices answer = Answer(allowed, ObserveScope::kAllowed);
  EXPECT_EQ(NamesOf(answer), (std::vector<std::string>{"sdb", "sde"}));
  EXPECT_EQ(answer.devices(1).identity(), "naa.sde");
  ASSERT_EQ(answer.left_out_size(), 2);
  EXPECT_NE(answer.left_out(0).find("/memory: lies on tmpfs"), std::string::npos);
  EXPECT_NE(answer.left_out(1).find("LUN"), std::string::npos);
  // The partition's disk, the pool's disks, and what an overlay writes to.
  const auto of = [&](const char* path) {
    return NamesOf(Answer({{path, Kind::kPath, "", 0}}, ObserveScope::kAllowed));
  };
  EXPECT_EQ(of("/home"), std::vector<std::string>{"sda"});
  EXPECT_EQ(of("/pool"), (std::vector<std::string>{"sdc", "sdd"}));
  EXPECT_EQ(of("/over"), std::vector<std::string>{"sdb"});
}

TEST_F(ObservedDevicesTest, NothingToObserveIsRefusedWithTheRemedy) {
  EXPECT_NE(Answer({}, ObserveScope::kAllowed).refused().find("names nothing"), std::string::npos);
  const std::string refused =
      Answer({{"/memory", Kind::kPath, "", 0}}, ObserveScope::kAllowed).refused();
  EXPECT_NE(refused.find("/memory: lies on tmpfs"), std::string::npos) << refused;
  EXPECT_NE(refused.find("--observe all"), std::string::npos) << refused;
}

TEST_F(ObservedDevicesTest, AJobCannotWidenWhatItMayObserve) {
  const std::vector<Guard::Named> allowed = {{"/data", Kind::kPath, "", 0}};
  const auto answer = [&](const char* path, ObserveScope scope) {
    return Answer(allowed, scope, {path});
  };
  EXPECT_EQ(NamesOf(answer("/data/up", ObserveScope::kAllowed)), std::vector<std::string>{"sdb"});
  const std::string refused = answer("/home", ObserveScope::kAllowed).refused();
  EXPECT_NE(refused.find("/home: is on sda"), std::string::npos) << refused;
  EXPECT_EQ(NamesOf(answer("/", ObserveScope::kAll)), std::vector<std::string>{"sda"});
  EXPECT_NE(answer("/dev/sdz", ObserveScope::kAll).refused(), "");
}

TEST_F(ObservedDevicesTest, WhichFilesAHostHasIsNotToldToJobs) {
  const std::vector<Guard::Named> allowed = {{"/data", Kind::kPath, "", 0}};
  // /home is there, and /nowhere is not.
  for (const ObserveScope scope : {ObserveScope::kAllowed, ObserveScope::kAll}) {
    std::string there = Answer(allowed, scope, {"/home"}).refused();
    const std::string missing = Answer(allowed, scope, {"/nowhere"}).refused();
    ASSERT_EQ(there.find("/home: "), 0u) << there;
    EXPECT_EQ(there.replace(0, 5, "/nowhere"), missing);
    EXPECT_NE(missing.find(scope == ObserveScope::kAll ? "name the mount point /" : "is on sda"),
              std::string::npos)
        << missing;
  }
  // Beneath what --allow names a wrong name is said.
  EXPECT_NE(Answer(allowed, ObserveScope::kAllowed, {"/data/wrong"}).refused().find("No such file"),
            std::string::npos);
}

TEST_F(ObservedDevicesTest, AnAllowedPathThatLeadsElsewhereShowsNothing) {
  std::filesystem::create_symlink("/pool", sys_.root() / "home/bench");
  const std::vector<Guard::Named> allowed = {{"/home/bench", Kind::kPath, "", 0, "/home/bench"}};
  EXPECT_NE(Answer(allowed, ObserveScope::kAllowed).refused().find("leads to another place"),
            std::string::npos);
  EXPECT_NE(Answer(allowed, ObserveScope::kAllowed, {"/pool"}).refused(), "");
  const std::vector<Guard::Named> meant = {{"/home/bench", Kind::kPath, "", 0, "/pool"}};
  EXPECT_EQ(NamesOf(Answer(meant, ObserveScope::kAllowed)),
            (std::vector<std::string>{"sdc", "sdd"}));
}

TEST_F(ObservedDevicesTest, OnlyAllowedDevicesAreSampled) {
  const ObservableDevices devices({{"/data", Kind::kPath, "", 0}}, ObserveScope::kAllowed,
                                  sys_.root().string());
  EXPECT_TRUE(devices.MaySample({"sdb"}).ok());
  for (const char* name : {"sda", "sdz", "../../etc", ""}) {
    EXPECT_TRUE(absl::IsPermissionDenied(devices.MaySample({"sdb", name}))) << name;
  }
}

TEST_F(ObservedDevicesTest, AllDevicesOfTheHostAreWholeDisksWithASize) {
  sys_.AddDisk("loop9", 7, 9, 0);
  EXPECT_EQ(NamesOf(Answer({}, ObserveScope::kAll)),
            (std::vector<std::string>{"sda", "sdb", "sdc", "sdd", "sde"}));
}

TEST_F(ObservedDevicesTest, ADeviceNamesTheOthersThatItIsBuiltOn) {
  sys_.AddDisk("dm-0", 253, 0, 2048);
  sys_.AddSlave("dm-0", "sdc");
  const v1::ObservedDevices answer = Answer({}, ObserveScope::kAll);
  const auto mapped = std::find_if(answer.devices().begin(), answer.devices().end(),
                                   [](const auto& device) { return device.name() == "dm-0"; });
  ASSERT_NE(mapped, answer.devices().end());
  ASSERT_EQ(mapped->on_size(), 1);
  EXPECT_EQ(mapped->on(0), "sdc");
}

// Both would count the same bytes.
TEST_F(ObservedDevicesTest, ALoopDeviceIsBuiltOnTheDiskOfItsFile) {
  sys_.AddDisk("loop0", 7, 0, 2048);
  sys_.AddDisk("loop1", 7, 1, 2048);
  sys_.Write("data/up/disk.img", "");
  sys_.Write("sys/devices/loop0/loop/backing_file", "/data/up/disk.img\n");
  sys_.Write("sys/devices/loop1/loop/backing_file", "/data/up/gone.img (deleted)\n");
  const v1::ObservedDevices answer = Answer({}, ObserveScope::kAll);
  int loops = 0;
  for (const v1::ObservedDevice& device : answer.devices()) {
    if (device.name().rfind("loop", 0) != 0) continue;
    ++loops;
    ASSERT_EQ(device.on_size(), 1) << device.name();
    EXPECT_EQ(device.on(0), "sdb") << device.name();
  }
  EXPECT_EQ(loops, 2);
}

}  // namespace
}  // namespace lockstep::worker
