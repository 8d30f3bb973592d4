#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/mutex.h"
#include "proto/worker.pb.h"
#include "worker/engine/report_event.h"
#include "worker/host/guard.h"
#include "worker/host/path_watch.h"
#include "worker/load/io_thread.h"
#include "worker/load/phase_executor.h"
#include "worker/load/write_follower.h"
#include "worker/sampler/collector.h"
#include "worker/targets/targets.h"
#include "worker/verify/block_ledger.h"

namespace lockstep::worker {

// The load of one run phase on this worker: every workload's threads, started together at T, and
// the collector of what they measure. Make() → Arm() → Start() → Wait(). Owned by shared_ptr: a
// thread whose I/O never returns keeps it alive, and with it every buffer that the kernel may still
// write to.
class Load : public std::enable_shared_from_this<Load> {
 public:
  struct Environment {
    const Guard* guard = nullptr;
    const common::Clock* clock = nullptr;
    LedgerBook* ledgers = nullptr;
    Fences* fences = nullptr;
    std::string mismatch_directory;  // where blocks that do not match are saved; empty for nowhere
    // The write log of the blocks that a request names, part by part; null where there is no
    // controller to request it from.
    FetchWriteLog write_log;
    // What this worker has written to blocks with headers, periodically and at the end.
    std::function<void(const v1::BlockWrites&)> block_writes = [](const v1::BlockWrites&) {};
    // While the load runs.
    ReportEvent report = kReportNothing;
  };
  // Opens the targets. Errors name path and remedy. What `environment` points to outlives the load.
  static absl::StatusOr<std::shared_ptr<Load>> Make(const v1::Assignment& assignment,
                                                    const RunIdentity& who,
                                                    Environment environment);

  // Starts the threads and waits until each holds all that it needs. After a failure nothing is
  // left running.
  absl::Status Arm();
  // T, on this worker's monotonic clock.
  void Start(int64_t go_ns);
  // Ends the load at once; before Start() it never begins. From any thread.
  void StopNow();
  // Ends the load at the end of an interval, of the one in progress where that is later, unless it
  // ends before; also told before Start(). From any thread.
  void StopAtEndOf(uint32_t interval);
  // When the load ends, of this worker's clock; the end of time until it is known.
  int64_t end_ns() const { return timeline_.load_end_ns(); }
  // After Wait(): an I/O has not come back.
  bool hangs() const { return hangs_; }
  // Until the load has ended and drained; samples go to `sink` while it runs.
  v1::PhaseResult Wait(const Collector::Sink& sink);
  std::vector<std::string> notes() const;
  // Adds the ranges that the load has opened for writing.
  void AddRanges(v1::Armed* armed) const;

 private:
  struct WorkloadPart {
    uint32_t index = 0;
    int64_t stuck_after_ns = 0;
    OpenTargets targets;
    bool writes = false;
    std::atomic<uint64_t> shared_position{0};
    std::vector<std::unique_ptr<IoThread>> threads;
    // by thread: age of the stuck I/O when it was last reported; 0 when none is
    std::vector<int64_t> reported_ns;
  };
  enum class State { kArming, kArmed, kStarted, kCancelled };

  Load(const v1::Assignment& assignment, Environment environment);
  absl::Status AddWorkload(const v1::WorkloadAssignment& assignment, const RunIdentity& who);
  // Fetches what others have written to the blocks that the workload reads or writes.
  absl::Status LoadExpected(const v1::WorkloadAssignment& assignment,
                            const std::vector<v1::TargetAssignment>& targets,
                            const OpenTargets& opened);
  // Follows what other workers write, while the load runs, to blocks that the workload verifies.
  absl::Status FollowWrites(const v1::WorkloadAssignment& assignment, const OpenTargets& opened);
  // Of blocks that are not what was written: who wrote what is missing, and when.
  void ExplainMissing();
  // By its name on the target; empty when it is not known.
  std::string WriterOf(const WorkloadPart& part, const v1::WriteLogPart& told) const;
  static void ExplainFrom(
      const v1::WriteLogPart& told, const std::string& writer_name,
      std::multimap<std::pair<uint64_t, uint64_t>, BlockChecks::Missing>* missing);
  void ReportOverwritten();
  // Whether an I/O is still in flight.
  bool HasStuckIo() const;
  // Tells what was written to blocks with headers. `in_flight`: also of which it is not known.
  void ReportWrites(bool at_end, bool in_flight);
  void ThreadMain(IoThread* thread);
  // Checks, before any of them is made, that the phase's threads and buffers fit into this host.
  absl::Status CheckCapacity() const;
  void EndAfterLocked(uint32_t interval) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void JoinThreads(bool complete);
  void MonitorClaims(int64_t now_ns);
  // How long the oldest I/O has been in flight; 0 when there is none.
  int64_t OldestInFlightNs() const;
  void ReportPaths();
  void ReportStuck();
  std::string DescribeHang() const;
  v1::PhaseResult MakeResult(Collector* collector, bool complete) const;
  // Takes down what lies now on the devices that were written; their claims still hold.
  void AddLeftContents(v1::PhaseResult* result) const;
  void AddThread(const WorkloadPart& part, size_t index, const measure::OperationCounts& sums,
                 v1::PhaseResult* result, v1::WorkloadResult* workload) const;

  const v1::Assignment assignment_;
  const Environment environment_;
  const common::Clock* clock_;
  int64_t looked_ns_ = 0;  // of ReportStuck()
  int64_t told_ns_ = 0;    // of ReportWrites()
  bool hangs_ = false;
  Timeline timeline_;
  DeviceClaims claims_;  // until the drain is over
  int64_t held_ns_ = 0;  // when they were last looked after
  std::string hold_error_;
  std::vector<std::unique_ptr<WorkloadPart>> parts_;
  WriteFollower follower_;
  PathWatch paths_;
  std::vector<std::thread> threads_;

  common::Mutex mutex_;
  common::Condition changed_;
  State state_ ABSL_GUARDED_BY(mutex_) = State::kArming;
  size_t armed_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t ended_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Status arm_status_ ABSL_GUARDED_BY(mutex_);
  std::optional<uint32_t> last_interval_ ABSL_GUARDED_BY(mutex_);  // that StopAtEndOf() said
  std::atomic<bool> stopped_early_{false};
};

}  // namespace lockstep::worker
