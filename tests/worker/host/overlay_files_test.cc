// The location of the bytes of a file on an overlay. tests/integration/test_copy.py mounts one.

#include "worker/host/overlay_files.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cstdlib>

#include "gtest/gtest.h"

namespace lockstep::worker {
namespace {

using Paths = std::vector<std::string>;

MountLine Overlay(const std::string& target, const std::string& beneath = "/") {
  MountLine mount;
  mount.type = "overlay";
  mount.target = target;
  mount.root = beneath;
  mount.filesystem_options = "rw,lowerdir=/low:/base,upperdir=/up,workdir=/work";
  return mount;
}

TEST(OverlayFilesTest, TheUpperDirectoryComesFirst) {
  EXPECT_EQ(PathsUnderOverlay(Overlay("/merged"), "/merged/a/f"),
            (Paths{"/up/a/f", "/low/a/f", "/base/a/f"}));
  EXPECT_EQ(PathsUnderOverlay(Overlay("/"), "/a/f"), (Paths{"/up/a/f", "/low/a/f", "/base/a/f"}));
}

TEST(OverlayFilesTest, ABindMountShowsADirectoryOfIt) {
  EXPECT_EQ(PathsUnderOverlay(Overlay("/bound", "/a"), "/bound/f").front(), "/up/a/f");
}

TEST(OverlayFilesTest, AnotherPathIsNotBeneathIt) {
  EXPECT_TRUE(PathsUnderOverlay(Overlay("/merged"), "/merged2/f").empty());
  MountLine relative = Overlay("/merged");
  relative.filesystem_options = "rw,lowerdir=low,upperdir=up";
  EXPECT_TRUE(PathsUnderOverlay(relative, "/merged/f").empty());
  EXPECT_EQ(PathsUnderOverlay(relative, "/merged/f", "/mnt"), (Paths{"/mnt/up/f", "/mnt/low/f"}));
}

TEST(OverlayFilesTest, AFileOnNoOverlayHasNoneUnderneath) {
  const common::FileDescriptor file(open("/proc/self/status", O_PATH | O_CLOEXEC));
  ASSERT_TRUE(file.valid());
  struct stat facts;
  ASSERT_EQ(fstat(file.get(), &facts), 0);
  EXPECT_TRUE(OverlayFiles().Under(file, facts.st_dev).empty());
}

}  // namespace
}  // namespace lockstep::worker
