#include "worker/host/change_mark.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <vector>

#include "absl/strings/str_cat.h"
#include "common/files.h"
#include "worker/host/block_devices.h"
#include "worker/host/loop_backing.h"

namespace lockstep::worker {
namespace {

using common::FileDescriptor;

void FlushNode(const std::string& name) {
  const FileDescriptor node(open(("/dev/" + name).c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (node.valid()) (void)fsync(node.get());
}

// The file underneath, opened by its path, if that still leads to it.
FileDescriptor OpenBacking(const std::string& disk, const LoopBacking& backing) {
  FileDescriptor file(open(
      common::ReadTrimmed(absl::StrCat("/sys/class/block/", disk, "/loop/backing_file")).c_str(),
      O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  struct stat facts;
  if (!file.valid() || fstat(file.get(), &facts) != 0 || !S_ISREG(facts.st_mode) ||
      facts.st_ino != backing.inode || facts.st_dev != backing.device) {
    return {};
  }
  return file;
}

// The file's part of the mark. Stores through a mapping change mtime with the first after a
// writeback (mmap(2), MAP_SHARED), which fsync() is.
absl::StatusOr<std::string> MarkOfFile(const std::string& disk, const LoopBacking& backing,
                                       const std::string& path) {
  for (const LoopEntry& loop : ThisKernel().Loops()) {
    if (loop.device == backing.device && loop.inode == backing.inode) FlushNode(loop.name);
  }
  const FileDescriptor file = OpenBacking(disk, backing);
  struct stat facts;
  if (!file.valid() || fsync(file.get()) != 0 || fstat(file.get(), &facts) != 0) {
    return absl::FailedPreconditionError(absl::StrCat(
        path,
        ": the file underneath cannot be seen from here, so that nobody would know who else "
        "writes it; run the worker where the file is"));
  }
  return absl::StrCat(" file of ", facts.st_size, " modified ", facts.st_mtim.tv_sec, ".",
                      facts.st_mtim.tv_nsec, " changed ", facts.st_ctim.tv_sec, ".",
                      facts.st_ctim.tv_nsec);
}

}  // namespace

absl::StatusOr<std::string> ChangeMark(dev_t number, int fd, const std::string& path) {
  const auto name = ThisKernel().NameOf(number);
  if (!name.ok()) return name.status();
  (void)fsync(fd);
  for (const std::string& other : ThisKernel().OtherNodesOf(*name)) FlushNode(other);
  std::string mark;
  if (const auto backing = LoopBackingOf(fd); backing && backing->disk == 0) {
    // Before the counters: what it flushes is counted.
    auto of_file = MarkOfFile(ThisKernel().WholeDiskOf(*name), *backing, path);
    if (!of_file.ok()) return of_file.status();
    mark = *std::move(of_file);
  } else if (const std::string off = ThisKernel().NotCountedBy(*name); !off.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, ": the kernel does not count what is written to it; echo 1 > ", off));
  }
  return ThisKernel().WrittenSoFar(*name) + mark;
}

}  // namespace lockstep::worker
