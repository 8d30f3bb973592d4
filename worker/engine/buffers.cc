#include "worker/engine/buffers.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "common/files.h"

namespace lockstep::worker {
namespace {

// The default size of huge pages, from /proc/meminfo.
size_t HugePageBytes() {
  const std::string text = common::ReadTrimmed("/proc/meminfo");
  const size_t at = text.find("Hugepagesize:");
  return at == std::string::npos ? size_t{2} << 20
                                 : std::strtoull(text.c_str() + at + 13, nullptr, 10) * 1024;
}

}  // namespace

absl::StatusOr<std::unique_ptr<IoBuffers>> IoBuffers::Make(uint32_t count, size_t bytes_each,
                                                           Pages pages) {
  // O_DIRECT needs memory that is aligned to the logical block, which has at most 4 KiB on most
  // devices.
  const size_t stride = (bytes_each + 4095) & ~size_t{4095};
  size_t mapped = stride * count;
  int flags = MAP_PRIVATE | MAP_ANONYMOUS;
  if (pages == Pages::kHuge) {
    const size_t page = HugePageBytes();
    mapped = (mapped + page - 1) / page * page;
    flags |= MAP_HUGETLB | MAP_POPULATE;
  }
  void* base = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (base == MAP_FAILED && pages == Pages::kHuge) {
    return absl::ResourceExhaustedError(
        absl::StrCat("huge_pages: ", mapped >> 20,
                     " MiB of huge pages for a thread's I/O buffers: ", common::ErrnoText(errno),
                     "; reserve them with sysctl vm.nr_hugepages, or leave huge_pages out"));
  }
  if (base == MAP_FAILED) {
    return common::ErrnoStatus(errno, absl::StrCat("I/O buffers of ", mapped, " bytes"));
  }
  // The I/O thread calls this after it is bound: the kernel takes pages from the node of the thread
  // that first touches them.
  memset(base, 0, mapped);  // touched now, so that no page fault lies in a measurement
  return std::unique_ptr<IoBuffers>(
      new IoBuffers(static_cast<char*>(base), count, bytes_each, stride, mapped));
}

IoBuffers::~IoBuffers() { munmap(base_, mapped_); }

}  // namespace lockstep::worker
