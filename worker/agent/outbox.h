#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <list>
#include <mutex>
#include <optional>

#include "proto/worker.pb.h"

namespace lockstep::worker {

// What was measured and is not yet committed by the controller, in order, by phase and attempt. Items are numbered from 0
// without gaps and kept until an acknowledgement says that they are committed. Thread-safe.
class Outbox {
 public:
  void Add(const v1::PhaseId& phase, v1::DeliveryItem item);
  // The next items that were not handed out since the last Rewind(), at most 64 KiB unless one item is larger. Waits
  // for up to 200 ms; nothing when there is nothing to send.
  std::optional<v1::DeliveryBatch> NextBatch();
  // Drops what is committed; a refusal rewinds, a final one drops the phase. Returns the refusal, if any.
  std::string OnAck(const v1::DeliveryAck& ack);
  // A new stream: hand out again everything that is not committed.
  void Rewind();
  // Waits until everything is committed, for `milliseconds` at most.
  bool WaitEmpty(int milliseconds);

 private:
  struct Entry {
    v1::PhaseId phase;
    uint64_t first = 0;  // sequence of items.front()
    uint64_t sent = 0;   // sequence after the last one handed out
    std::deque<v1::DeliveryItem> items;
  };
  Entry* FindLocked(const v1::PhaseId& phase);
  bool HasUnsentLocked() const;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::list<Entry> entries_;
};

}  // namespace lockstep::worker
