#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "common/safeguards.h"
#include "storage/store.h"

namespace lockstep::storage {

// The parts of a PostgreSQL that controllers rely on. Shared by all that are connected.
struct MemoryDatabase {
  struct Phase {
    measure::PhaseRecord record;
    bool ended = false;
    int64_t go_wall_ns = 0;
    std::vector<measure::WorkerClock> clocks;
    std::map<uint32_t, uint64_t> cursors;
    std::map<uint32_t, std::string> results;
    std::map<uint32_t, std::vector<v1::DeliveryItem>> items;
  };
  struct Run {
    measure::RunRecord record;
    std::vector<measure::RunWorker> workers;
    std::map<uint32_t, int64_t> holds;
    std::optional<measure::RunState> ending_state;
    std::string ending_reason;
    bool skip_cleanup = false;
    bool degraded = false;
    std::map<std::pair<uint32_t, uint32_t>, Phase> phases;  // phase and attempt
  };
  std::mutex mutex;
  std::string secret;
  uint64_t epoch = 0;
  std::vector<std::string> order;
  std::map<std::string, WorkerOwner> owners;  // by host
  std::vector<measure::StampRecord> stamps;   // oldest first
  std::map<std::string, Run> runs;
  std::vector<v1::EventReport> events;
  // Cursors as they read until the next change of cursors comes: of a commit that is still under
  // way, though nobody waits for it.
  std::map<std::pair<std::tuple<std::string, uint32_t, uint32_t>, uint32_t>, uint64_t>
      earlier_cursors;
};

// A store in memory: one controller's connection to a database. Passes the same contract suite as
// PgStore. Thread-safe.
class MemoryStore : public Store {
 public:
  enum class Fate { kDone, kUnavailable, kDoneButAnswerLost, kDoneLater };
  explicit MemoryStore(MemoryDatabase* database, common::Safeguards safeguards = {})
      : db_(database), safeguards_(safeguards) {}
  // Asked before each call; `changing` for those that change something.
  void set_fate(std::function<Fate(bool changing)> fate) { fate_ = std::move(fate); }

