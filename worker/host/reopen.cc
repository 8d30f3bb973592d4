#include "worker/host/reopen.h"

#include <fcntl.h>

#include <climits>
#include <cstdlib>

#include "absl/strings/str_cat.h"

namespace lockstep::worker {

using common::FileDescriptor;

std::string RealPath(const std::string& path) {
  char resolved[PATH_MAX];
  return realpath(path.c_str(), resolved) == nullptr ? "" : resolved;
}

// Opens what was looked at, by whatever name it has now.
FileDescriptor Reopen(const FileDescriptor& look, int flags) {
  return FileDescriptor(
      open(absl::StrCat("/proc/self/fd/", look.get()).c_str(), flags | O_CLOEXEC));
}

}  // namespace lockstep::worker
