// Lines of mountinfo as kernels write them.

#include "worker/host/mount_table.h"

#include <sys/sysmacros.h>

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/worker/host/fake_sysfs.h"
#include "worker/host/mount_tree.h"

namespace lockstep::worker {
namespace {

using Directories = std::vector<std::string>;

TEST(MountTableTest, ALineHasWhatTheKernelSaysOfAMount) {
  const auto lines = ParseMountInfo(
      "36 35 98:17 /a\\040b /mnt/x\\134y\\040z rw,noatime shared:1 master:2 - ext4 /dev/s\\040da "
      "rw,errors=continue\n"
      "37 36 0:52 / /nas ro - nfs4 nas:/export rw,addr=10.0.0.1\n"
      "38 36 0:53 / /bare rw - tmpfs  rw\n");
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0].id, 36);
  EXPECT_EQ(lines[0].parent, 35);
  EXPECT_EQ(lines[0].number, makedev(98, 17));
  EXPECT_EQ(lines[0].root, "/a b");
  EXPECT_EQ(lines[0].target, "/mnt/x\\y z");
  EXPECT_EQ(lines[0].written_target, "/mnt/x\\134y\\040z");
  EXPECT_EQ(lines[0].options, "rw,noatime");
  EXPECT_EQ(lines[0].type, "ext4");
  EXPECT_EQ(lines[0].source, "/dev/s da");
  EXPECT_EQ(lines[0].filesystem_options, "rw,errors=continue");
  EXPECT_EQ(lines[1].type, "nfs4");
  EXPECT_EQ(lines[2].source, "") << "there are two blanks in a row";
  EXPECT_EQ(lines[2].filesystem_options, "rw");
}

TEST(MountTableTest, LinesOfAnotherFormAreLeftOut) {
  for (const char* line :
       {"", "garbage", "1 2", "x 1 8:1 / / rw - ext4 /dev/sda rw",
        "1 x 8:1 / / rw - ext4 /dev/sda rw", "1 1 8 / / rw - ext4 /dev/sda rw",
        "1 1 8:x / / rw - ext4 /dev/sda rw", "1 1 8:1 / / rw ext4 /dev/sda rw",
        "1 1 8:1 / / rw - ext4 /dev/sda", "1 1 8:1:2 / / rw - ext4 /dev/sda rw",
        "99999999999 1 8:1 / / rw - ext4 /dev/sda rw", "1 1 8:1 - ext4 /dev/sda rw"}) {
    EXPECT_TRUE(ParseMountInfo(line).empty()) << line;
    EXPECT_EQ(ParseMountInfo(std::string(line) + "\n2 1 8:2 / /a rw - xfs /dev/sdb rw").size(), 1u)
        << line;
  }
}

TEST(MountTableTest, OptionsAreReadWithoutTheirEscapes) {
  EXPECT_EQ(MountOption("rw,lowerdir=/b,upperdir=/a", "upperdir"), "/a");
  EXPECT_EQ(MountOption("rw,upperdir=/a\\054b\\040c", "upperdir"), "/a,b c");
  EXPECT_EQ(MountOption("rw,xupperdir=/a", "upperdir"), "");
  EXPECT_EQ(MountOption("rw,upperdir", "upperdir"), "");
  EXPECT_EQ(MountOption("", "upperdir"), "");
  EXPECT_TRUE(HasMountOption("rw,vers=4.2,rdma", "rdma"));
  EXPECT_TRUE(HasMountOption("metacopy=on", "metacopy=on"));
  EXPECT_FALSE(HasMountOption("rw,xrdma,rdma=0", "rdma"));
  EXPECT_FALSE(HasMountOption("", "rdma"));
  EXPECT_EQ(MountOption("a=\\04,b=\\", "a"), "\\04") << "no escape";
}

