#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "measure/recording.h"
#include "measure/run_data.h"
#include "measure/stamp_record.h"
#include "proto/comparison.pb.h"
#include "proto/controller.pb.h"
#include "proto/job.pb.h"
#include "proto/report.pb.h"
#include "proto/result.pb.h"
#include "proto/worker.pb.h"

namespace lockstep::storage {

// A batch that a worker delivered; the items are those from `first_sequence` on.
struct IngestBatch {
  v1::PhaseId phase;
  uint32_t worker_index = 0;
  uint64_t first_sequence = 0;
  std::vector<v1::DeliveryItem> items;
  int64_t go_wall_ns = 0;  // T by the controller's wall clock
};

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

struct WorkerOwner {
  std::string worker_id, host_id, host, certificate;
};

// How much ReadIntervals() reads of an interval beside its counters: the histograms (to resume a
// phase in progress), the samples of devices and hosts (to make a report), or the histograms and
// the devices (to make a recording).
enum class IntervalDetail { kLatencies, kHosts, kTimeline };
using TakeInterval =
    std::function<absl::Status(uint32_t worker_index, const v1::IntervalSample& sample)>;

// Whether the same call may succeed later by itself: the store is out of reach, has no space, or is
// read-only for now.
inline bool IsTransient(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsResourceExhausted(status) ||
         absl::IsPermissionDenied(status);
}

// Whether what was asked for is there, but cannot be read: a document, number or time that no
// controller wrote. The rows of other runs can.
inline bool IsBroken(const absl::Status& status) {
  return absl::IsDataLoss(status) || absl::IsInvalidArgument(status);
}

// A phase's last attempt, and the names of the run's hosts by worker index.
struct StoredPhase {
  measure::PhaseRecord phase;
  std::map<uint32_t, std::string> hosts;
};

// Where all durable state lives. Thread-safe. Every failure is a status: UNAVAILABLE when the store
// is out of reach, NOT_FOUND, FAILED_PRECONDITION with the reason, ABORTED when this controller was
// replaced. After UNAVAILABLE the change may not have been made, may have been made, or may still
// be made, but before any change that is asked for later. A retry is safe: a change made twice is
// as one made once, but for events, which are stored twice.
class Store {
 public:
  virtual ~Store() = default;

  // Becomes the active controller: raises the epoch and returns it. From then on every method that
  // changes something does so only while the epoch is still this one, and is ABORTED otherwise.
  virtual absl::StatusOr<uint64_t> AcquireEpoch(const std::string& holder) = 0;

  // UUID of the store, made with it.
  virtual absl::StatusOr<std::string> StoreId() = 0;

  // 32 bytes that only controllers of this store know: `fresh` when it had none. They sign what
  // must not be forged (plans' tokens, endorsements of workers' keys).
  virtual absl::StatusOr<std::string> Secret(const std::string& fresh) = 0;

  // Appends to the audit log, in this order, and removes entries older than limits::kAuditDays.
  virtual absl::Status AddAudit(const std::vector<v1::AuditEntry>& entries) = 0;
  // Newest first.
  virtual absl::StatusOr<v1::AuditReply> Audit(const v1::AuditRequest& request) = 0;

  // --- The fleet. ---
  // Records what a worker says of itself, and binds its host's name and ids to its certificate, if
  // it has one. New ids of a name and certificate that are known take the old ones' place.
  // FAILED_PRECONDITION, and nothing is recorded, when the name or an id is another's.
  virtual absl::Status RegisterWorker(const v1::Hello& hello) = 0;
  // Which certificate each host's name, and the ids that it has now, belong to: that with which the
  // name was first seen. Hosts without one are left out.
  virtual absl::StatusOr<std::vector<WorkerOwner>> WorkerOwners() = 0;
  // Unbinds the host's name and ids from their certificate.
  virtual absl::Status ForgetHost(const std::string& host) = 0;

  // --- Devices' stamps. ---
  // All, ended ones too, oldest first.
  virtual absl::StatusOr<std::vector<measure::StampRecord>> Stamps() = 0;
  // Before they are written. Live ones of the same devices are ended by them, and those that ended
  // long ago are removed.
  virtual absl::Status AddStamps(const std::vector<measure::StampRecord>& stamps) = 0;
  // Those of these numbers count no more; nothing is said of numbers that are not there or have
  // ended.
  virtual absl::Status EndStamps(const std::vector<std::string>& numbers, const std::string& by,
                                 int64_t at_wall_ns) = 0;

