#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/controller.pb.h"
#include "proto/result.pb.h"
#include "proto/worker.pb.h"

namespace lockstep::storage {

// A job in the queue, or one being run.
struct RunRecord {
  std::string run_id;
  v1::JobSpec job;
  std::string source;
  std::string owner;
  std::string state;
  std::string outcome;
  bool degraded = false;
  uint64_t seed = 0;
  std::string submitted_at, started_at, ended_at;  // RFC 3339, UTC; empty where it has not happened
};

struct RunWorker {
  uint32_t worker_index = 0;
  std::string worker_id, host_id, host, boot_id;
  v1::Inspection inspection;  // its facts become RunData::environment, and do not come back here
  v1::Hello hello;            // without devices
  bool lost = false;
};

struct PhaseRecord {
  uint32_t phase = 0;
  uint32_t attempt = 1;
  std::string name, kind, state, reason;
  int64_t interval_ns = 0;
  int64_t ramp_ns = 0;
  int64_t go_ns = 0;  // controller's monotonic clock; 0 until go
};

// A worker's clock as it was known at go.
struct WorkerClock {
  uint32_t worker_index = 0;
  int64_t offset_ns = 0;  // worker's minus the controller's
  int64_t bound_ns = 0;
};

// A batch that a worker delivered; the items are those from `first_sequence` on.
struct IngestBatch {
  v1::PhaseId phase;
  uint32_t worker_index = 0;
  uint64_t first_sequence = 0;
  std::vector<v1::DeliveryItem> items;
  int64_t go_wall_ns = 0;  // T by the controller's wall clock
};

// A 10-second roll-up over all workers of a workload.
struct Rollup {
  uint32_t workload = 0;
  v1::OperationKind kind = v1::OPERATION_KIND_UNSPECIFIED;
  v1::Metric metric = v1::METRIC_UNSPECIFIED;
  int64_t begin_ns = 0;
  uint64_t operations = 0;
  uint64_t bytes = 0;
  std::string buckets;  // encoded
};

// Everything that a report of one phase is made of.
struct WorkerPhaseData {
  uint32_t worker_index = 0;
  WorkerClock clock;
  bool has_result = false;
  v1::PhaseResult result;                     // complete, with histograms and threads
  std::vector<v1::IntervalSample> intervals;  // counters, devices and host; no histograms
};
struct PhaseData {
  PhaseRecord phase;
  std::vector<WorkerPhaseData> workers;
};
struct RunData {
  RunRecord run;
  std::vector<RunWorker> workers;
  std::vector<PhaseData> phases;  // the last attempt of each, in order
  std::vector<v1::EventReport> events;
  std::map<std::string, std::string> environment;  // "HOST fact" to value
  // "boot_id/device" → other runs that used it while this one was in progress
  std::map<std::string, std::vector<std::string>> concurrent;
};

// A run that was in progress when its controller was replaced.
struct ActiveRun {
  RunRecord run;
  std::vector<RunWorker> workers;
  // how it was going to end already; empty while all was well
  std::string ending_state, ending_reason;
  bool skip_cleanup = false;
  // The last attempt that was recorded; phase.state is empty when there is none.
  PhaseRecord phase;
  int64_t go_wall_ns = 0;
  std::vector<WorkerClock> clocks;              // of its members, when T was committed
  std::map<uint32_t, uint64_t> cursors;         // of its members
  std::map<uint32_t, std::string> results;      // worker → error of its stored result
  std::map<std::string, double> measured_iops;  // by phase name, of the phases that are done
};

// Places that a lost worker may still be writing to.
struct HeldPlaces {
  std::string run_id, worker_id;
  v1::JobSpec job;
  v1::Inspection inspection;
  int64_t hold_ns = 0;
};

struct WorkerOwner {
  std::string worker_id, host, certificate;
};

// Whether what failed may succeed later, through no change of ours: the store is out of reach, has
// no space, or is read-only for now.
inline bool MayPass(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsResourceExhausted(status) ||
         absl::IsPermissionDenied(status);
}

// Where all durable state lives. Thread-safe: calls may come from several threads at once. Every
// failure is a status: UNAVAILABLE when the store is out of reach (nothing was changed, or the
// change is not known, or is made while something else is asked; a change that is asked for later
// comes after it. A retry is safe: done twice, everything but an event is as done once), NOT_FOUND,
// FAILED_PRECONDITION with the reason, ABORTED when this controller was replaced.
class Store {
 public:
  virtual ~Store() = default;

  // Becomes the active controller: raises the epoch and returns it. From then on every method that
  // changes something does so only while the epoch is still this one, and is ABORTED otherwise.
  virtual absl::StatusOr<uint64_t> AcquireEpoch(const std::string& holder) = 0;

  // UUID of the store, made with it.
  virtual absl::StatusOr<std::string> StoreId() = 0;

