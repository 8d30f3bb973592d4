#include "worker/host/reopen.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>

#include "absl/strings/str_cat.h"

namespace lockstep::worker {

using common::FileDescriptor;

namespace {

// Other workers look at devices at the same time, for a moment each: one refusal is not believed.
constexpr int kClaimPauseUs = 20000;

}  // namespace

std::string RealPath(const std::string& path) {
  char resolved[PATH_MAX];
  return realpath(path.c_str(), resolved) == nullptr ? "" : resolved;
}

// open(2) follows the link in /proc/self/fd to the very inode, whatever has its name now.
FileDescriptor Reopen(const FileDescriptor& look, int flags) {
  return FileDescriptor(
      open(absl::StrCat("/proc/self/fd/", look.get()).c_str(), flags | O_CLOEXEC));
}

FileDescriptor ClaimDevice(const FileDescriptor& look, int tries) {
  for (int attempt = 0; attempt < tries; ++attempt) {
    // The device is opened for reading only: udev takes the close of a device that was open for
    // writing for a change of its content, and probes the device again.
    FileDescriptor fd = Reopen(look, O_RDONLY | O_EXCL | O_NONBLOCK);
    if (fd.valid() || errno != EBUSY) return fd;
    usleep(static_cast<useconds_t>(kClaimPauseUs));
  }
  // usleep(3) may have changed errno, and NotClaimed() reads it.
  errno = EBUSY;
  return {};
}

absl::Status NotClaimed(const std::string& path) {
  if (errno != EBUSY) return common::ErrnoStatus(errno, path);
  return absl::FailedPreconditionError(
      absl::StrCat(path,
                   ": the kernel says it is in use (mounted in another namespace, or held by "
                   "another program); never written"));
}

}  // namespace lockstep::worker
