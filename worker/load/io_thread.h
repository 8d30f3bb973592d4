#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/timing.h"
#include "worker/engine/io_engine.h"
#include "worker/load/block_content.h"
#include "worker/load/flow.h"
#include "worker/load/placement.h"
#include "worker/load/shared_syncs.h"
#include "worker/load/start_gate.h"
#include "worker/load/sync_queue.h"
#include "worker/load/thread_usage.h"
#include "worker/sampler/recorder.h"
#include "worker/sampler/timeline.h"
#include "worker/verify/block_checks.h"
#include "worker/workload/access.h"
#include "worker/workload/copy_map.h"

namespace lockstep::worker {

// One thread's part of a workload.
struct IoThreadSetup {
  using MakeEngine = std::function<std::unique_ptr<IoEngine>()>;
  MakeEngine make_engine;
  // Engines that do the same load if the host does not support the first, best first.
  std::vector<MakeEngine> fallbacks;
  EngineSetup engine;              // without buffers; descriptors outlive the thread
  std::vector<std::string> paths;  // of the engine's files
  uint32_t max_batch = 1;          // I/Os per Exchange()
  uint32_t wait = 1;               // completions waited for when the queue is full
  ContentOptions content;
  uint64_t seed = 0;         // of this thread's content
  bool idle = false;         // its share of the limit is nothing
  uint64_t quota = 0;        // I/Os; 0 is no limit
  uint64_t quota_bytes = 0;  // 0 is no limit
  // The destinations of a copy's blocks; null for other workloads. A copy's access is that of its
  // source, and a block is one I/O of the quota.
  std::shared_ptr<const CopyMap> copy;
  StartGate::Options start;
  int64_t begin_ns = 0;  // from T: no I/O starts before
  int64_t end_ns = 0;    // from T: the workload ends by itself; 0 is the load's end
  SyncRule sync;
  // With sync.shared: the one of the workload's threads. It outlives them.
  SharedSyncs* shared_syncs = nullptr;
  // The workload's part of a flow, or null. It outlives the thread.
  Flow::Member* flow = nullptr;
  BlockChecks::Options checks;
  uint64_t error_limit = 0;  // failed I/Os; 0 is no limit
  Placement placement;
  // how long I/Os in flight are waited for after the load's end
  int64_t drain_ns = 0;
  int64_t spin_ns = 0;  // how long before T the thread spins instead of sleeping
};

struct IoThreadOutcome {
  int64_t first_io_ns = 0;  // first submission; 0 when there was none
  int64_t last_io_ns = 0;   // last completion
  // The parts of the measured time, between the ramp and the load's end; the rest is the thread's
  // own.
  int64_t io_ns = 0;    // in I/O: submitting, and waiting for completions
  int64_t sync_ns = 0;  // with nothing but syncs in flight
  int64_t think_ns = 0;
  int64_t rate_ns = 0;
  int64_t queue_full_ns = 0;  // part of io_ns in which no more could be submitted
  uint64_t exchanges = 0;     // batches submitted
  uint64_t submitted = 0;
  // Measured time between two batches of completions, and before the first one, added up by the
  // binary logarithm of its nanoseconds. Without the time that was spent on syncs alone.
  std::array<int64_t, 64> gaps_ns{};
  int64_t measured_from_ns = 0;  // the ramp's end, or the workload's begin where that is later
  // A batch that was waited for with nothing but syncs in flight. The load has asked for the pause,
  // and syncs have latencies of their own: it hides no I/Os.
  void AddSyncs(int64_t at_ns) { last_io_ns = at_ns; }
  void AddCompletion(int64_t at_ns, const Timeline& timeline) {
    const int64_t from = std::max(last_io_ns, measured_from_ns);
    if (const int64_t gap = std::min(at_ns, timeline.load_end_ns()) - from; gap > 0) {
      gaps_ns[63 - __builtin_clzll(static_cast<uint64_t>(gap))] += gap;
    }
    last_io_ns = at_ns;
  }
  uint64_t retries = 0;
  uint64_t uncopied = 0;  // of a copy: blocks without a copy, as WorkloadResult says
  // Open loop: due before the load's end, and of those never started; the longest that one waited
  // for its start.
  uint64_t due = 0;
  uint64_t unstarted = 0;
  int64_t longest_backlog_ns = 0;
  ThreadUsage usage;  // of the measured time
  std::string engine;
  std::vector<std::string> notes;
  std::string first_error;  // the first failed I/O, in words
  std::string fatal;        // why the thread gave up; empty when it did not
  // I/Os were still in flight at the end; their buffers are never reused
  bool stuck = false;
};

// One I/O thread: keeps queue_depth I/Os in flight (closed loop) or starts them when they are due
// (open loop), and records each. Arm() and Run() are called on the thread itself, everything else
// from anywhere; outcome() and checks() after Run(). Between T and the end of the drain it does not
// allocate, lock or log unless an I/O fails.
//
// One clock reading per Exchange(), when it returns, serves all the I/Os that completed in it and
// all that are submitted by the next one. A recorded service time is therefore never less than the
// true one; it is longer by what passed between the reading and the submission (completing and
// filling one batch) and between the completion and the next reading.
class IoThread {
 public:
  // `timeline` and `clock` outlive this.
  IoThread(IoThreadSetup setup, Access access, const Timeline* timeline,
           const common::Clock* clock);
  ~IoThread();