  // --- The fleet. ---
  virtual absl::Status RegisterWorker(const v1::Hello& hello) = 0;
  // Whose each worker and its host's name are: the certificate with which they were first seen.
  // Those without one are left out.
  virtual absl::StatusOr<std::vector<WorkerOwner>> WorkerOwners() = 0;
  // The host's name and the workers on it are nobody's any more.
  virtual absl::Status ForgetHost(const std::string& host) = 0;

  // --- Runs. ---
  // Puts a run into the queue; `run` has run_id, job, source, owner and seed.
  virtual absl::Status Enqueue(const RunRecord& run) = 0;
  // Queued runs, oldest first.
  virtual absl::StatusOr<std::vector<RunRecord>> Queue() = 0;
  // Runs in progress, for a controller that takes them over.
  virtual absl::StatusOr<std::vector<ActiveRun>> Active() = 0;
  // What lost workers of any run may still be writing to.
  virtual absl::StatusOr<std::vector<HeldPlaces>> Held() = 0;
  // The worker was given up; its targets are to be held for `hold_ns`, 0 for not at all.
  virtual absl::Status SetLost(const std::string& run_id, uint32_t worker_index,
                               const std::string& reason, int64_t hold_ns) = 0;
  // It takes part again.
  virtual absl::Status SetBack(const std::string& run_id, uint32_t worker_index) = 0;
  // The worker holds no target of a run in which it was lost any more.
  virtual absl::Status ReleaseHold(const std::string& worker_id) = 0;
  // How the run will end.
  virtual absl::Status SetEnding(const std::string& run_id, const std::string& state,
                                 const std::string& reason, bool skip_cleanup) = 0;
  virtual absl::Status StartRun(const std::string& run_id,
                                const std::vector<RunWorker>& workers) = 0;
  virtual absl::Status EndRun(const std::string& run_id, const std::string& state,
                              const std::string& outcome, bool degraded) = 0;
  virtual absl::Status SaveSummary(const std::string& run_id, const v1::RunSummary& summary) = 0;
  // `at_wall_ns`: when it happened.
  virtual absl::Status AddEvent(const std::string& run_id, const std::string& severity,
                                const std::string& host, const std::string& message,
                                int64_t at_wall_ns) = 0;

  // --- Phases. ---
  // Records a phase that is being armed, its workloads, and a cursor at 0 for each worker.
  virtual absl::Status BeginPhase(const std::string& run_id, const PhaseRecord& phase,
                                  const std::vector<v1::Workload>& workloads,
                                  const std::vector<uint32_t>& workers) = 0;
  // T is decided: on disk before it is sent to anyone.
  virtual absl::Status CommitGo(const std::string& run_id, uint32_t phase, uint32_t attempt,
                                int64_t go_ns, int64_t go_wall_ns,
                                const std::vector<WorkerClock>& clocks) = 0;
  virtual absl::Status EndPhase(const std::string& run_id, uint32_t phase, uint32_t attempt,
                                const std::string& state, const std::string& reason,
                                const std::vector<Rollup>& rollups, double measured_iops) = 0;

  // --- Samples. ---
  // Commits the batches in one transaction that moves each worker's cursor from first_sequence to
  // first_sequence + items. FAILED_PRECONDITION when a cursor is elsewhere or there is none:
  // nothing was stored then. After UNAVAILABLE, ask Cursor() before sending again, and once more
  // should that then fail: the first try may have come through in between.
  virtual absl::Status Ingest(const std::vector<IngestBatch>& batches) = 0;
  // What is stored of an attempt, worker by worker in the order of the intervals: operations,
  // bytes, errors and histograms.
  virtual absl::StatusOr<std::map<uint32_t, std::vector<v1::IntervalSample>>> Samples(
      const v1::PhaseId& phase) = 0;
  // The next sequence number of a worker's delivery.
  virtual absl::StatusOr<uint64_t> Cursor(const v1::PhaseId& phase, uint32_t worker_index) = 0;

  // --- Questions. ---
  // The full id of `last`, of a UUID or of the start of one. NOT_FOUND, or INVALID_ARGUMENT when
  // several match.
  virtual absl::StatusOr<std::string> ResolveRun(const std::string& text) = 0;
  virtual absl::StatusOr<RunRecord> GetRun(const std::string& run_id) = 0;
  virtual absl::StatusOr<RunData> LoadRun(const std::string& run_id) = 0;
  // Newest first.
  virtual absl::StatusOr<std::vector<v1::RunSummary>> History(
      const v1::HistoryRequest& request) = 0;

  // How people are told where it is, and how psql reaches it with the reading role.
  virtual std::string Describe() const = 0;
  virtual std::string ReaderConninfo() const = 0;
};

}  // namespace lockstep::storage
