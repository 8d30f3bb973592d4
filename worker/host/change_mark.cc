#include "worker/host/change_mark.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <cstdint>
#include <ctime>

#include "absl/strings/str_cat.h"
#include "common/clock.h"
#include "common/files.h"
#include "common/timing.h"
#include "worker/host/block_devices.h"
#include "worker/host/loop_backing.h"

namespace lockstep::worker {
namespace {

using common::FileDescriptor;

// False where there is no node that can be opened, as in a container.
bool FlushNode(const std::string& name) {
  const FileDescriptor node(open(("/dev/" + name).c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  return node.valid() && fsync(node.get()) == 0;
}

int64_t NanosecondsOf(const timespec& time) { return time.tv_sec * timing::kSecond + time.tv_nsec; }

// How far apart two changes must be so that the file's times differ. Times are those of the
// kernel's last tick (at most 10 ms ago), cut to what the file system keeps: ext4 with inodes of
// 128 bytes has seconds, vfat two of them, exfat hundredths.
int64_t GranularityOf(const struct stat& facts) {
  constexpr int64_t kTickNs = 20 * timing::kMs, kCoarseNs = 2 * timing::kSecond + kTickNs;
  constexpr int64_t kExfatNs = 10 * timing::kMs;
  const bool is_coarse = NanosecondsOf(facts.st_ctim) % kExfatNs == 0;
  return is_coarse ? kCoarseNs : kTickNs;
}

// Waits until a change would give the file other times than it has. False for one that is changed
// all the time.
bool AwaitDistinctTimes(int fd, struct stat* facts) {
  constexpr int kTries = 5;
  for (int i = 0; i < kTries; ++i) {
    if (fstat(fd, facts) != 0) return false;
    const int64_t age = common::SystemClock().WallNs() - NanosecondsOf(facts->st_ctim);
    const int64_t wait = GranularityOf(*facts) - age;
    // A time to come, where the clock was set back: as good as any other.
    if (wait <= 0 || age < 0) return true;
    usleep(static_cast<useconds_t>(wait / 1000 + 1));
  }
  return false;
}

// Stores through a mapping change mtime with the first after a writeback (mmap(2), MAP_SHARED),
// which fsync() is; but not where there is nothing to write back to.
bool KeepsTimes(int fd) {
  struct statfs filesystem;
  return fstatfs(fd, &filesystem) == 0 && filesystem.f_type != TMPFS_MAGIC &&
         filesystem.f_type != RAMFS_MAGIC && filesystem.f_type != HUGETLBFS_MAGIC;
}

// `fd`: the loop device.
absl::StatusOr<std::string> MarkOfFile(int fd, const std::string& path) {
  const FileDescriptor file = OpenBackingFile(fd);
  struct stat facts;
  if (!file.valid() || fsync(file.get()) != 0) {
    return absl::FailedPreconditionError(
        absl::StrCat(path,
                     ": the file underneath cannot be seen from here, so that nobody would know "
                     "who else writes it; run the worker where the file is"));
  }
  if (!KeepsTimes(file.get())) {
    return absl::FailedPreconditionError(
        absl::StrCat(path,
                     ": the file underneath is in memory (tmpfs), where it can be changed without "
                     "a trace; put it on a file system that keeps times"));
  }
  if (!AwaitDistinctTimes(file.get(), &facts)) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, ": the file underneath is being changed all the time"));
  }
  return absl::StrCat(" file of ", facts.st_size, " modified ", NanosecondsOf(facts.st_mtim),
                      " changed ", NanosecondsOf(facts.st_ctim));
}

}  // namespace

void FlushAllNames(dev_t number, int fd) {
  (void)fsync(fd);
  const auto name = ThisKernel().NameOf(number);
  if (!name.ok()) return;
  bool are_all_flushed = true;
  for (const std::string& alias : ThisKernel().AliasesOf(*name)) {
    are_all_flushed = FlushNode(alias) && are_all_flushed;
  }
  // A device without a node here has a page cache all the same. sync(2) reaches every device's.
  if (!are_all_flushed) sync();
}

absl::StatusOr<std::string> ChangeMark(dev_t number, int fd, const std::string& path) {
  const auto name = ThisKernel().NameOf(number);
  if (!name.ok()) return name.status();
  FlushAllNames(number, fd);
  if (const std::string off = ThisKernel().NotCountedBy(*name); !off.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, ": the kernel does not count what is written to it; echo 1 > ", off));
  }
  // Counters begin anew at each start of the kernel.
  std::string mark = " since " + common::ReadTrimmed("/proc/sys/kernel/random/boot_id");
  if (const auto backing = LoopBackingOf(fd); backing && backing->disk == 0) {
    // This must come before the counters are read: they count what it flushes.
    auto of_file = MarkOfFile(fd, path);
    if (!of_file.ok()) return of_file.status();
    mark += *of_file;
  }
  return ThisKernel().WrittenSoFar(*name) + mark;
}

}  // namespace lockstep::worker
