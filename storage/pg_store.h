#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "common/mutex.h"
#include "common/timing.h"
#include "storage/pg.h"
#include "storage/store.h"

namespace lockstep::storage {

// Runs with a row that no controller can have written: the run's id, and what is wrong.
using UnreadableRuns = std::map<std::string, std::string>;

// The store on PostgreSQL ≥ 15 through libpq. Connections are opened when needed and kept. A broken
// connection is dropped, so the store is available again as soon as the server is. No call waits
// forever for a server that hangs.
class PgStore final : public Store {
 public:
  // The version of the figures that SaveReport() keeps. It increases when a newer version of the
  // programs keeps more.
  static constexpr int kFiguresVersion = 15;
  struct Options {
    std::string conninfo;         // libpq connection string or URI
    std::string reader_conninfo;  // empty: derived from conninfo, without its password
    std::string description;      // "embedded PostgreSQL in /var/lib/lockstep/postgres"
    // The longest time for a change. The server cancels the statement after three quarters of it.
    // If the change takes longer, the store counts as unavailable. A run still accepts results that
    // are late by this time.
    absl::Duration change_limit = absl::Nanoseconds(timing::kStoreChangeNs);
    // Whether Open() brings the schema up to date. If false, Open() does so only if no controller
    // can be active yet: a standby leaves the schema to the active controller.
    bool migrates = true;
  };
  static absl::StatusOr<std::unique_ptr<PgStore>> Open(Options options);
  // Brings the schema up to date. FAILED_PRECONDITION when it is newer than this program.
  absl::Status BringUpToDate();