  // --- Runs. ---
  // Puts a run into the queue; `run` has run_id, job, source, owner and seed.
  virtual absl::Status Enqueue(const measure::RunRecord& run) = 0;
  // Queued runs, oldest first. `outcome` is set where the run was cancelled while it was about to
  // start: it must not start.
  virtual absl::StatusOr<std::vector<measure::RunRecord>> Queue() = 0;
  // Runs in progress, for a controller that takes them over.
  virtual absl::StatusOr<std::vector<ActiveRun>> Active() = 0;
  // What lost workers of any run may still be writing to.
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
                                 const std::string& reason, bool skip_cleanup) = 0;
  virtual absl::Status StartRun(const std::string& run_id,
                                const std::vector<measure::RunWorker>& workers) = 0;
  virtual absl::Status EndRun(const std::string& run_id, measure::RunState state,
                              const std::string& outcome, bool degraded) = 0;
  // Keeps what the report of a run that has ended says, for questions that are answered without its
  // samples. What was kept before is replaced.
  virtual absl::Status SaveReport(const std::string& run_id, const v1::Report& report) = 0;
  // What SaveReport() kept, of this version; none where there is none. Without series: hosts' and
  // the fleet's rates are in the timeline.
  virtual absl::StatusOr<std::optional<v1::Report>> SavedReport(const std::string& run_id) = 0;
  // NOT_FOUND where the run has no such phase.
  virtual absl::StatusOr<StoredPhase> PhaseOf(const std::string& run_id, uint32_t phase) = 0;
  // The timeline of a phase's attempt, as it was when it ended. What was kept before is
  // replaced.
  virtual absl::Status SaveTimeline(const v1::PhaseId& phase,
                                    const measure::Timeline& timeline) = 0;
  // NOT_FOUND where there is none.
  virtual absl::StatusOr<std::vector<measure::FleetPoint>> FleetTimeline(
      const v1::PhaseId& phase) = 0;
  virtual absl::StatusOr<measure::HostTable> HostTimeline(const v1::PhaseId& phase) = 0;
  // The run's phases whose last attempt has none, by number.
  virtual absl::StatusOr<std::set<uint32_t>> WithoutTimelines(const std::string& run_id) = 0;
  // Runs that have ended and of which that is not kept, or by an older version; newest first.
  virtual absl::StatusOr<std::vector<std::string>> WithoutFigures(uint32_t most) = 0;
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

  // --- Samples. ---
  // Commits the batches in one transaction that moves each worker's cursor from first_sequence to
  // first_sequence + items. FAILED_PRECONDITION when a cursor is elsewhere or there is none:
  // nothing was stored then. After UNAVAILABLE, ask Cursor() before sending again, and once more
  // should that then fail: the first try may have come through in between.
  virtual absl::Status Ingest(const std::vector<IngestBatch>& batches) = 0;
  // Hands out what is stored of an attempt, in the order of the intervals, and of one interval in
  // the order of the workers; one at a time, whatever their number. An error of `take` ends it.
  virtual absl::Status ReadIntervals(const v1::PhaseId& phase, IntervalDetail detail,
                                     const TakeInterval& take) = 0;
  // What a run's workers have written last to blocks with headers of these places, attempt by
  // attempt, and after each attempt who was lost in it. An error of `put` ends it. A row without
  // runs says that blocks of other sizes are known no more; it comes before its attempt's others.
  // Of a phase that `what` names: what its workers have said since they said what was told.
  using PutWriteLog = std::function<absl::Status(v1::WriteLogPart)>;
  virtual absl::Status ReadBlockWrites(const v1::WriteLogRequest& what, const PutWriteLog& put) = 0;
  // The next sequence number of a worker's delivery.
  virtual absl::StatusOr<uint64_t> Cursor(const v1::PhaseId& phase, uint32_t worker_index) = 0;

  // --- Questions. ---
  // The full id of `last`, of a UUID or of the start of one. NOT_FOUND, or INVALID_ARGUMENT when
  // several match.
  virtual absl::StatusOr<std::string> ResolveRun(const std::string& text) = 0;
  virtual absl::StatusOr<measure::RunRecord> GetRun(const std::string& run_id) = 0;
  // Without its intervals.
  virtual absl::StatusOr<measure::RunData> LoadRun(const std::string& run_id) = 0;
  // Newest first.
  virtual absl::StatusOr<v1::HistoryReply> History(const v1::HistoryRequest& request) = 0;

  // Changes labels; the run's labels as they are then.
  virtual absl::StatusOr<v1::LabelsReply> SetLabels(const std::string& run_id,
                                                    const v1::LabelsRequest& change) = 0;
  // Removes runs that have ended, or their samples alone. A run whose
  // lost workers may still be writing stays. Of a run whose samples go, what `report_of` gives is
  // kept.
  using MakeReport = std::function<absl::StatusOr<v1::Report>(const std::string& run_id)>;
  virtual absl::StatusOr<v1::PruneReply> Prune(const v1::PruneRequest& request,
                                               const MakeReport& report_of) = 0;
  // The report of a run whose samples were pruned, as it was before; none of any other.
  virtual absl::StatusOr<std::optional<v1::Report>> KeptReport(const std::string& run_id) = 0;
  // All that is kept of a run that has ended, part by part, in one snapshot. An error of `put` ends
  // it. FAILED_PRECONDITION while the run is queued or in progress.
  using PutPart = std::function<absl::Status(v1::ArchivePart part)>;
  virtual absl::Status ExportRun(const std::string& run_id, const PutPart& put) = 0;
  // Stores such a run; `take` gives the parts, and none after the last. All or nothing: a part that
  // cannot be is INVALID_ARGUMENT, a run that is here already ALREADY_EXISTS, another version of
  // the tables FAILED_PRECONDITION. `check` sees what would be stored and may refuse it. Returns
  // the run's id.
  using TakePart = std::function<absl::StatusOr<std::optional<v1::ArchivePart>>()>;
  using ReadStored =
      std::function<absl::Status(const v1::PhaseId&, IntervalDetail, const TakeInterval&)>;
  using CheckRun = std::function<absl::Status(const measure::RunData&, const ReadStored&)>;
  virtual absl::StatusOr<std::string> ImportRun(const TakePart& take, const CheckRun& check) = 0;
  // What these runs came to over their whole fleets, in the order of the ids; those that are not
  // there are left out.
  virtual absl::StatusOr<std::vector<v1::RunFigures>> Figures(
      const std::vector<std::string>& run_ids) = 0;

  // Where the store is, in words; and how psql reaches it with the reading role.
  virtual std::string Describe() const = 0;
  virtual std::string ReaderConninfo() const = 0;
};

}  // namespace lockstep::storage
