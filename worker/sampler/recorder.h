#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "common/check.h"
#include "common/histogram.h"
#include "measure/operation_stats.h"
#include "worker/workload/io_kind.h"

namespace lockstep::worker {

// Counters and latencies of one operation kind over one interval of one thread, in the form that is
// fastest to write. A bucket does not overflow in an interval of a minute at 70 million I/Os per
// second. Histograms that a workload does not need are absent.
struct ThreadStats {
  measure::OperationCounts counts;
  // By metric; kBucketCount long, or null.
  std::array<std::unique_ptr<uint32_t[]>, measure::kMetrics> histograms;

  void AddTo(measure::OperationStats* stats) const;
  void Clear();
};

using IntervalStats = std::array<ThreadStats, kIoKinds>;

// Hands the measurements of one I/O thread to one collecting thread, interval by interval and
// without locks: a ring of interval slots with one writer and one reader. The writer never
// allocates.
//
// Rules for the callers. Debug builds check those of each I/O, all builds check the others; a
// broken rule ends the program. The writer records operations of kinds and metrics that the options
// name, never between EnterCall() and LeaveCall(), and nothing after Finish(), which it calls once.
// The reader pops only intervals that were handed over.
class Recorder {
 public:
  struct Options {
    std::array<bool, kIoKinds> kinds = {true, true, true, true};
    bool response = false;  // an open loop
    bool submission = false;
  };
  explicit Recorder(const Options& options);

  // --- The I/O thread. ---
  // `latency_ns` is the response time if the workload has one, otherwise the service time.
  enum class Transfer : uint8_t { kWhole, kShort };
  void RecordDone(IoKind kind, uint64_t service_ns, uint64_t latency_ns, uint64_t bytes,
                  Transfer transfer) {
    CheckRecords(kind, kService);
    LOCKSTEP_DCHECK(response_ || latency_ns == service_ns, "a closed loop has no response time");
    ThreadStats& stats = (*current_)[static_cast<int>(kind)];
    ++stats.counts.operations;
    stats.counts.bytes += bytes;
    stats.counts.short_transfers += transfer == Transfer::kShort ? 1 : 0;
    stats.counts.latency_sum_ns += latency_ns;
    stats.counts.latency_min_ns = std::min(stats.counts.latency_min_ns, latency_ns);
    stats.counts.latency_max_ns = std::max(stats.counts.latency_max_ns, latency_ns);
    ++stats.histograms[kService][common::BucketOf(service_ns)];
#ifdef LOCKSTEP_RAW_LATENCIES
    raw_.push_back(service_ns);
#endif
    if (response_) ++stats.histograms[kResponse][common::BucketOf(latency_ns)];
  }
  // Records `count` I/Os of one kind that took equally long. For closed loops, and none may be
  // short.
  void RecordEqual(IoKind kind, uint64_t service_ns, uint64_t count, uint64_t bytes) {
    CheckRecords(kind, kService);
    LOCKSTEP_DCHECK(!response_, "the I/Os of an open loop are recorded one by one");
    ThreadStats& stats = (*current_)[static_cast<int>(kind)];
    stats.counts.operations += count;
    stats.counts.bytes += bytes;
    stats.counts.latency_sum_ns += count * service_ns;
    stats.counts.latency_min_ns = std::min(stats.counts.latency_min_ns, service_ns);
    stats.counts.latency_max_ns = std::max(stats.counts.latency_max_ns, service_ns);
    stats.histograms[kService][common::BucketOf(service_ns)] += static_cast<uint32_t>(count);
#ifdef LOCKSTEP_RAW_LATENCIES
    raw_.insert(raw_.end(), count, service_ns);
#endif
  }
  // With Options::submission only.
  void RecordSubmission(IoKind kind, uint64_t nanoseconds) {
    CheckRecords(kind, kSubmission);
    ++(*current_)[static_cast<int>(kind)].histograms[kSubmission][common::BucketOf(nanoseconds)];
  }
  void RecordError(IoKind kind) { ++(*current_)[static_cast<int>(kind)].counts.errors; }
  // Hands over the running interval, which is complete, and begins the next. Waits while the reader
  // is kSlots behind, but not after Abandon().
  void CloseInterval();
  // Around a call that may block for intervals. In between the thread records nothing, and the
  // collecting thread may close intervals in its place.
  void EnterCall() {
    LOCKSTEP_DCHECK(!in_call_.load(std::memory_order_relaxed), "a call within a call");
    in_call_.store(true, std::memory_order_release);
  }
  void LeaveCall() {
    in_call_.store(false, std::memory_order_relaxed);
    // Only the compiler is kept from exchanging the two: CloseForBlocked() has the kernel order
    // them on the processor, so that no I/O pays for a fence.
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (closing_.load(std::memory_order_acquire)) [[unlikely]]
      AwaitClosing();
  }
  // Why nothing more comes: the thread has done what it was to do, or the load's end came first.
  enum class End { kAllDone, kLoadEnd };
  // Hands over the running interval as the last one. `at_ns` is when the last I/O completed, 0 if
  // there was none.
  void Finish(int64_t at_ns, End end);
  uint32_t interval() const {
    return static_cast<uint32_t>(written_.load(std::memory_order_relaxed));
  }

