#include "worker/sampler/recorder.h"

#include <linux/membarrier.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef LOCKSTEP_RAW_LATENCIES
#include "common/mutex.h"
#endif

namespace lockstep::worker {

namespace {

// Makes each thread of this process pass a memory barrier. False where the kernel does not offer
// that (before Linux 4.14, or a seccomp filter).
bool BarrierOnAllThreads() {
  static const bool registered =
      syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
  return registered && syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0;
}

}  // namespace

void ThreadStats::AddTo(measure::OperationStats* stats) const {
  stats->Add(counts, {histograms[0].get(), histograms[1].get(), histograms[2].get()});
}

void ThreadStats::Clear() {
  // Every histogram of a slot is touched by completed operations only, and has 10 KiB. Most slots
  // of rare kinds need no clearing.
  const bool touched = counts.operations != 0;
  counts = measure::OperationCounts();
  for (const auto& histogram : histograms) {
    if (touched && histogram != nullptr) std::fill_n(histogram.get(), common::kBucketCount, 0);
  }
}

Recorder::Recorder(const Options& options) : response_(options.response), current_(&slots_[0]) {
  // A histogram has 10 KiB in each of the slots of each thread. All of them would take almost 1 MiB
  // of each thread, of which most workloads need a small part.
  for (IntervalStats& slot : slots_) {
    for (int kind = 0; kind < kIoKinds; ++kind) {
      const bool wanted[measure::kMetrics] = {true, options.response, options.submission};
      for (int metric = 0; metric < measure::kMetrics; ++metric) {
        if (options.kinds[kind] && wanted[metric]) {
          slot[kind].histograms[metric] = std::make_unique<uint32_t[]>(common::kBucketCount);
        }
      }
    }
  }
}

uint64_t Recorder::HandOver() {
  const uint64_t next = written_.load(std::memory_order_relaxed) + 1;
  // The release hands over all that was written to the slot. Front() acquires it.
  written_.store(next, std::memory_order_release);
  return next;
}

void Recorder::CloseInterval() {
  LOCKSTEP_CHECK(!finished_.load(std::memory_order_relaxed), "an interval after the last one");
  const uint64_t next = HandOver();
  while (next - read_.load(std::memory_order_acquire) >= kSlots) {
    // The thread goes on in the slot that it has handed over, since nobody reads it any more.
    if (abandoned_.load(std::memory_order_acquire)) return;
    // The thread stops its I/O here. The alternative, to overwrite a slot that was not read, would
    // make the result unequal to its intervals.
    usleep(1000);
  }
  current_ = &slots_[next % kSlots];
}

// Dekker's algorithm: each side sets its flag, then reads the other's. After the barrier the I/O
// thread either has read `closing_` as false, and is seen outside the call, or will read it as true
// when it leaves, and wait.
bool Recorder::CloseForBlocked() {
  closing_.store(true, std::memory_order_relaxed);
  const uint64_t next = written_.load(std::memory_order_relaxed) + 1;
  const bool closes = BarrierOnAllThreads() && in_call_.load(std::memory_order_acquire) &&
                      next - read_.load(std::memory_order_relaxed) < kSlots;
  if (closes) current_ = &slots_[HandOver() % kSlots];
  closing_.store(false, std::memory_order_release);
  return closes;
}

void Recorder::AwaitClosing() const {
  // The other side is between two stores, unless it lost the processor.
  while (closing_.load(std::memory_order_acquire)) sched_yield();
}

#ifdef LOCKSTEP_RAW_LATENCIES
namespace {
common::Mutex raw_mutex;
std::vector<uint64_t> all_raw;
}  // namespace

std::vector<uint64_t> Recorder::TakeRaw() {
  common::MutexLock lock(&raw_mutex);
  return std::move(all_raw);
}
#endif

void Recorder::Finish(int64_t at_ns, End end) {
#ifdef LOCKSTEP_RAW_LATENCIES
  {
    common::MutexLock lock(&raw_mutex);
    all_raw.insert(all_raw.end(), raw_.begin(), raw_.end());
  }
#endif
  LOCKSTEP_CHECK(!finished_.load(std::memory_order_relaxed), "a recorder finishes twice");
  finished_at_ns_.store(at_ns, std::memory_order_release);
  all_done_.store(end == End::kAllDone, std::memory_order_release);
  written_.fetch_add(1, std::memory_order_release);
  // This comes last: a reader that sees it finds the last interval handed over.
  finished_.store(true, std::memory_order_release);
}

const IntervalStats* Recorder::Front() const {
  const uint64_t read = read_.load(std::memory_order_relaxed);
  if (read == written_.load(std::memory_order_acquire)) return nullptr;
  return &slots_[read % kSlots];
}

void Recorder::Pop() {
  const uint64_t read = read_.load(std::memory_order_relaxed);
  // Otherwise the reader would clear the slot in which the I/O thread records.
  LOCKSTEP_CHECK(read != written_.load(std::memory_order_acquire),
                 "an interval is taken that was not handed over");
  // The reader clears the slot before it gives it back, so that the I/O thread need not spend time
  // on it.
  for (ThreadStats& stats : slots_[read % kSlots]) stats.Clear();
  read_.store(read + 1, std::memory_order_release);
}

}  // namespace lockstep::worker
