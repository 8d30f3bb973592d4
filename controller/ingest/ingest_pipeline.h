#pragma once

#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>

#include "common/clock.h"
#include "common/limits.h"
#include "common/mutex.h"
#include "common/safeguards.h"
#include "controller/analysis/live_phase.h"
#include "measure/recording.h"
#include "proto/controller.pb.h"
#include "proto/worker.pb.h"
#include "storage/spool.h"
#include "storage/store.h"

namespace lockstep::controller {

// Takes the workers' batches, checks them, merges them for the live view, and commits them to the
// store in order, many workers to a transaction. Acknowledges what is committed. While the store is
// out of reach, or slower than samples come, batches go to the spool and are acknowledged as
// spooled; when it is back they are committed, oldest first. Thread-safe.
class IngestPipeline {
 public:
  using Acknowledge = std::function<void(const v1::DeliveryAck&)>;
  struct PhaseCallbacks {
    std::function<void(const v1::FleetInterval&)> interval;
    // The phase's abort_if, or a workload's min_rate, demands that the run ends.
    std::function<void(const std::string& reason)> abort;
    // Its until_steady, or a workload's ends_phase, demands that the load ends.
    std::function<void(const std::string& reason)> end;
    // The worker's result is committed; `integrity` is empty when it is the sum of its intervals.
    std::function<void(uint32_t worker, const v1::PhaseResult&, const std::string& integrity)>
        result;
    // Whether the worker may report these writes of blocks. If it may not, the item is stored
    // without its contents, so that the sequence numbers stay complete.
    std::function<absl::Status(uint32_t worker, const v1::BlockWrites&)> check_blocks =
        [](uint32_t, const v1::BlockWrites&) { return absl::OkStatus(); };
    // The first time in a phase that check_blocks refuses a worker's report, with the reason.
    std::function<void(uint32_t worker, const std::string& reason)> contradicted =
        [](uint32_t, const std::string&) {};
  };
  struct Options {
    storage::SampleStore* store = nullptr;  // outlives this, as do the next two
    storage::Spool* spool = nullptr;
    const common::Clock* clock = nullptr;
    common::Safeguards safeguards = {};
    // Another controller has replaced this one.
    std::function<void(const std::string&)> fenced = [](const std::string&) {};
    // The store became unavailable, for this reason, or is available again (OK).
    // RESOURCE_EXHAUSTED: it is too slow for the samples that come.
    std::function<void(const absl::Status&)> store_state = [](const absl::Status&) {};
    // The spool is full, so that samples stay at the workers.
    std::function<void(const std::string&)> spool_full = [](const std::string&) {};
    // Pump() has something to do.
    std::function<void()> work = [] {};
    // Of samples that may wait in memory for a store that is slower than they come.
    size_t queue_bytes = limits::kQueuedSampleBytes;
  };
  // The part of a phase that an earlier controller had already received.
  struct Earlier {
    std::map<uint32_t, uint64_t> cursors;  // by worker index
    std::shared_ptr<LivePhase> live;  // what is stored of it; null when it has only been recorded
    std::set<uint32_t> ended;         // whose result is stored
    int64_t go_wall_ns = 0;
  };

  explicit IngestPipeline(Options options);
  ~IngestPipeline();
  // Pumps on a thread of its own from now on.
  void StartThread();

  // Commits or spools all batches that wait. Returns the instant at which to call it again even if
  // no batch comes; INT64_MAX when there is none.
  int64_t Pump();
  // Commits what an earlier controller left in the spool. UNAVAILABLE when the store is.
  absl::Status Replay();

  // From now on accepts samples of this phase. `workers`: worker id → worker index and host.
  void Open(const v1::PhaseId& phase,
            const std::map<std::string, std::pair<uint32_t, std::string>>& workers,
            const v1::RunPhase& load, int64_t interval_ns, PhaseCallbacks callbacks,
            const Earlier& earlier);
  void SetGo(const v1::PhaseId& phase, int64_t go_wall_ns);
  void WorkerLost(const v1::PhaseId& phase, uint32_t worker);
  // The figures of the samples that have come so far.
  v1::PhaseFigures Figures(const v1::PhaseId& phase);
  // As LivePhase::Hosts(), Behind() and DrainHistory(); empty of a phase that is not open.
  std::vector<std::string> Hosts(const v1::PhaseId& phase);
  std::vector<std::string> Behind(const v1::PhaseId& phase);
  std::deque<v1::FleetInterval> DrainHistory(const v1::PhaseId& phase);
  // Accepts no more samples of this phase; returns what is kept of them.
  measure::Recording Close(const v1::PhaseId& phase);

