#include "worker/host/loop_backing.h"

#include <linux/loop.h>
#include <sys/ioctl.h>
#include <sys/sysmacros.h>

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

}  // namespace lockstep::worker
