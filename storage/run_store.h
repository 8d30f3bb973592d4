#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "measure/recording.h"
#include "measure/run_data.h"
#include "measure/states.h"
#include "proto/job.pb.h"
#include "proto/report.pb.h"
#include "proto/result.pb.h"
#include "proto/worker.pb.h"

namespace lockstep::storage {

// A run that was in progress when its controller was replaced.
struct ActiveRun {
  measure::RunRecord run;
  std::vector<measure::RunWorker> workers;
  // how it was going to end already; empty while all was well
  std::optional<measure::RunState> ending_state;
  std::string ending_reason;
  bool skip_cleanup = false;
  // The last attempt that was recorded; phase.state is empty when there is none.
  measure::PhaseRecord phase;
  int64_t go_wall_ns = 0;
  std::vector<measure::WorkerClock> clocks;  // of its members, when T was committed
  std::map<uint32_t, uint64_t> cursors;      // of its members
  std::map<uint32_t, uint64_t> block_items;  // how many items before these say what was written
  std::map<uint32_t, std::string> results;   // worker → error of its stored result
  std::vector<v1::StopOrder> orders;         // that these results name
  std::vector<measure::PhaseRecord> ended;   // the last attempt of each phase that has ended
  std::set<std::pair<uint32_t, uint32_t>> started;  // phases and attempts that had their go
  // By phase and attempt, and by worker: stored results that say what was left on devices, with
  // nothing but that.
  std::map<std::pair<uint32_t, uint32_t>, std::map<uint32_t, v1::PhaseResult>> left_contents;
};

// Byte ranges that a lost worker may still be writing to.
struct Quarantine {
  std::string run_id, worker_id, host;
  // The store's documents of the run cannot be read: the worker may be writing anywhere. `job` and
  // `inspection` are empty.
  bool is_unknown = false;
  v1::JobSpec job;
  v1::Inspection inspection;
  int64_t quarantine_ns = 0;
};

// How a run has ended.
struct RunEnd {
  measure::RunState state;
  std::string outcome = {};  // why; empty when it ran to its end
  bool degraded = false;
};

// The decisions of a controller, before it acts on them: the queue, runs in progress and their
// phases. Another controller goes on from here. A part of Store, whose contract holds:
// thread-safety, errors, retries.
class RunStore {
 public:
  virtual ~RunStore() = default;

  // Becomes the active controller: raises the epoch and returns it. From then on every method that
  // changes something does so only while the epoch is still this one, and is ABORTED otherwise.
  virtual absl::StatusOr<uint64_t> AcquireEpoch(const std::string& holder) = 0;

  // Puts a run into the queue; `run` has run_id, job, source, owner and seed.
  virtual absl::Status Enqueue(const measure::RunRecord& run) = 0;
  // Queued runs, oldest first. `outcome` is set where the run was cancelled while it was about to
  // start: it must not start.
  virtual absl::StatusOr<std::vector<measure::RunRecord>> Queue() = 0;
  // Runs in progress, for a controller that takes them over.
  virtual absl::StatusOr<std::vector<ActiveRun>> Active() = 0;
  // The targets to which lost workers of any run may still be writing.
  virtual absl::StatusOr<std::vector<Quarantine>> Quarantines() = 0;
  // The worker was lost in the run; its targets are held for `quarantine_ns`, 0 for not at all.
  virtual absl::Status SetLost(const std::string& run_id, uint32_t worker_index,
                               const std::string& reason, int64_t quarantine_ns) = 0;
  // The lost worker takes part in the run again.
  virtual absl::Status SetBack(const std::string& run_id, uint32_t worker_index) = 0;
  // The worker is idle: ends its holds on targets of all runs in which it was lost.
  virtual absl::Status ReleaseQuarantine(const std::string& worker_id) = 0;
  // Records how the run will end, before it does.
  virtual absl::Status SetEnding(const std::string& run_id, measure::RunState state,
                                 const std::string& reason, measure::Cleanup cleanup) = 0;
  virtual absl::Status StartRun(const std::string& run_id,
                                const std::vector<measure::RunWorker>& workers) = 0;
  virtual absl::Status EndRun(const std::string& run_id, const RunEnd& end) = 0;
  // `at_wall_ns`: when it happened.
  virtual absl::Status AddEvent(const std::string& run_id, measure::Severity severity,
                                const std::string& host, const std::string& message,
                                int64_t at_wall_ns) = 0;

  // --- Phases. ---
  // Records a phase that is being armed, its workloads, and a cursor at 0 for each worker.
  virtual absl::Status BeginPhase(const std::string& run_id, const measure::PhaseRecord& phase,
                                  const std::vector<v1::Workload>& workloads,
                                  const std::vector<uint32_t>& workers) = 0;
  // Commits T, before it is sent to anyone.
  virtual absl::Status CommitGo(const std::string& run_id, uint32_t phase, uint32_t attempt,
                                int64_t go_ns, int64_t go_wall_ns,
                                const std::vector<measure::WorkerClock>& clocks) = 0;
  virtual absl::Status EndPhase(const std::string& run_id, uint32_t phase, uint32_t attempt,
                                measure::PhaseState state, const std::string& reason,
                                const measure::Recording& recording,
                                const v1::PhaseFigures& figures) = 0;
  // Commits the interval at whose end the attempt's load ends on all hosts, before it is sent to
  // anyone. The last call stands: the interval is chosen again while nobody has been told.
  virtual absl::Status CommitEndOfLoad(const std::string& run_id, uint32_t phase, uint32_t attempt,
                                       uint32_t interval) = 0;
};

}  // namespace lockstep::storage
