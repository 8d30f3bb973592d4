// Copies: each block is read, and written elsewhere from the same buffer when the read has
// completed. Its slot stays taken from the start of the read to the end of the write.

#include <algorithm>

#include "worker/load/io_thread.h"

namespace lockstep::worker {

bool IoThread::StartCopyWrites(int64_t now_ns, int* count) {
  const int limit = static_cast<int>(setup_.max_batch);
  // No write starts after the load's end: the target may be another run's soon. Blocks that have
  // been read by then are not copied.
  if (now_ns >= timeline_->load_end_ns() || !outcome_.fatal.empty()) DropCopyWrites();
  // A sync goes before further writes, which it would otherwise have to wait for, too.
  while (*count < limit && !syncs_.empty() && !free_.empty()) StartSync(now_ns, (*count)++);
  while (*count < limit && !copy_writes_.empty()) {
    Slot& slot = slots_[copy_writes_.front()];
    const BlockSpace::Offset to =
        setup_.copy->DestinationOf(slot.request.file, slot.request.offset);
    // Another pass over a small target, or another workload, may be writing the same block.
    if (checks_.writes() && !checks_.BeginWrite(to.file, to.offset, &slot.ticket)) {
      // Reads that would start now could have to wait for longer than this write.
      waiting_ = Waiting::kBlock;
      wake_ns_ = now_ns + kBlockNs;
      outcome_.exchanges += *count != 0;
      return false;
    }
    StartCopyWrite(&slot, to, now_ns);
    batch_[(*count)++] = slot.request;
    copy_writes_.Pop();
  }
  return true;
}

void IoThread::StartCopyWrite(Slot* slot, BlockSpace::Offset to, int64_t now_ns) {
  IoRequest& request = slot->request;
  request.kind = IoKind::kWrite;
  request.file = to.file;
  request.offset = to.offset;
  slot->intended_ns = now_ns;
  slot->retries = 0;
  slot->sequence = ++write_sequence_;
  if (checks_.writes()) {
    checks_.MakeCopy(request.file, request.offset, slot->ticket,
                     {write_sequence_, durable_sequence_, sync_epoch_, now_ns},
                     buffers_->at(request.buffer));
  }
  // Release: the monitoring thread that sees this time sees the request, too.
  slot->submitted_ns.store(now_ns, std::memory_order_release);
  ++outcome_.submitted;
  ++started_;
  // The write does not wait for the rate: its slot would be lost to the load. It delays the next
  // read instead.
  if (!gate_.open()) gate_.Started(now_ns, request.kind, request.length);
}

void IoThread::CompleteCopy(const IoCompletion& completion, int64_t now_ns) {
  Slot& slot = slots_[completion.slot];
  const IoKind kind = slot.request.kind;
  const bool is_whole = completion.result == static_cast<int32_t>(slot.request.length);
  if (kind != IoKind::kRead || !is_whole) {
    const size_t repeated = retry_.size();
    Complete(completion, now_ns);
    const bool is_lost = kind != IoKind::kSync && !is_whole && retry_.size() == repeated;
    outcome_.uncopied += is_lost;
    return;
  }
  const bool is_good = Succeed(&slot, completion.result, now_ns);
  if (setup_.sync.any()) syncs_.Completed(slot.request);
  slot.submitted_ns.store(0, std::memory_order_release);
  if (is_good) return copy_writes_.Push(completion.slot);
  // A block that is not what it must be is not spread.
  ++outcome_.uncopied;
  gate_.Completed(now_ns);
  free_.Give(completion.slot);
}

void IoThread::DropCopyWrites() {
  for (; !copy_writes_.empty(); copy_writes_.Pop()) {
    // A block of a later pass has a copy.
    outcome_.uncopied += slots_[copy_writes_.front()].is_first_pass;
    // The load has not done all that it was to do.
    exhausted_ = false;
    free_.Give(copy_writes_.front());
  }
}

void IoThread::CountUncopied() {
  // A thread that gives up leaves blocks that were read and not written, and I/Os that have not
  // come back. None of these blocks is known to have a copy.
  DropCopyWrites();
  for (const Slot& slot : slots_) {
    const bool is_in_flight = slot.submitted_ns.load(std::memory_order_relaxed) != 0;
    outcome_.uncopied += is_in_flight && slot.is_first_pass && slot.request.kind != IoKind::kSync;
  }
  // A later pass copies what the first one has copied. A block that no pass has reached has no
  // copy.
  const uint64_t first_pass = std::min(setup_.quota, access_.part_blocks());
  const uint64_t read = setup_.quota - left_;
  if (!setup_.idle && read < first_pass) outcome_.uncopied += first_pass - read;
}

}  // namespace lockstep::worker