  absl::StatusOr<uint64_t> AcquireEpoch(const std::string& holder) override;
  absl::StatusOr<std::string> StoreId() override {
    return std::string("11111111-1111-4111-8111-111111111111");
  }
  absl::StatusOr<std::string> Secret(const std::string& fresh) override {
    const std::lock_guard<std::mutex> lock(db_->mutex);
    if (db_->secret.empty()) db_->secret = fresh;
    return db_->secret;
  }
  absl::Status AddAudit(const std::vector<v1::AuditEntry>&) override { return absl::OkStatus(); }
  absl::StatusOr<v1::AuditReply> Audit(const v1::AuditRequest&) override {
    return absl::UnimplementedError("a store in memory keeps no audit log");
  }
  absl::Status RegisterWorker(const v1::Hello&) override;
  absl::StatusOr<std::vector<WorkerOwner>> WorkerOwners() override;
  absl::Status ForgetHost(const std::string& host) override;
  absl::StatusOr<std::vector<measure::StampRecord>> Stamps() override;
  absl::Status AddStamps(const std::vector<measure::StampRecord>& stamps) override;
  absl::Status EndStamps(const std::vector<std::string>& numbers, const std::string& by,
                         int64_t at_wall_ns) override;
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
  absl::StatusOr<std::vector<std::string>> WithoutFigures(uint32_t) override {
    return std::vector<std::string>();
  }
  absl::Status SaveReport(const std::string&, const v1::Report&) override {
    return absl::OkStatus();
  }
  absl::StatusOr<std::optional<v1::Report>> SavedReport(const std::string&) override {
    return std::nullopt;
  }
  absl::StatusOr<StoredPhase> PhaseOf(const std::string&, uint32_t) override {
    return absl::NotFoundError("a store in memory has no timelines");
  }
  absl::Status SaveTimeline(const v1::PhaseId&, const measure::Timeline&) override {
    return absl::OkStatus();
  }
  absl::StatusOr<std::vector<measure::FleetPoint>> FleetTimeline(const v1::PhaseId&) override {
    return absl::NotFoundError("a store in memory has no timelines");
  }
  absl::StatusOr<measure::HostTable> HostTimeline(const v1::PhaseId&) override {
    return absl::NotFoundError("a store in memory has no timelines");
  }
  absl::StatusOr<std::set<uint32_t>> WithoutTimelines(const std::string&) override {
    return std::set<uint32_t>();
  }
  absl::Status AddEvent(const std::string& run_id, measure::Severity severity,
                        const std::string& host, const std::string& message,
                        int64_t at_wall_ns) override;
  absl::Status BeginPhase(const std::string& run_id, const measure::PhaseRecord& record,
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
  absl::Status ReadIntervals(const v1::PhaseId& id, IntervalDetail detail,
                             const TakeInterval& take) override;
  absl::Status ReadBlockWrites(const v1::WriteLogRequest& what, const PutWriteLog& put) override;
  absl::StatusOr<uint64_t> Cursor(const v1::PhaseId& id, uint32_t worker_index) override;
  absl::StatusOr<std::string> ResolveRun(const std::string& text) override;
  absl::StatusOr<measure::RunRecord> GetRun(const std::string& run_id) override;
  absl::StatusOr<measure::RunData> LoadRun(const std::string&) override {
    return absl::NotFoundError("a store in memory makes no reports");
  }
  absl::StatusOr<v1::HistoryReply> History(const v1::HistoryRequest&) override {
    return v1::HistoryReply();
  }
  absl::StatusOr<v1::LabelsReply> SetLabels(const std::string&, const v1::LabelsRequest&) override {
    return absl::UnimplementedError("a store in memory keeps no labels");
  }
  absl::StatusOr<v1::EventReport> AddNote(const std::string&, const NewNote&) override {
    return absl::UnimplementedError("a store in memory keeps no notes");
  }
  absl::StatusOr<v1::EventReport> RemoveNote(const std::string&, uint32_t,
                                             const std::optional<std::string>&) override {
    return absl::UnimplementedError("a store in memory keeps no notes");
  }
  absl::StatusOr<std::vector<v1::EventReport>> Notes(const std::string&) override {
    return std::vector<v1::EventReport>();
  }
  absl::StatusOr<std::optional<v1::Report>> KeptReport(const std::string&) override {
    return std::nullopt;
  }
  absl::StatusOr<v1::PruneReply> Prune(const v1::PruneRequest&, const MakeReport&) override {
    return absl::UnimplementedError("a store in memory is not pruned");
  }
  absl::Status ExportRun(const std::string&, const PutPart&) override {
    return absl::UnimplementedError("a store in memory exports nothing");
  }
  absl::StatusOr<std::string> ImportRun(const TakePart&, const CheckRun&) override {
    return absl::UnimplementedError("a store in memory imports nothing");
  }
  absl::StatusOr<std::vector<v1::RunFigures>> Figures(const std::vector<std::string>&) override {
    return std::vector<v1::RunFigures>();
  }
  std::string Describe() const override { return "memory"; }
  std::string ReaderConninfo() const override { return ""; }

 private:
  using Run = MemoryDatabase::Run;
  using Phase = MemoryDatabase::Phase;
  static std::pair<std::tuple<std::string, uint32_t, uint32_t>, uint32_t> KeyOf(
      const v1::PhaseId& phase, uint32_t worker_index) {
    return {{phase.run_id(), phase.phase(), phase.attempt()}, worker_index};
  }
  absl::Status Change(const std::function<absl::Status()>& body);
  absl::Status CheckFate();
  absl::StatusOr<Run*> Find(const std::string& run_id);
  absl::StatusOr<Phase*> FindPhase(const v1::PhaseId& id);

  MemoryDatabase* db_;
  const common::Safeguards safeguards_;
  std::function<Fate(bool)> fate_ = [](bool) { return Fate::kDone; };
  uint64_t epoch_ = 0;
  bool is_late_ = false;  // the change under way has the fate kDoneLater
};

}  // namespace lockstep::storage
