#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>

#include "common/histogram.h"
#include "worker/engine/io_engine.h"

namespace lockstep::worker {

// Counters and latencies of one operation kind over one interval of one thread.
struct KindStats {
  uint64_t operations = 0;
  uint64_t bytes = 0;
  uint64_t errors = 0;
  uint64_t short_transfers = 0;
  uint64_t latency_sum_ns = 0;
  uint64_t latency_min_ns = std::numeric_limits<uint64_t>::max();
  uint64_t latency_max_ns = 0;
  common::Histogram service_time;

  void Merge(const KindStats& other);
  void Clear();
  bool empty() const { return operations == 0 && errors == 0; }
};

using IntervalStats = std::array<KindStats, kIoKinds>;

// What one I/O thread measured, handed to one collecting thread interval by interval, without locks: a ring of
// interval slots with one writer and one reader. The writer never allocates.
class Recorder {
 public:
  Recorder();

  // --- The I/O thread. ---
  void RecordDone(IoKind kind, uint64_t latency_ns, uint64_t bytes, bool is_short) {
    KindStats& stats = (*current_)[static_cast<int>(kind)];
    ++stats.operations;
    stats.bytes += bytes;
    stats.short_transfers += is_short;
    stats.latency_sum_ns += latency_ns;
    if (latency_ns < stats.latency_min_ns) stats.latency_min_ns = latency_ns;
    if (latency_ns > stats.latency_max_ns) stats.latency_max_ns = latency_ns;
    stats.service_time.Record(latency_ns);
  }
  void RecordError(IoKind kind) { ++(*current_)[static_cast<int>(kind)].errors; }
  // The running interval is complete: hands it over and begins the next. Waits while the reader is kSlots behind, which it
  // is only when another thread of the phase hangs in an I/O; not after Abandon().
  void CloseInterval();
  // Everything is recorded, the last I/O completed at `at_ns` (0 when there was none): hands over the running interval as the last.
  void Finish(int64_t at_ns);
  uint32_t interval() const { return static_cast<uint32_t>(written_.load(std::memory_order_relaxed)); }

  // --- The collecting thread. ---
  // The oldest interval that was handed over and not taken; null when there is none. Valid until Pop().
  const IntervalStats* Front() const;
  void Pop();
  // Whether Finish() was called. Then Front() gives out what is left, and nothing comes after it.
  // Of Finish(); 0 before.
  int64_t finished_at_ns() const { return finished_at_ns_.load(std::memory_order_acquire); }
  // Nobody will read any more.
  void Abandon() { abandoned_.store(true, std::memory_order_release); }
  bool finished() const { return finished_.load(std::memory_order_acquire); }

 private:
  static constexpr uint64_t kSlots = 16;
  std::unique_ptr<std::array<IntervalStats, kSlots>> slots_;
  IntervalStats* current_;
  std::atomic<uint64_t> written_{0};
  std::atomic<uint64_t> read_{0};
  std::atomic<bool> finished_{false};
  std::atomic<bool> abandoned_{false};
  std::atomic<int64_t> finished_at_ns_{0};
};

}  // namespace lockstep::worker
