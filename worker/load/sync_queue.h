#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "worker/engine/io_engine.h"

namespace lockstep::worker {

// Says when written data is made durable. A sync follows the completion of the writes that it
// covers. Writes that complete together share one sync. A shared sync covers the writes of other
// threads, too, as far as these have completed.
struct SyncRule {
  SyncMode mode = SyncMode::kFsync;
  uint32_t every_writes = 0;  // 0: never
  uint32_t every_ios = 0;     // 0: never; counts reads, too, if anything was written
  bool all_files = false;     // otherwise only the file written last
  bool at_end = false;
  bool shared = false;  // SharedSyncs says when, and which file
  bool any() const { return every_writes != 0 || every_ios != 0 || at_end; }
};

// The files that one thread must sync, in order. Not thread-safe. Allocates only in its
// constructor.
class SyncQueue {
 public:
  SyncQueue(const SyncRule& rule, size_t files)
      : rule_(rule), ring_(files + 1), dirty_(files), queued_(files) {}

  const SyncRule& rule() const { return rule_; }
  bool empty() const { return begin_ == end_; }
  // Removes and returns the file to sync next.
  uint16_t Take();
  // Counts a completed I/O, and queues the syncs that are due after it.
  void Completed(const IoRequest& request);
  // Queues a sync that SharedSyncs gave to this thread.
  void Add(uint16_t file) { Queue(file); }
  // Queues what is synced at the end: every file that was written since its last sync was queued,
  // or all.
  void QueueAtEnd() { QueueEach(rule_.all_files ? Files::kAll : Files::kWritten); }
  // Whether one sync makes all earlier writes of the thread durable.
  bool covers_all() const { return dirty_.size() == 1 && rule_.mode != SyncMode::kSyncFileRange; }

 private:
  void Queue(uint16_t file);
  enum class Files { kAll, kWritten };
  void QueueEach(Files which);

  const SyncRule rule_;
  std::vector<uint16_t> ring_;  // files to be synced
  size_t begin_ = 0, end_ = 0;
  std::vector<uint8_t> dirty_;   // by file: written since its last sync was queued
  std::vector<uint8_t> queued_;  // by file: in the ring
  bool any_dirty_ = false;
  uint32_t writes_since_ = 0;
  uint32_t ios_since_ = 0;
};

}  // namespace lockstep::worker