TEST(MountTableTest, AnOverlaysDirectoriesHaveTheirNames) {
  EXPECT_EQ(OverlayDirectories("rw,lowerdir=/l1:/l2::/data,upperdir=/u,workdir=/w"),
            (Directories{"/u", "/l1", "/l2", "/data"}));
  EXPECT_EQ(OverlayDirectories("ro,lowerdir=/a\\054b:/c\\040d"), (Directories{"/a,b", "/c d"}));
  // A colon in a name: before Linux 6.5, and since then.
  EXPECT_EQ(OverlayDirectories("ro,lowerdir=/a\\134:1:/b"), (Directories{"/a:1", "/b"}));
  EXPECT_EQ(OverlayDirectories("ro,lowerdir=/a\\0721:/b"), (Directories{"/a:1", "/b"}));
  EXPECT_EQ(OverlayDirectories("ro,lowerdir+=/a:1,lowerdir+=/b,datadir+=/c"),
            (Directories{"/a:1", "/b", "/c"}));
  EXPECT_TRUE(OverlayDirectories("rw,size=4k").empty());
}

TEST(MountTreeTest, ACommaInTheNameOfALayerHidesNoServer) {
  const FakeSysfs sys;
  const MountTree tree(sys.root().string(),
                       "20 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
                       "22 20 0:40 / /nas,1 rw - nfs4 nas:/export rw\n"
                       "24 20 0:42 / /over rw - overlay overlay rw,lowerdir=/nas\\0541/base\n"
                       "25 20 0:43 / /other rw - overlay overlay rw,lowerdir=/nas/base\n");
  EXPECT_FALSE(tree.Find("/over/file")->is_local);
  EXPECT_TRUE(tree.Find("/other/file")->is_local);
}

TEST(MountTreeTest, NoLinkIsReadThroughALoopDeviceOverAServer) {
  const FakeSysfs sys;
  sys.AddDisk("loop0", 7, 0, 2048);
  sys.AddDisk("loop1", 7, 1, 2048);
  sys.Write("sys/devices/loop0/loop/backing_file", "/nas/disk.img\n");
  sys.Write("sys/devices/loop1/loop/backing_file", "/disk.img\n");
  // A partition's folder is in that of its disk.
  sys.Write("sys/devices/loop0/loop0p1/partition", "1\n");
  sys.Link("sys/devices/loop0/loop0p1", "loop0p1", 259, 0);
  const MountTree tree(sys.root().string(),
                       "20 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
                       "22 20 0:40 / /nas rw - nfs4 nas:/export rw\n"
                       "23 20 7:0 / /far rw - ext4 /dev/loop0 rw\n"
                       "24 20 7:1 / /near rw - ext4 /dev/loop1 rw\n"
                       "25 20 7:2 / /gone rw - ext4 /dev/loop2 rw\n"
                       "26 20 259:0 / /part rw - ext4 /dev/loop0p1 rw\n");
  EXPECT_FALSE(tree.Find("/far/file")->is_local);
  EXPECT_FALSE(tree.Find("/part/file")->is_local);
  EXPECT_TRUE(tree.Find("/near/file")->is_local);
  EXPECT_TRUE(tree.Find("/gone/file")->is_local);
}

TEST(MountTreeTest, AMountIsFoundByItsNumber) {
  const FakeSysfs sys;
  const MountTree tree(sys.root().string(), "20 1 8:1 / / rw - ext4 /dev/sda1 rw\n");
  ASSERT_NE(tree.WithId(20), nullptr);
  EXPECT_EQ(tree.WithId(20)->type, "ext4");
  EXPECT_EQ(tree.WithId(0), nullptr);
  EXPECT_EQ(tree.WithId((uint64_t{1} << 32) + 20), nullptr);
}

// A user without rights chooses the source of a FUSE mount.
TEST(MountTreeTest, ASourceIsToldInPrintableLetters) {
  const FakeSysfs sys;
  const MountTree tree(sys.root().string(),
                       "20 1 0:40 / / rw - fuse.x \x1b[2Jnas" + std::string(5000, 'x') + " rw\n");
  const std::string text = MountTree::Describe(*tree.WithId(20));
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_LT(text.size(), 300u);
}

}  // namespace
}  // namespace lockstep::worker
