#include "worker/load/sync_queue.h"

#include <algorithm>

namespace lockstep::worker {

uint16_t SyncQueue::Take() {
  const uint16_t file = ring_[begin_];
  begin_ = (begin_ + 1) % ring_.size();
  queued_[file] = 0;
  return file;
}

void SyncQueue::Completed(const IoRequest& request) {
  if (rule_.shared) return;  // counted when they start, for all threads
  ++ios_since_;
  if (request.kind != IoKind::kRead) {
    dirty_[request.file] = 1;
    any_dirty_ = true;
    ++writes_since_;
  }
  const bool by_writes = rule_.every_writes != 0 && writes_since_ >= rule_.every_writes;
  // A count of all I/Os may pass without a write. A sync of clean files would measure nothing.
  const bool by_ios = rule_.every_ios != 0 && any_dirty_ && ios_since_ >= rule_.every_ios;
  if (!by_writes && !by_ios) return;
  writes_since_ = ios_since_ = 0;
  if (rule_.all_files) return QueueEach(Files::kAll);
  const auto written = std::find(dirty_.begin(), dirty_.end(), 1) - dirty_.begin();
  Queue(request.kind != IoKind::kRead ? request.file : static_cast<uint16_t>(written));
  any_dirty_ = std::find(dirty_.begin(), dirty_.end(), 1) != dirty_.end();
}

// A sync that is queued and not yet submitted covers this write as well: one for each file is
// enough, and the ring never overflows.
void SyncQueue::Queue(uint16_t file) {
  dirty_[file] = 0;
  if (queued_[file] != 0) return;
  queued_[file] = 1;
  ring_[end_] = file;
  end_ = (end_ + 1) % ring_.size();
}

void SyncQueue::QueueEach(Files which) {
  for (size_t file = 0; file < dirty_.size(); ++file) {
    if (which == Files::kAll || dirty_[file] != 0) Queue(static_cast<uint16_t>(file));
  }
  any_dirty_ = false;
}

}  // namespace lockstep::worker