  absl::Status Arm();
  void Run();
  // Instead of Run(), when T will not come.
  void Skip();

  Recorder& recorder() { return recorder_; }
  const IoThreadOutcome& outcome() const { return outcome_; }
  BlockChecks& checks() { return checks_; }
  // Whether the thread has given up; its reason is in the outcome. From anywhere.
  bool failed() const { return failed_.load(std::memory_order_acquire); }

  struct InFlight {
    std::string what;  // "read of 4096 bytes at offset 0 of /x"
    std::string path;
    int64_t age_ns = 0;
  };
  // The oldest I/O in flight if it is older than `limit_ns`. A diagnosis, not a measurement.
  std::optional<InFlight> OldestInFlight(int64_t now_ns, int64_t limit_ns) const;

 private:
  struct alignas(128) Slot {
    std::atomic<int64_t> submitted_ns{0};  // 0 when free
    int64_t intended_ns = 0;
    int64_t pause_ns = 0;       // of the thread, after this one
    int64_t submission_ns = 0;  // how long the submission took
    uint64_t sequence = 0;      // of a write; of a sync, the writes that it covers
    BlockChecks::Ticket ticket;
    uint32_t retries = 0;
    bool is_first_pass = false;  // of a copy
    IoRequest request;
  };
  enum class Waiting { kNothing, kThink, kRate, kBlock };
  // How long a thread with nothing in flight waits for a block that another thread is writing.
  static constexpr int64_t kBlockNs = 20 * timing::kUs;
  // The same for an I/O of another workload that is to start first.
  static constexpr int64_t kFlowNs = 20 * timing::kUs;
  // A thread that drains, or that nothing else wakes, polls this often.
  static constexpr int64_t kPollNs = 100 * timing::kMs;

  absl::Status MakeBuffers();
  absl::Status OpenEngine();
  void TakeNotes();
  // Whether the interval in progress, or the load, has ended by then.
  bool HasEnded(int64_t now_ns) const {
    return now_ns >= interval_end_ns_ || now_ns >= timeline_->load_end_ns();
  }
  void CloseThrough(int64_t now_ns);
  void AwaitBegin();
  bool LoadGoesOn(int64_t now_ns) const {
    return now_ns < timeline_->load_end_ns() && outcome_.fatal.empty() && !exhausted_;
  }
  int FillBatch(int64_t now_ns, bool load_goes_on);
  uint32_t TakeSlot(int64_t now_ns, int64_t intended_ns);
  int FillPlain(int64_t now_ns);
  // False when another I/O is writing the block, or the direction is beyond its limit: this one is
  // held until it may start.
  bool StartIo(int64_t now_ns, int64_t intended_ns, int index);
  // Whether the workload's share of the flow allows one more I/O, which is then counted once.
  bool HasTurn();
  // Queues a sync that the threads share, if one comes before the next I/O (io_thread_syncs.cc).
  bool TakeSharedSync();
  void StartSync(int64_t now_ns, int index);
  void FillContentOf(Slot* slot, int64_t now_ns);
  uint64_t CompletedWrites() const;
  void Complete(const IoCompletion& completion, int64_t now_ns);
  void CompletePlain(int count, int64_t now_ns);
  // Returns whether all of it was moved and, of a read that is checked, is what it must be.
  bool Succeed(Slot* slot, int32_t result, int64_t now_ns);
  bool Fail(Slot* slot, int error, int64_t now_ns);
  // Copies (io_thread_copy.cc). Adds to a batch of `*count` I/Os the writes of blocks that have
  // been read. False when one of them waits for its block: the batch is then complete.
  bool StartCopyWrites(int64_t now_ns, int* count);
  void StartCopyWrite(Slot* slot, BlockSpace::Offset to, int64_t now_ns);
  void CompleteCopy(const IoCompletion& completion, int64_t now_ns);
  void DropCopyWrites();
  void CountUncopied();
  // How much of a span is measured time. `has_ended`: HasEnded() its end. Most spans end in the
  // interval that they have begun in. This runs at each I/O.
  int64_t MeasuredIn(int64_t from_ns, int64_t to_ns, bool has_ended) const {
    if (has_ended) return MeasuredAcross(from_ns, to_ns);
    return is_measured_ ? to_ns - from_ns : 0;
  }
  int64_t MeasuredAcross(int64_t from_ns, int64_t to_ns) const;
  enum class QueueState { kNotFull, kFull };
  // Adds a wait to what the thread waited for.
  bool AwaitsOnlySyncs() const { return syncs_in_flight_ != 0 && syncs_in_flight_ == in_flight_; }
  void Account(int64_t time_ns, QueueState queue);
  // One turn: submits what may start, waits for some of what is in flight, and records what has
  // completed. False when the thread is done.
  bool Step(int64_t* now_ns);
  // The same with nothing in flight and nothing that may start.
  bool StepIdle(bool load_goes_on, int64_t* now_ns);
  // How many completions the next Exchange() waits for, after `count` requests.
  int WaitFor(int count, bool load_goes_on) const;
  int64_t DeadlineAt(int64_t now_ns) const;
  void StampSubmission(int count, int64_t now_ns);
  void CountBacklog();
  void GiveUpStuck(int64_t now_ns);
  std::string Describe(const IoRequest& request) const;

