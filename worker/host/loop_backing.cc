#include "worker/host/loop_backing.h"

#include <fcntl.h>
#include <linux/loop.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <string>

#include "absl/strings/str_cat.h"

namespace lockstep::worker {
namespace {

// The kernel's huge_encode_dev(): minor's low byte, 12 bits of major, the rest of minor.
dev_t DecodeDevice(uint64_t encoded) {
  const auto number = static_cast<uint32_t>(encoded);
  return makedev((number & 0xfff00) >> 8, (number & 0xff) | ((number >> 12) & 0xfff00));
}

}  // namespace

std::optional<LoopBacking> LoopBackingOf(int fd) {
  loop_info64 info = {};
  if (fd < 0 || ioctl(fd, LOOP_GET_STATUS64, &info) != 0) return std::nullopt;
  LoopBacking backing;
  backing.device = DecodeDevice(info.lo_device);
  backing.inode = info.lo_inode;
  backing.disk = DecodeDevice(info.lo_rdevice);
  backing.offset = info.lo_offset;
  backing.size_limit = info.lo_sizelimit;
  return backing;
}

common::FileDescriptor OpenBackingFile(int fd) {
  const auto backing = LoopBackingOf(fd);
  struct stat device;
  if (!backing || fstat(fd, &device) != 0) return {};
  // A partition's file is that of its disk.
  const std::string node =
      absl::StrCat("/sys/dev/block/", major(device.st_rdev), ":", minor(device.st_rdev));
  std::string path = common::ReadTrimmed(node + "/loop/backing_file");
  if (path.empty()) path = common::ReadTrimmed(node + "/../loop/backing_file");
  common::FileDescriptor file(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  struct stat facts;
  // Another file may have the name by now.
  if (!file.valid() || fstat(file.get(), &facts) != 0 || !S_ISREG(facts.st_mode) ||
      facts.st_ino != backing->inode || facts.st_dev != backing->device) {
    return {};
  }
  return file;
}

}  // namespace lockstep::worker
