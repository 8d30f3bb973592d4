// Null targets: no storage, and so nothing that the guard would have to protect.
#include <fcntl.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "common/files.h"
#include "worker/targets/openers.h"

namespace lockstep::worker {

absl::Status OpenNullTarget(const OpenContext&, const v1::TargetAssignment& target,
                            OpenTargets* open) {
  const v1::NullTarget& null = target.target().null();
  OpenedFile opened;
  opened.path = absl::StrCat("null target ", target.target().name());
  opened.engine_file.size_bytes = static_cast<uint64_t>(null.size_bytes());
  if (null.device() == v1::NULL_DEVICE_ZERO) {
    opened.path = "/dev/zero";
    opened.descriptor = common::FileDescriptor(::open("/dev/zero", O_RDWR | O_CLOEXEC));
    if (!opened.descriptor.valid()) return common::ErrnoStatus(errno, opened.path);
    opened.engine_file.way = OpenFile{opened.descriptor.get()};
  }
  open->null_target = null;
  return AddOpened(target, 0, std::move(opened), open);
}

}  // namespace lockstep::worker
