#include "controller/api/crash_marks.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "common/files.h"
#include "common/ids.h"
#include "common/mutex.h"

namespace lockstep::controller {
namespace {

// The file keeps its entries in the order of the ids, and none is removed. Beyond this count those
// with the greatest ids are not read.
constexpr size_t kMaxRemembered = 1000;

std::map<std::string, int> ReadCounts(const std::string& path) {
  std::map<std::string, int> counts;
  std::istringstream lines(common::ReadTrimmed(path));
  std::string run_id;
  int count = 0;
  while (lines >> run_id >> count && counts.size() < kMaxRemembered) {
    if (common::IsUuid(run_id)) counts[run_id] = count;
  }
  return counts;
}

}  // namespace

absl::StatusOr<std::unique_ptr<CrashMarks>> CrashMarks::Open(const std::string& directory) {
  if (absl::Status status = common::MakeDirectories(directory, 0711); !status.ok()) return status;
  const std::string path = directory + "/working-on";
  // O_NOFOLLOW: ftruncate() would cut whatever file a link of this name leads to.
  common::FileDescriptor fd(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd.valid() || ftruncate(fd.get(), kSlots * kSlotBytes) != 0) {
    return common::ErrnoStatus(errno, path);
  }
  // The pages of a shared mapping are the file's own in the page cache. They outlive a process that
  // is killed at any instruction, and a mark costs no system call.
  void* mapped =
      mmap(nullptr, kSlots * kSlotBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (mapped == MAP_FAILED) return common::ErrnoStatus(errno, path);
  char* slots = static_cast<char*>(mapped);
  std::map<std::string, int> crashes = ReadCounts(directory + "/crashed-on");
  bool changed = false;
  for (size_t i = 0; i < kSlots; ++i) {
    const std::string run_id(slots + i * kSlotBytes, strnlen(slots + i * kSlotBytes, kSlotBytes));
    // A mark that was half written when the controller died is no UUID and does not count.
    if (!common::IsUuid(run_id)) continue;
    ++crashes[run_id];
    changed = true;
  }
  memset(slots, 0, kSlots * kSlotBytes);
  // The counts are stored before any run is resumed, so that they add up over the controllers of a
  // crash loop.
  if (changed) {
    std::string text;
    for (const auto& [run_id, count] : crashes) absl::StrAppend(&text, run_id, " ", count, "\n");
    if (absl::Status status = common::WriteFileAtomically(directory + "/crashed-on", text);
        !status.ok()) {
      munmap(mapped, kSlots * kSlotBytes);
      return status;
    }
  }
  return std::unique_ptr<CrashMarks>(new CrashMarks(slots, std::move(crashes)));
}

CrashMarks::~CrashMarks() {
  // An end in order is no crash, whatever threads still work on.
  memset(slots_, 0, kSlots * kSlotBytes);
  munmap(slots_, kSlots * kSlotBytes);
}

std::shared_ptr<void> CrashMarks::WorkOn(const std::string& run_id) {
  common::MutexLock lock(&mutex_);
  auto* const free = std::find(taken_.begin(), taken_.end(), false);
  // A run without a mark works as well. Only a crash while it is worked on is not counted.
  if (free == taken_.end() || run_id.size() >= kSlotBytes) return nullptr;
  *free = true;
  const auto slot = static_cast<size_t>(free - taken_.begin());
  memcpy(slots_ + slot * kSlotBytes, run_id.c_str(), run_id.size() + 1);
  return std::shared_ptr<void>(slots_, [this, slot](void*) {
    common::MutexLock done(&mutex_);
    // One byte clears the mark: a crash leaves the whole id or none.
    slots_[slot * kSlotBytes] = 0;
    taken_[slot] = false;
  });
}

}  // namespace lockstep::controller
