#include "worker/sampler/recorder.h"

#include <unistd.h>

#include <algorithm>

namespace lockstep::worker {

void KindStats::Merge(const KindStats& other) {
  operations += other.operations;
  bytes += other.bytes;
  errors += other.errors;
  short_transfers += other.short_transfers;
  latency_sum_ns += other.latency_sum_ns;
  latency_min_ns = std::min(latency_min_ns, other.latency_min_ns);
  latency_max_ns = std::max(latency_max_ns, other.latency_max_ns);
  if (other.operations != 0) service_time.Merge(other.service_time);
}

void KindStats::Clear() {
  const bool touched = operations != 0;
  operations = bytes = errors = short_transfers = latency_sum_ns = latency_max_ns = 0;
  latency_min_ns = std::numeric_limits<uint64_t>::max();
  if (touched) service_time.Clear();
}

Recorder::Recorder() : slots_(std::make_unique<std::array<IntervalStats, kSlots>>()), current_(&(*slots_)[0]) {}

void Recorder::CloseInterval() {
  const uint64_t next = written_.load(std::memory_order_relaxed) + 1;
  written_.store(next, std::memory_order_release);
  while (next - read_.load(std::memory_order_acquire) >= kSlots) {
    if (abandoned_.load(std::memory_order_acquire)) return;  // into the last slot, which nobody reads
    usleep(1000);
  }
  current_ = &(*slots_)[next % kSlots];
}

void Recorder::Finish(int64_t at_ns) {
  finished_at_ns_.store(at_ns, std::memory_order_release);
  written_.fetch_add(1, std::memory_order_release);
  finished_.store(true, std::memory_order_release);
}

const IntervalStats* Recorder::Front() const {
  const uint64_t read = read_.load(std::memory_order_relaxed);
  if (read == written_.load(std::memory_order_acquire)) return nullptr;
  return &(*slots_)[read % kSlots];
}

void Recorder::Pop() {
  const uint64_t read = read_.load(std::memory_order_relaxed);
  for (KindStats& stats : (*slots_)[read % kSlots]) stats.Clear();
  read_.store(read + 1, std::memory_order_release);
}

}  // namespace lockstep::worker
