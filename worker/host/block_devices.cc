#include "worker/host/block_devices.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <optional>

#include "absl/strings/str_cat.h"
#include "common/files.h"
#include "common/limits.h"
#include "worker/host/loop_backing.h"
#include "worker/host/time_limit.h"

namespace lockstep::worker {

const KernelBlocks& ThisKernel() {
  static const KernelBlocks kernel;
  return kernel;
}

absl::StatusOr<v1::BlockDevice> DescribeBlockDevice(dev_t number, int fd) {
  const auto name = ThisKernel().NameOf(number);
  if (!name.ok()) return name.status();
  v1::BlockDevice device = ThisKernel().Describe(*name);
  if (const auto loop = LoopBackingOf(fd)) {
    const std::string disk =
        KernelBlocks::LoopIdentity(loop->device, loop->inode, loop->offset, loop->size_limit);
    const std::string part = ThisKernel().PartitionSuffixOf(*name);
    device.set_identity(disk + part);
    if (!part.empty()) device.set_disk_identity(disk);
  }
  uint64_t sequence = 0;
#ifdef BLKGETDISKSEQ
  if (fd >= 0 && ioctl(fd, BLKGETDISKSEQ, &sequence) == 0) device.set_disk_sequence(sequence);
#endif
  return device;
}

std::string UsedLoopBeside(int fd) {
  const auto self = LoopBackingOf(fd);
  struct stat own;
  if (!self || fstat(fd, &own) != 0) return "";
  const auto disk = WholeDiskOf(own.st_rdev);  // of a partition
  for (const std::string& name : ThisKernel().Loops()) {
    if (disk.ok() && name == *disk) continue;
    const std::string path = "/dev/" + name;
    const common::FileDescriptor look(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    struct stat facts;
    if (!look.valid() || fstat(look.get(), &facts) != 0 || facts.st_rdev == own.st_rdev) continue;
    const auto other = LoopBackingOf(look.get());
    if (!other || other->device != self->device || other->inode != self->inode) continue;
    const common::FileDescriptor claim(
        open(path.c_str(), O_RDONLY | O_EXCL | O_NONBLOCK | O_CLOEXEC));
    if (!claim.valid() && errno == EBUSY) return name + ", which is held by somebody";
  }
  return "";
}

std::multimap<FilesUnderDevices::File, std::string> FilesUnderDevices::AskAll() {
  std::multimap<File, std::string> files;
  for (const std::string& name : ThisKernel().Loops()) {
    const std::string path = "/dev/" + name;
    // The file system of its file may be on a network, and not answer.
    const auto backing = std::make_shared<std::optional<LoopBacking>>();
    const absl::Status answered = WithinLimit(path, limits::kProbeNs, [path, backing] {
      const common::FileDescriptor fd(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
      *backing = LoopBackingOf(fd.get());
      return absl::OkStatus();
    });
    if (!answered.ok() || !*backing || (*backing)->disk != 0) continue;
    files.emplace(File{(*backing)->device, (*backing)->inode}, name);
  }
  return files;
}

absl::Status FilesUnderDevices::Check(const std::string& path, int fd) const {
  std::call_once(asked_, [this] { files_ = AskAll(); });
  struct stat facts;
  if (files_.empty() || fstat(fd, &facts) != 0) return absl::OkStatus();
  const auto [begin, end] = files_.equal_range({facts.st_dev, facts.st_ino});
  for (auto loop = begin; loop != end; ++loop) {
    const std::string use = ThisKernel().UseOfFileUnder(loop->second);
    if (use.empty()) continue;
    return absl::FailedPreconditionError(
        absl::StrCat(path, ": the file is underneath ", use, "; what is in use is never written"));
  }
  return absl::OkStatus();
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
