#include "worker/sampler/recorder.h"

#include <unistd.h>

namespace lockstep::worker {

void KindStats::Clear() {
  const bool touched = operations != 0;
  operations = bytes = errors = short_transfers = latency_sum_ns = latency_max_ns = 0;
  latency_min_ns = std::numeric_limits<uint64_t>::max();
  for (const auto& histogram : histograms) {
    if (touched && histogram != nullptr) std::fill_n(histogram.get(), common::kBucketCount, 0);
  }
}

void KindTotals::Add(const KindStats& stats) {
  operations += stats.operations;
  bytes += stats.bytes;
  errors += stats.errors;
  short_transfers += stats.short_transfers;
  latency_sum_ns += stats.latency_sum_ns;
  latency_min_ns = std::min(latency_min_ns, stats.latency_min_ns);
  latency_max_ns = std::max(latency_max_ns, stats.latency_max_ns);
  if (stats.operations == 0) return;
  for (int metric = 0; metric < kLatencyMetrics; ++metric) {
    const uint32_t* counts = stats.histograms[metric].get();
    if (counts == nullptr) continue;
    if (histograms[metric] == nullptr) histograms[metric] = std::make_unique<common::Histogram>();
    for (uint32_t bucket = 0; bucket < common::kBucketCount; ++bucket) {
      if (counts[bucket] != 0) histograms[metric]->AddBucket(bucket, counts[bucket]);
    }
  }
}

void KindTotals::Add(const KindTotals& other) {
  operations += other.operations;
  bytes += other.bytes;
  errors += other.errors;
  short_transfers += other.short_transfers;
  latency_sum_ns += other.latency_sum_ns;
  latency_min_ns = std::min(latency_min_ns, other.latency_min_ns);
  latency_max_ns = std::max(latency_max_ns, other.latency_max_ns);
  for (int metric = 0; metric < kLatencyMetrics; ++metric) {
    if (other.histograms[metric] == nullptr) continue;
    if (histograms[metric] == nullptr) histograms[metric] = std::make_unique<common::Histogram>();
    histograms[metric]->Merge(*other.histograms[metric]);
  }
}

Recorder::Recorder(const Options& options) : response_(options.response), current_(&slots_[0]) {
  for (IntervalStats& slot : slots_) {
    for (int kind = 0; kind < kIoKinds; ++kind) {
      const bool wanted[kLatencyMetrics] = {true, options.response, options.submission};
      for (int metric = 0; metric < kLatencyMetrics; ++metric) {
        if (options.kinds[kind] && wanted[metric]) {
          slot[kind].histograms[metric] = std::make_unique<uint32_t[]>(common::kBucketCount);
        }
      }
    }
  }
}

void Recorder::CloseInterval() {
  const uint64_t next = written_.load(std::memory_order_relaxed) + 1;
  written_.store(next, std::memory_order_release);
  while (next - read_.load(std::memory_order_acquire) >= kSlots) {
    // into the last slot, which nobody reads
    if (abandoned_.load(std::memory_order_acquire)) return;
    usleep(1000);
  }
  current_ = &slots_[next % kSlots];
}

void Recorder::Finish(int64_t at_ns) {
  finished_at_ns_.store(at_ns, std::memory_order_release);
  written_.fetch_add(1, std::memory_order_release);
  finished_.store(true, std::memory_order_release);
}

const IntervalStats* Recorder::Front() const {
  const uint64_t read = read_.load(std::memory_order_relaxed);
  if (read == written_.load(std::memory_order_acquire)) return nullptr;
  return &slots_[read % kSlots];
}

void Recorder::Pop() {
  const uint64_t read = read_.load(std::memory_order_relaxed);
  for (KindStats& stats : slots_[read % kSlots]) stats.Clear();
  read_.store(read + 1, std::memory_order_release);
}

}  // namespace lockstep::worker
