#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"

namespace lockstep::worker {

// Equal I/O buffers in one page-aligned, touched mapping. Immutable layout; contents belong to
// whoever does I/O.
class IoBuffers {
 public:
  // kHuge: the kernel's default size of huge pages. RESOURCE_EXHAUSTED when the memory cannot be
  // had, with what to do.
  enum class Pages { kNormal, kHuge };
  static absl::StatusOr<std::unique_ptr<IoBuffers>> Make(uint32_t count, size_t bytes_each,
                                                         Pages pages = Pages::kNormal);
  ~IoBuffers();
  IoBuffers(const IoBuffers&) = delete;
  IoBuffers& operator=(const IoBuffers&) = delete;

  uint32_t count() const { return count_; }
  size_t bytes_each() const { return bytes_each_; }
  char* at(uint32_t index) const { return base_ + static_cast<size_t>(index) * stride_; }

 private:
  IoBuffers(char* base, uint32_t count, size_t bytes_each, size_t stride, size_t mapped)
      : base_(base), count_(count), bytes_each_(bytes_each), stride_(stride), mapped_(mapped) {}
  char* base_;
  uint32_t count_;
  size_t bytes_each_;
  size_t stride_;
  size_t mapped_;
};

}  // namespace lockstep::worker