  absl::StatusOr<uint64_t> AcquireEpoch(const std::string& holder) override;
  absl::StatusOr<std::string> StoreId() override;
  absl::StatusOr<std::string> Secret(const std::string& fresh) override;
  absl::Status AddAudit(const std::vector<v1::AuditEntry>& entries) override;
  absl::StatusOr<v1::AuditReply> Audit(const v1::AuditRequest& request) override;
  absl::Status RegisterWorker(const v1::Hello& hello) override;
  absl::StatusOr<std::vector<WorkerOwner>> WorkerOwners() override;
  absl::Status ForgetHost(const std::string& host) override;
  absl::StatusOr<std::vector<measure::StampRecord>> Stamps() override;
  absl::Status AddStamps(const std::vector<measure::StampRecord>& stamps) override;
  absl::Status EndStamps(const std::vector<std::string>& numbers, const std::string& by,
                         int64_t at_wall_ns) override;
  // Restores the reading role's limits. The active controller calls this regularly.
  void GuardReader();
  absl::Status Enqueue(const measure::RunRecord& run) override;
  absl::StatusOr<std::vector<measure::RunRecord>> Queue() override;
  absl::StatusOr<std::vector<ActiveRun>> Active() override;
  absl::StatusOr<std::vector<Quarantine>> Quarantines() override;
  absl::Status SetLost(const std::string& run_id, uint32_t worker_index, const std::string& reason,
                       int64_t quarantine_ns) override;
  absl::Status SetBack(const std::string& run_id, uint32_t worker_index) override;
  absl::Status ReleaseQuarantine(const std::string& worker_id) override;
  absl::Status SetEnding(const std::string& run_id, measure::RunState state,
                         const std::string& reason, measure::Cleanup cleanup) override;
  absl::Status StartRun(const std::string& run_id,
                        const std::vector<measure::RunWorker>& workers) override;
  absl::Status EndRun(const std::string& run_id, const RunEnd& end) override;
  absl::Status SaveReport(const std::string& run_id, const v1::Report& report) override;
  absl::StatusOr<std::optional<v1::Report>> SavedReport(const std::string& run_id) override;
  absl::StatusOr<StoredPhase> PhaseOf(const std::string& run_id, uint32_t phase) override;
  absl::StatusOr<std::set<uint32_t>> WithoutTimelines(const std::string& run_id) override;
  absl::Status SaveTimeline(const v1::PhaseId& phase, const measure::Timeline& timeline) override;
  absl::StatusOr<std::vector<measure::FleetPoint>> FleetTimeline(const v1::PhaseId& phase) override;
  absl::StatusOr<measure::HostTable> HostTimeline(const v1::PhaseId& phase) override;
  absl::StatusOr<std::vector<std::string>> WithoutFigures(uint32_t max_runs) override;
  absl::Status AddEvent(const std::string& run_id, measure::Severity severity,
                        const std::string& host, const std::string& message,
                        int64_t at_wall_ns) override;
  absl::Status BeginPhase(const std::string& run_id, const measure::PhaseRecord& phase,
                          const std::vector<v1::Workload>& workloads,
                          const std::vector<uint32_t>& workers) override;
  absl::Status CommitGo(const std::string& run_id, uint32_t phase, uint32_t attempt, int64_t go_ns,
                        int64_t go_wall_ns,
                        const std::vector<measure::WorkerClock>& clocks) override;
  absl::Status EndPhase(const std::string& run_id, uint32_t phase, uint32_t attempt,
                        measure::PhaseState state, const std::string& reason,
                        const measure::Recording& recording,
                        const v1::PhaseFigures& figures) override;
  absl::Status CommitEndOfLoad(const std::string& run_id, uint32_t phase, uint32_t attempt,
                               uint32_t interval) override;
  absl::Status Ingest(const std::vector<IngestBatch>& batches) override;
  absl::Status ReadIntervals(const v1::PhaseId& phase, IntervalDetail detail,
                             const TakeInterval& take) override;
  absl::Status ReadBlockWrites(const v1::WriteLogRequest& what, const PutWriteLog& put) override;
  absl::StatusOr<uint64_t> Cursor(const v1::PhaseId& phase, uint32_t worker_index) override;
  absl::StatusOr<std::string> ResolveRun(const std::string& text) override;
  absl::StatusOr<measure::RunRecord> GetRun(const std::string& run_id) override;
  absl::StatusOr<measure::RunData> LoadRun(const std::string& run_id) override;
  absl::StatusOr<v1::HistoryReply> History(const v1::HistoryRequest& request) override;
  absl::StatusOr<v1::LabelsReply> SetLabels(const std::string& run_id,
                                            const v1::LabelsRequest& change) override;
  absl::StatusOr<v1::EventReport> AddNote(const std::string& run_id, const NewNote& note) override;
  absl::StatusOr<v1::EventReport> RemoveNote(const std::string& run_id, uint32_t number,
                                             const std::optional<std::string>& author) override;
  absl::StatusOr<std::vector<v1::EventReport>> Notes(const std::string& run_id) override;
  absl::StatusOr<v1::PruneReply> Prune(const v1::PruneRequest& request,
                                       const MakeReport& report_of) override;
  absl::StatusOr<std::optional<v1::Report>> KeptReport(const std::string& run_id) override;
  absl::Status ExportRun(const std::string& run_id, const PutPart& put) override;
  absl::StatusOr<std::string> ImportRun(const TakePart& take, const CheckRun& check) override;
  absl::StatusOr<std::vector<v1::RunFigures>> Figures(
      const std::vector<std::string>& run_ids) override;
  // After this, no call waits for a server that does not answer. Calls that wait at this moment
  // end, too. They all return UNAVAILABLE.
  void GiveUp() { given_up_ = true; }
  // ABORTED when another controller has replaced this one.
  absl::Status StillActive();
  std::string Describe() const override { return options_.description; }
  std::string ReaderConninfo() const override { return options_.reader_conninfo; }

 private:
  explicit PgStore(Options options) : options_(std::move(options)) {}
  // A connection from the pool. It returns to the pool when the lease ends.
  class Lease;
  // Returns a connection from the pool. To get and to use it may take `limit` in total, or
  // change_limit without one.
  absl::StatusOr<Lease> Connect();
  absl::StatusOr<Lease> Connect(absl::Duration limit);
  // Ends queued and active runs that cannot be read, with an event that says why, so that a broken
  // row does not prevent a controller from starting. The workers of these runs are lost, and the
  // byte ranges that they may still write to are in quarantine.
  absl::Status EndUnreadable(const UnreadableRuns& unreadable);
  // Runs `body` in one transaction. After AcquireEpoch() the transaction succeeds only while the
  // epoch is this controller's.
  absl::Status Transaction(const std::function<absl::Status(PgConnection*)>& body) {
    return Transaction(options_.change_limit, body);
  }
  absl::Status Transaction(absl::Duration limit,
                           const std::function<absl::Status(PgConnection*)>& body);
  // Makes the partitions for samples of these instants (nanoseconds since 1970), unless the
  // partitions are known to exist.
  absl::Status EnsurePartitions(PgConnection* connection, int64_t first_ns, int64_t last_ns);
  // Runs one statement in its own transaction.
  absl::Status Run(const std::string& sql, const std::vector<PgParam>& parameters);

