#include "worker/host/file_identity.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace lockstep::worker {

std::string IdentityOf(const common::FileDescriptor& fd) {
  struct statx facts;
  if (statx(fd.get(), "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &facts) != 0 ||
      (facts.stx_mask & STATX_INO) == 0) {
    return "";
  }
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
                                              handle.handle.handle_bytes}));
}

}  // namespace lockstep::worker
