#include "worker/host/block_devices.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/clock.h"
#include "common/files.h"
#include "common/limits.h"
#include "worker/host/loop_backing.h"
#include "worker/host/time_limit.h"

namespace lockstep::worker {

const KernelBlocks& ThisKernel() {
  // Never destroyed: a thread that hangs in a call may still need it while the process ends.
  static const KernelBlocks* const kernel = new KernelBlocks;
  return *kernel;
}

absl::StatusOr<v1::BlockDevice> DescribeBlockDevice(dev_t number, int fd) {
  const auto name = ThisKernel().NameOf(number);
  if (!name.ok()) return name.status();
  v1::BlockDevice device = ThisKernel().Describe(*name);
  // This replaces the identity that was made of the path in sysfs, which may lead to another file
  // here.
  if (const auto loop = LoopBackingOf(fd)) {
    const std::string disk =
        KernelBlocks::LoopIdentity(loop->device, loop->inode, loop->offset, loop->size_limit);
    const std::string part = ThisKernel().PartitionSuffixOf(*name);
    device.set_identity(disk + part);
    if (!part.empty()) device.set_disk_identity(disk);
  }
  // The ioctl asks the device that is open. sysfs is asked by name, which another device may have
  // by now. Headers before Linux 5.15 lack the ioctl.
  uint64_t sequence = 0;
#ifdef BLKGETDISKSEQ
  if (fd >= 0 && ioctl(fd, BLKGETDISKSEQ, &sequence) == 0) device.set_disk_sequence(sequence);
#endif
  return device;
}

namespace {

// A loop device that is attached, and the file that it shows.
struct QueriedLoop {
  std::string name;
  bool is_known = false;   // what it shows
  bool was_asked = false;  // it itself, not its path
  LoopBacking backing;
};

std::vector<QueriedLoop> QueryLoops() {
  std::vector<QueriedLoop> loops;
  for (const LoopEntry& entry : ThisKernel().Loops()) {
    const std::string path = "/dev/" + entry.name;
    // The file system of its file may be on a network, and not answer.
    struct Answer {
      bool is_open = false;
      std::optional<LoopBacking> backing;
    };
    // The thread may outlive this call, and then owns the answer alone.
    const auto answer = std::make_shared<Answer>();
    const absl::Status answered = WithinLimit(path, limits::kProbeNs, [path, answer] {
      const common::FileDescriptor fd(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
      answer->is_open = fd.valid();
      answer->backing = LoopBackingOf(fd.get());
      return absl::OkStatus();
    });
    QueriedLoop loop{.name = entry.name, .was_asked = answered.ok() && answer->is_open};
    if (loop.was_asked) {
      if (!answer->backing) continue;  // detached by now
      loop.is_known = true;
      loop.backing = *answer->backing;
    } else if (entry.inode != 0) {
      loop.is_known = true;
      // A device that this worker may not open still counts, by the path that sysfs has.
      loop.backing = {entry.device, entry.inode, entry.disk, 0, 0};
    }
    loops.push_back(std::move(loop));
  }
  return loops;
}

}  // namespace

std::string UsedLoopBeside(int fd) {
  const auto self = LoopBackingOf(fd);
  struct stat own;
  if (!self || fstat(fd, &own) != 0) return "";
  const auto disk = WholeDiskOf(own.st_rdev);  // of a partition
  for (const QueriedLoop& other : QueryLoops()) {
    if ((disk.ok() && other.name == *disk) || !other.is_known ||
        other.backing.device != self->device || other.backing.inode != self->inode) {
      continue;
    }
    if (!other.was_asked) {
      return other.name + ", which this worker may not open to see whether somebody uses it";
    }
    // A mount in another namespace is in no table that this worker can read. Only an exclusive open
    // shows it.
    const common::FileDescriptor claim(
        open(("/dev/" + other.name).c_str(), O_RDONLY | O_EXCL | O_NONBLOCK | O_CLOEXEC));
    if (!claim.valid() && errno == EBUSY) return other.name + ", which is held by somebody";
  }
  return "";
}

FilesUnderDevices::FilesUnderDevices() = default;

FilesUnderDevices::Files FilesUnderDevices::QueryAll() {
  Files files;
  for (const QueriedLoop& loop : QueryLoops()) {
    // If the loop device is over another device, the inode is that of the device's node, not of a
    // file.
    if (!loop.is_known || loop.backing.disk != 0) continue;
    files.emplace(File{loop.backing.device, loop.backing.inode}, loop.name);
  }
  return files;
}

absl::Status FilesUnderDevices::Check(const std::string& path, int fd) const {
  struct stat facts;
  if (fstat(fd, &facts) != 0) return common::ErrnoStatus(errno, path);
  std::vector<std::string> names;
  {
    common::MutexLock lock(&mutex_);
    // The lock is held while the devices are asked: other threads need the same answers.
    const int64_t now = common::SystemClock().MonotonicNs();
    if (asked_ns_ == 0 || now - asked_ns_ > kRefreshNs) {
      files_ = QueryAll();
      asked_ns_ = now;
    }
    const auto [begin, end] = files_.equal_range({facts.st_dev, facts.st_ino});
    for (auto loop = begin; loop != end; ++loop) names.push_back(loop->second);
  }
  for (const std::string& name : names) {
    // The use is not remembered: somebody may mount the device between two files.
    const std::string use = ThisKernel().UseOfFileUnder(name);
    if (use.empty()) continue;
    return absl::FailedPreconditionError(
        absl::StrCat(path, ": the file is underneath ", use, "; storage in use is never written"));
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