  const Options options_;
  std::atomic<uint64_t> epoch_{0};
  std::atomic<bool> given_up_{false};
  common::Mutex mutex_;
  std::vector<std::unique_ptr<PgConnection>> idle_ ABSL_GUARDED_BY(mutex_);
  // Months ("2026-11") whose partitions are known to exist.
  std::set<std::string> months_ ABSL_GUARDED_BY(mutex_);
  // While the server does not answer, one call at a time probes it. The other calls fail at once.
  bool silent_ ABSL_GUARDED_BY(mutex_) = false;
  std::string reader_problem_ ABSL_GUARDED_BY(mutex_);  // as GuardReader() logged it last
  bool probing_ ABSL_GUARDED_BY(mutex_) = false;
};

// Loads a run for reporting; PgStore::LoadRun() on one connection.
absl::StatusOr<measure::RunData> LoadRunData(PgConnection* connection, const std::string& run_id);
// PgStore::History() on one connection.
absl::StatusOr<v1::HistoryReply> ListRuns(PgConnection* connection,
                                          const v1::HistoryRequest& request);
// The next batch of runs to prune, oldest first, and the number of all runs to prune.
struct ToPrune {
  std::vector<v1::RunSummary> runs;
  double total = 0;
};
absl::StatusOr<ToPrune> ListToPrune(PgConnection* connection, const v1::PruneRequest& request,
                                    int max_runs);
// `reports`: the report of each run if only the samples are pruned; otherwise empty.
absl::Status PruneRuns(PgConnection* connection, const std::vector<v1::RunSummary>& runs,
                       const std::vector<v1::Report>& reports);
// PgStore::Figures() on one connection.
absl::StatusOr<std::vector<v1::RunFigures>> LoadFigures(PgConnection* connection,
                                                        const std::vector<std::string>& run_ids);
// PgStore::Active(), Quarantines() and ReadIntervals() on one connection.
// Runs that cannot be read are left out and named in `unreadable`.
absl::StatusOr<std::vector<ActiveRun>> LoadActive(PgConnection* connection,
                                                  UnreadableRuns* unreadable);
absl::StatusOr<std::vector<Quarantine>> LoadHeld(PgConnection* connection);
absl::Status StreamIntervals(PgConnection* connection, const v1::PhaseId& phase,
                             IntervalDetail detail, const TakeInterval& take);
// The same within a transaction.
absl::Status ReadIntervalsOf(PgConnection* connection, const v1::PhaseId& phase,
                             IntervalDetail detail, const TakeInterval& take);
// Parses a JSON document of the store. Fields that this version does not know are ignored.
absl::Status FromJson(const std::string& json, google::protobuf::Message* message);
// Columns: run_id, spec, source, owner, state, outcome, degraded, seed, submitted_at, started_at,
// ended_at.
inline constexpr char kRunColumns[] =
    "r.run_id, r.spec || jsonb_build_object('labels', r.labels) AS spec, r.source, r.owner, "
    "r.state, "
    "r.outcome, r.degraded, r.seed, "
    "to_char(r.submitted_at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"') AS submitted_at, "
    "to_char(r.started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"') AS started_at, "
    "to_char(r.ended_at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"') AS ended_at, "
    "coalesce(r.confirm, '') AS confirm";
absl::StatusOr<measure::RunRecord> ReadRunRecord(const PgResult& rows, int row);
inline constexpr char kWorkerColumns[] =
    "worker_index, worker_id, host_id, host, boot_id, inspection";
absl::StatusOr<measure::RunWorker> ReadRunWorker(const PgResult& rows, int row);
inline constexpr char kPhaseColumns[] =
    "phase, attempt, name, kind, state, reason, interval_ns, ramp_ns, coalesce(go_ns, 0) AS go_ns, "
    "spec, "
    "job_phase, step, figures, end_of_load, coalesce((extract(epoch FROM go_at) * "
    "1000000)::bigint * 1000, 0) AS go_wall_ns";
// `job` supplies the spec of a phase that an older version has recorded.
absl::StatusOr<measure::PhaseRecord> ReadPhaseRecord(const PgResult& rows, int row,
                                                     const v1::JobSpec& job);

}  // namespace lockstep::storage
