#include "worker/engine/buffers.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "common/files.h"

namespace lockstep::worker {

absl::StatusOr<std::unique_ptr<IoBuffers>> IoBuffers::Make(uint32_t count, size_t bytes_each) {
  const size_t stride = (bytes_each + 4095) & ~size_t{4095};
  const size_t mapped = stride * count;
  void* base = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED) return common::ErrnoStatus(errno, absl::StrCat("I/O buffers of ", mapped, " bytes"));
  memset(base, 0, mapped);  // touched now, so that no page fault lies in a measurement
  return std::unique_ptr<IoBuffers>(new IoBuffers(static_cast<char*>(base), count, bytes_each, stride, mapped));
}

IoBuffers::~IoBuffers() { munmap(base_, mapped_); }

void IoBuffers::FillRandom(uint64_t seed) {
  uint64_t state = seed | 1;
  for (size_t at = 0; at < mapped_; at += sizeof state) {
    state ^= state << 13;  // xorshift64, G. Marsaglia 2003
    state ^= state >> 7;
    state ^= state << 17;
    memcpy(base_ + at, &state, sizeof state);
  }
}

}  // namespace lockstep::worker
