#pragma once

#include <cstdint>
#include <deque>
#include <list>
#include <optional>
#include <string>

#include "common/files.h"
#include "common/mutex.h"
#include "common/safeguards.h"
#include "proto/worker.pb.h"

namespace lockstep::worker {

// The measurements that the controller has not yet committed, in order, by phase and attempt. Items
// are numbered from 0 without gaps and kept until an acknowledgement says that they are committed:
// in memory up to a limit, beyond it in a file. Thread-safe.
class Outbox {
 public:
  struct Limits {
    size_t memory_bytes = 64 << 20;
    // The file for the rest, made when it is needed; without a path it stays in memory.
    std::string overflow_path;
    uint64_t overflow_bytes = uint64_t{4} << 30;
  };
  Outbox();
  explicit Outbox(Limits limits, common::Safeguards safeguards = {});
  ~Outbox();

  // Takes the item in any case: no measurement is thrown away. False when the limits are now
  // exceeded, or the file cannot be written, so that nothing more should be measured until some of
  // it is committed.
  bool Add(const v1::PhaseId& phase, v1::DeliveryItem item);
  // The next items that were not handed out since the last Rewind(), at most 64 KiB unless one item
  // is larger. Waits for up to `wait_ms`. Nothing when there is nothing to send, or the next item
  // cannot be read back from the file.
  std::optional<v1::DeliveryBatch> NextBatch(int wait_ms = 200);
  // Drops what is committed; a refusal rewinds, a final one drops the phase. Returns the refusal,
  // if any.
  std::string OnAck(const v1::DeliveryAck& ack);
  // A new stream: hand out again everything that is not committed.
  void Rewind();
  // Items that are not committed.
  size_t uncommitted() const;

 private:
  struct Slot {
    std::optional<v1::DeliveryItem> item;  // or, in the file:
    uint64_t offset = 0;
    size_t size = 0;
  };
  struct Entry {
    v1::PhaseId phase;
    uint64_t first = 0;  // sequence of slots.front()
    uint64_t sent = 0;   // sequence after the last one handed out
    std::deque<Slot> slots;
  };
  Entry* FindLocked(const v1::PhaseId& phase) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool HasUnsentLocked() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool WriteLocked(const v1::DeliveryItem& item, Slot* slot) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool ReadLocked(const Slot& slot, v1::DeliveryItem* item) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void PopLocked(Entry* entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Limits limits_;
  const common::Safeguards safeguards_;
  mutable common::Mutex mutex_;
  common::Condition changed_;
  std::list<Entry> entries_ ABSL_GUARDED_BY(mutex_);
  size_t memory_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  common::FileDescriptor file_ ABSL_GUARDED_BY(mutex_);
  uint64_t file_end_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t in_file_ ABSL_GUARDED_BY(mutex_) = 0;  // slots
};

}  // namespace lockstep::worker
