#include "worker/host/device_attachments.h"

#include <filesystem>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/worker/host/fake_sysfs.h"

namespace lockstep::worker {
namespace {

using Names = std::vector<std::string>;

TEST(DeviceAttachmentsTest, AnExchangedDeviceEndsOnce) {
  FakeSysfs sysfs;
  sysfs.Write("sys/class/block/loop3/diskseq", "17");
  sysfs.Write("sys/class/block/loop4/diskseq", "18");
  sysfs.Write("sys/class/block/old/size", "8");
  DeviceAttachments attachments({"loop3", "loop4", "old"}, sysfs.root());
  EXPECT_EQ(attachments.TakeEnded(), Names());
  sysfs.Write("sys/class/block/loop3/diskseq", "19");
  EXPECT_EQ(attachments.TakeEnded(), Names{"loop3"});
  EXPECT_EQ(attachments.TakeEnded(), Names());
  std::filesystem::remove(sysfs.root() / "sys/class/block/loop4/diskseq");
  EXPECT_EQ(attachments.TakeEnded(), Names{"loop4"});
}

}  // namespace
}  // namespace lockstep::worker
