#include "worker/targets/direct_io.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "worker/host/block_devices.h"

namespace lockstep::worker {

bool HasBufferedDirectIo([[maybe_unused]] const common::FileDescriptor& fd) {
#ifdef STATX_DIOALIGN
  struct statx facts = {};
  if (statx(fd.get(), "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_DIOALIGN, &facts) != 0) {
    return false;
  }
  // Only 0 is taken from here. Other numbers may be more than what is required: XFS tells the size
  // of a shared block, and writes smaller ones through the page cache.
  return (facts.stx_mask & STATX_DIOALIGN) != 0 && facts.stx_dio_offset_align == 0;
#else
  return false;
#endif
}

bool HasDataJournal(const std::string& ext4_options) {
  const std::vector<absl::string_view> lines = absl::StrSplit(ext4_options, '\n');
  return std::find(lines.begin(), lines.end(), "data=journal") != lines.end();
}

bool JournalsData(dev_t number) {
  // /proc/self/mountinfo leaves the option out where it is the default of the file system itself
  // (tune2fs -o journal_data).
  const absl::StatusOr<std::string> name = ThisKernel().NameOf(number);
  if (!name.ok()) return false;
  const auto options = common::ReadFile(absl::StrCat("/proc/fs/ext4/", *name, "/options"));
  return options.ok() && HasDataJournal(*options);
}

}  // namespace lockstep::worker
