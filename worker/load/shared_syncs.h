#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

namespace lockstep::worker {

// The syncs that the threads of a worker share: after so many I/Os of all of them together, each
// file is synced once, and each sync is given to the thread that asks next. sysbench's order.
// Thread-safe, without locks.
class SharedSyncs {
 public:
  // `every_ios` is at least 1, `files` from 1 to 65,536.
  SharedSyncs(uint32_t every_ios, uint32_t files) : every_ios_(every_ios), files_(files) {}

  enum class Io { kRead, kWrite };  // whatever changes a file is a write
  // Before each I/O. Either counts it, and returns nothing; or returns the file that the caller
  // syncs first, and asks again afterwards.
  std::optional<uint16_t> Start(Io io) {
    uint64_t old = state_.load(std::memory_order_relaxed);
    while (true) {
      uint64_t ios = old & kIos;
      uint64_t file = old >> kFileShift & kFile;
      bool is_dirty = (old & kDirty) != 0;
      std::optional<uint16_t> sync;
      if (ios == every_ios_ && is_dirty) {
        sync = static_cast<uint16_t>(file);
        if (++file == files_) {
          ios = file = 0;
          is_dirty = false;
        }
      } else {
        // A count that is full without a write begins anew. A sync of clean files would measure
        // nothing.
        ios = ios == every_ios_ ? 1 : ios + 1;
        is_dirty = is_dirty || io == Io::kWrite;
      }
      const uint64_t next = ios | file << kFileShift | (is_dirty ? kDirty : 0);
      // Only this word passes between the threads. The kernel knows which writes a sync must cover.
      if (state_.compare_exchange_weak(old, next, std::memory_order_relaxed)) return sync;
    }
  }

 private:
  static constexpr uint64_t kIos = 0xffffffff;
  static constexpr int kFileShift = 32;
  static constexpr uint64_t kFile = 0xffff;
  static constexpr uint64_t kDirty = uint64_t{1} << 48;

  const uint32_t every_ios_;
  const uint32_t files_;
  // I/Os since the last row of syncs, the next file of a row in progress, and whether a file was
  // written since.
  std::atomic<uint64_t> state_{0};
};

}  // namespace lockstep::worker