  // A worker's batch. Refusals are acknowledged with the reason.
  void Deliver(const std::string& worker_id, const v1::DeliveryBatch& batch,
               const Acknowledge& acknowledge);

  v1::StoreState state() const;

 private:
  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
  using PhaseKey = std::tuple<std::string, uint32_t, uint32_t>;
  struct Feed {
    uint32_t worker_index = 0;
    uint64_t received = 0;  // next sequence expected
    uint64_t spooled = 0;
    uint64_t committed = 0;
    bool ended = false;         // its result was received
    bool contradicted = false;  // it has spoken of blocks that are not its own
    std::string integrity;      // of its result
    Acknowledge acknowledge;    // of its last batch
  };
  // Checks that committed <= spooled <= received.
  static void CheckCursors(const Feed& feed);
  struct Phase {
    std::shared_ptr<LivePhase> live;
    std::map<uint32_t, Feed> feeds;           // by worker index
    std::map<std::string, uint32_t> indices;  // worker id → worker index
    PhaseCallbacks callbacks;
    int64_t go_wall_ns = 0;
    bool abort_said = false;
    bool end_said = false;
  };

  static PhaseKey KeyOf(const v1::PhaseId& phase) {
    return {phase.run_id(), phase.phase(), phase.attempt()};
  }
  void LetGo(const v1::PhaseId& phase, const Feed& feed);
  // Whether the worker may send the batch again.
  enum class Refusal { kForNow, kFinal };
  void Refuse(const v1::PhaseId& phase, const Feed* feed, const std::string& reason,
              Refusal refusal, const Acknowledge& acknowledge);
  // Calls the phase's callbacks for the intervals and conditions that new samples have completed.
  static void Announce(Phase* phase);
  static void CheckBlocks(const Phase& phase, Feed* feed, v1::DeliveryItem* item);
  absl::Status TakeLocked(Phase* phase, Feed* feed, const v1::DeliveryItem& item)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Feed* FindFeedLocked(const v1::PhaseId& id, uint32_t worker_index, Phase** in)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::vector<storage::IngestBatch> TakeGroup();
  // Takes a group that was not committed back, as the oldest.
  void RequeueLocked(std::vector<storage::IngestBatch> group) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void EnqueueLocked(storage::IngestBatch batch) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Whether more samples wait than may.
  bool IsQueueFull() const;
  // Whether the store may have some of a group already, from a commit whose answer was lost.
  enum class Stored { kNothing, kPerhaps };
  absl::Status Commit(std::vector<storage::IngestBatch> group, Stored before);
  absl::Status Trim(std::vector<storage::IngestBatch>* group);
  absl::Status CommitSpooled();
  absl::Status SpoolQueue();
  // SpoolQueue(), unless the spool is full; says once that it is.
  void SpoolWaiting();
  void Committed(const storage::IngestBatch& batch);
  void Rejected(const storage::IngestBatch& batch, const absl::Status& status);
  void OnUnavailable(const absl::Status& status, std::vector<storage::IngestBatch> group);
  void ComeBack();

  const Options options_;
  mutable common::Mutex mutex_;
  common::Condition changed_;
  std::map<PhaseKey, Phase> phases_ ABSL_GUARDED_BY(mutex_);
  std::deque<storage::IngestBatch> queue_ ABSL_GUARDED_BY(mutex_);
  size_t queued_bytes_ ABSL_GUARDED_BY(mutex_) = 0;  // of the items of queue_, serialized
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  bool unavailable_ ABSL_GUARDED_BY(mutex_) = false;  // changed by Pump() alone
  bool slow_ ABSL_GUARDED_BY(mutex_) = false;         // why it counts as unavailable
  int64_t unavailable_since_ns_ ABSL_GUARDED_BY(mutex_) = 0;
  std::string unavailable_reason_ ABSL_GUARDED_BY(mutex_);
  uint64_t spooled_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  bool full_ = false;  // Pump()'s own, as the next
  int64_t next_try_ns_ = 0;
  std::thread thread_;
};

}  // namespace lockstep::controller