  // --- The collecting thread. ---
  // The oldest interval that was handed over and not taken. Null if there is none. Valid until
  // Pop(). front_interval() is its number.
  const IntervalStats* Front() const;
  uint32_t front_interval() const {
    return static_cast<uint32_t>(read_.load(std::memory_order_relaxed));
  }
  // How many intervals were handed over.
  uint32_t closed() const {
    return static_cast<uint32_t>(written_.load(std::memory_order_acquire));
  }
  void Pop();
  // Hands over the running interval in place of a thread that is inside a call: what it recorded
  // completed before. False if it is not inside one, or this cannot be known; then it hands the
  // interval over itself.
  bool CloseForBlocked();
  // The instant that was passed to Finish(). 0 before.
  int64_t finished_at_ns() const { return finished_at_ns_.load(std::memory_order_acquire); }
  // The value that was passed to Finish(), once finished().
  bool all_done() const { return all_done_.load(std::memory_order_acquire); }
  // Whether Finish() was called. Front() then returns the intervals that are left, and no further
  // ones follow.
  bool finished() const { return finished_.load(std::memory_order_acquire); }
  // The reader stops reading.
  void Abandon() { abandoned_.store(true, std::memory_order_release); }

#ifdef LOCKSTEP_RAW_LATENCIES
  // In test builds: the service times of all recorders that have finished, one by one.
  static std::vector<uint64_t> TakeRaw();
#endif

 private:
  void CheckRecords(IoKind kind, int metric) const {
    LOCKSTEP_DCHECK((*current_)[static_cast<int>(kind)].histograms[metric] != nullptr,
                    "an operation that the options do not name");
    LOCKSTEP_DCHECK(!in_call_.load(std::memory_order_relaxed), "recorded inside a call");
  }
  void AwaitClosing() const;
  uint64_t HandOver();

#ifdef LOCKSTEP_RAW_LATENCIES
  std::vector<uint64_t> raw_;
#endif
  static constexpr uint64_t kSlots = 8;
  static constexpr int kService = measure::IndexOf(v1::METRIC_SERVICE_TIME);
  static constexpr int kResponse = measure::IndexOf(v1::METRIC_RESPONSE_TIME);
  static constexpr int kSubmission = measure::IndexOf(v1::METRIC_SUBMISSION_LATENCY);
  const bool response_;
  std::array<IntervalStats, kSlots> slots_;
  IntervalStats* current_;
  std::atomic<uint64_t> written_{0};
  std::atomic<uint64_t> read_{0};
  std::atomic<bool> finished_{false};
  std::atomic<bool> in_call_{false};
  std::atomic<bool> closing_{false};
  std::atomic<bool> abandoned_{false};
  std::atomic<bool> all_done_{false};
  std::atomic<int64_t> finished_at_ns_{0};
};

}  // namespace lockstep::worker
