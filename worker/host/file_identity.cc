#include "worker/host/file_identity.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statfs.h>

#include <cstdint>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace lockstep::worker {
namespace {

// Which mount a file is on, until the machine restarts; empty for file systems that keep their
// handles. The number is never used again where the kernel has such (STATX_MNT_ID_UNIQUE,
// Linux 6.8).
std::string MountOf(const common::FileDescriptor& fd) {
  constexpr unsigned kUniqueMountId = 0x4000;  // STATX_MNT_ID_UNIQUE, which these headers lack
  constexpr int64_t kFuse = 0x65735546;
  struct statfs filesystem;
  if (fstatfs(fd.get(), &filesystem) == 0 && filesystem.f_type != kFuse) return "";
  struct statx facts = {};
  (void)statx(fd.get(), "", AT_EMPTY_PATH, STATX_MNT_ID | kUniqueMountId, &facts);
  return absl::StrCat(" mount ", facts.stx_dev_minor, "/", facts.stx_mnt_id, " ",
                      common::ReadTrimmed("/proc/sys/kernel/random/boot_id"));
}

}  // namespace

std::string IdentityOf(const common::FileDescriptor& fd) {
  struct statx facts;
  if (statx(fd.get(), "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &facts) != 0 ||
      (facts.stx_mask & STATX_INO) == 0) {
    return "";
  }
  // An inode number is used again after its file was removed. The time of birth tells the two
  // apart, or the generation in the handle (name_to_handle_at(2)).
  if ((facts.stx_mask & STATX_BTIME) != 0) {
    return absl::StrCat(facts.stx_ino, " born ", facts.stx_btime.tv_sec, ".",
                        facts.stx_btime.tv_nsec);
  }
  struct {
    file_handle handle;
    unsigned char bytes[MAX_HANDLE_SZ];
  } handle = {};
  handle.handle.handle_bytes = MAX_HANDLE_SZ;
  int mount = 0;
  if (name_to_handle_at(fd.get(), "", &handle.handle, &mount, AT_EMPTY_PATH) != 0) return "";
  return absl::StrCat(facts.stx_ino, " handle ", handle.handle.handle_type, ":",
                      absl::BytesToHexString({reinterpret_cast<const char*>(handle.handle.f_handle),
                                              handle.handle.handle_bytes}),
                      MountOf(fd));
}

}  // namespace lockstep::worker