  const IoThreadSetup setup_;
  const Timeline* timeline_;
  const common::Clock* clock_;
  Access access_;
  Recorder recorder_;
  BlockChecks checks_;
  IoThreadOutcome outcome_;
  std::unique_ptr<IoEngine> engine_;
  std::vector<std::string> fallback_notes_;  // why `engine_` is not the one that was wanted
  std::unique_ptr<IoBuffers> buffers_;
  uint32_t write_buffers_ = 0;  // first buffer for writes
  BlockContent content_;
  // making the content takes so long that it must not count as service time
  bool restamps_ = false;

  std::vector<Slot> slots_;
  // Slots without an I/O, the last one used first: its lines are still in the cache.
  struct FreeSlots {
    explicit FreeSlots(size_t slots) : numbers(slots) {}
    bool empty() const { return count == 0; }
    uint32_t Take() { return numbers[--count]; }
    void Give(uint32_t number) { numbers[count++] = number; }
    std::vector<uint32_t> numbers;
    size_t count = 0;
  };
  FreeSlots free_;
  std::vector<uint32_t> retry_;
  std::vector<IoRequest> batch_;
  std::vector<IoCompletion> completions_;
  uint32_t in_flight_ = 0;
  uint32_t syncs_in_flight_ = 0;
  uint64_t started_ = 0;  // I/Os, without syncs
  uint64_t left_ = 0;     // of the quota
  uint64_t left_bytes_ = 0;
  bool exhausted_ = false;
  uint64_t errors_ = 0;
  std::atomic<bool> failed_{false};
  // The next I/O, where another one is writing its block, its direction is beyond its limit, or a
  // sync comes first.
  std::optional<Access::Next> held_;
  bool is_held_counted_ = false;  // by the shared syncs
  bool has_turn_ = false;         // the next I/O is counted by the flow

  StartGate gate_;
  // No gate, syncs, checks or content to make: FillPlain() and CompletePlain() are enough.
  bool plain_ = false;
  // Whether the time up to the next end of an interval is measured.
  bool is_measured_ = false;
  // The end of the running interval by the grid, or the workload's own end if that comes first.
  int64_t interval_end_ns_ = 0;
  int64_t begin_ns_ = 0;
  int64_t own_end_ns_ = std::numeric_limits<int64_t>::max();
  bool ended_on_time_ = false;  // at own_end_ns_
  // Then: I/Os that complete later, but by this instant, are in the interval of own_end_ns_, and
  // cannot be told from its others.
  int64_t counted_until_ns_ = 0;
  Waiting waiting_ = Waiting::kNothing;
  int64_t wake_ns_ = 0;

  SyncQueue syncs_;
  bool final_sync_done_ = false;
  uint64_t write_sequence_ = 0;
  uint64_t durable_sequence_ = 0;
  uint32_t sync_epoch_ = 0;

  // The slots of a copy whose block has been read and whose write has not begun, in the order in
  // which the reads completed.
  struct SlotQueue {
    explicit SlotQueue(size_t most) : ring(most) {}
    bool empty() const { return count == 0; }
    uint32_t front() const { return ring[begin]; }
    void Push(uint32_t number) { ring[(begin + count++) % ring.size()] = number; }
    void Pop() {
      begin = (begin + 1) % ring.size();
      --count;
    }
    std::vector<uint32_t> ring;
    size_t begin = 0, count = 0;
  };
  SlotQueue copy_writes_;
};

}  // namespace lockstep::worker
