#include "worker/host/block_devices.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <linux/loop.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "common/files.h"

namespace lockstep::worker {

const KernelBlocks& ThisKernel() {
  static const KernelBlocks kernel;
  return kernel;
}

absl::StatusOr<v1::BlockDevice> DescribeBlockDevice(dev_t number, int fd) {
  const auto name = ThisKernel().NameOf(number);
  if (!name.ok()) return name.status();
  v1::BlockDevice device = ThisKernel().Describe(*name);
  loop_info64 loop = {};
  if (fd >= 0 && ioctl(fd, LOOP_GET_STATUS64, &loop) == 0) {
    const auto encoded = static_cast<uint32_t>(loop.lo_device);
    device.set_identity(KernelBlocks::LoopIdentity(
        makedev((encoded & 0xfff00) >> 8, (encoded & 0xff) | ((encoded >> 12) & 0xfff00)),
        loop.lo_inode, loop.lo_offset, loop.lo_sizelimit));
  }
  uint64_t sequence = 0;
#ifdef BLKGETDISKSEQ
  if (fd >= 0 && ioctl(fd, BLKGETDISKSEQ, &sequence) == 0) device.set_disk_sequence(sequence);
#endif
  return device;
}

std::string UsedLoopBeside(int fd) {
  loop_info64 self = {};
  struct stat own;
  if (ioctl(fd, LOOP_GET_STATUS64, &self) != 0 || fstat(fd, &own) != 0) return "";
  const auto disk = WholeDiskOf(own.st_rdev);  // of a partition
  for (const std::string& name : ThisKernel().Loops()) {
    if (disk.ok() && name == *disk) continue;
    const std::string path = "/dev/" + name;
    const common::FileDescriptor look(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    struct stat facts;
    loop_info64 other = {};
    if (!look.valid() || fstat(look.get(), &facts) != 0 || facts.st_rdev == own.st_rdev ||
        ioctl(look.get(), LOOP_GET_STATUS64, &other) != 0 || other.lo_device != self.lo_device ||
        other.lo_inode != self.lo_inode) {
      continue;
    }
    const common::FileDescriptor claim(
        open(path.c_str(), O_RDONLY | O_EXCL | O_NONBLOCK | O_CLOEXEC));
    if (!claim.valid() && errno == EBUSY) return name + ", which is held by somebody";
  }
  return "";
}

absl::Status FilesUnderDevices::Check(const std::string& path, int fd) const {
  struct stat facts;
  if (files_.empty() || fstat(fd, &facts) != 0) return absl::OkStatus();
  const auto found = files_.find({facts.st_dev, facts.st_ino});
  const std::string use = found == files_.end() ? "" : ThisKernel().UseOfFileUnder(found->second);
  if (use.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(path, ": the file is underneath ", use, "; what is in use is never written"));
}

std::string IdentityOfNumber(dev_t number) {
  const auto name = ThisKernel().NameOf(number);
  return name.ok() ? ThisKernel().IdentityOf(*name) : "";
}

absl::StatusOr<std::string> WholeDiskOf(dev_t number) {
  const auto name = ThisKernel().NameOf(number);
  if (!name.ok()) return name.status();
  return ThisKernel().WholeDiskOf(*name);
}

}  // namespace lockstep::worker
