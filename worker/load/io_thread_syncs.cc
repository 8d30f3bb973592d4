// The syncs of a thread: its own, and its part of those that the worker's threads share.

#include <algorithm>

#include "worker/load/io_thread.h"

namespace lockstep::worker {

// The I/O that comes next is decided on before the sync, because the count needs its kind. It is
// held as one that waits for its block is.
bool IoThread::TakeSharedSync() {
  if (is_held_counted_) return false;
  if (!held_) held_ = access_.Take();
  const bool reads = held_->kind == IoKind::kRead;
  const auto file =
      setup_.shared_syncs->Start(reads ? SharedSyncs::Io::kRead : SharedSyncs::Io::kWrite);
  is_held_counted_ = !file;
  if (!file) return false;
  syncs_.Add(*file);
  --left_;
  return true;
}

// All of the thread's writes up to this one have completed.
uint64_t IoThread::CompletedWrites() const {
  // One pass over the slots for each sync is cheap. An ordered list would cost time at each write.
  uint64_t completed = write_sequence_;
  for (const Slot& slot : slots_) {
    // Relaxed suffices: only this thread writes the field. The monitoring thread reads it.
    if (slot.submitted_ns.load(std::memory_order_relaxed) != 0 &&
        slot.request.kind == IoKind::kWrite) {
      completed = std::min(completed, slot.sequence - 1);
    }
  }
  return completed;
}

void IoThread::StartSync(int64_t now_ns, int index) {
  const uint32_t number = TakeSlot(now_ns, now_ns);
  Slot& slot = slots_[number];
  slot.pause_ns = 0;
  slot.request.kind = IoKind::kSync;
  slot.request.file = syncs_.Take();
  slot.request.length = 0;
  slot.request.offset = 0;
  slot.request.buffer = 0;
  // With several files, one sync alone makes nothing durable of the others.
  slot.sequence = syncs_.covers_all() ? CompletedWrites() : 0;
  slot.submitted_ns.store(now_ns, std::memory_order_release);
  batch_[index] = slot.request;
  ++syncs_in_flight_;
  ++outcome_.submitted;
}

}  // namespace lockstep::worker
