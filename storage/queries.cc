// Loading a run for its report, but for its intervals.

#include <map>
#include <set>
#include <string>
#include <tuple>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/histogram.h"
#include "common/limits.h"
#include "google/protobuf/util/json_util.h"
#include "measure/result_stats.h"
#include "storage/pg_store.h"
#include "storage/sql_histogram.h"
#include "storage/sql_values.h"

namespace lockstep::storage {
namespace {

using google::protobuf::util::JsonStringToMessage;

// Everything of one run, read table by table into the phases' last attempts.
class Loader {
 public:
  Loader(PgConnection* connection, const std::string& run_id)
      : connection_(connection), run_id_(run_id) {}

  absl::StatusOr<measure::RunData> Load() {
    // LoadResults() comes before LoadCounters() and LoadThreads(), which add to the results that it
    // reads.
    for (const auto& step : {&Loader::LoadRun, &Loader::LoadWorkers, &Loader::LoadPhases,
                             &Loader::LoadResults, &Loader::LoadCounters, &Loader::LoadBlocks,
                             &Loader::LoadThreads, &Loader::LoadEvents, &Loader::LoadConcurrent}) {
      if (absl::Status status = (this->*step)(); !status.ok()) return status;
    }
    // Workers are collected by their index until here, because a worker need not have a row in each
    // table.
    for (measure::PhaseData& phase : data_.phases) {
      for (auto& [index, worker] : phases_[phase.phase.phase]) {
        phase.workers.push_back(std::move(worker));
      }
      phase.blocks = std::move(blocks_[phase.phase.phase]);
    }
    return std::move(data_);
  }

 private:
  absl::StatusOr<PgResult> Query(const std::string& sql) {
    return connection_->Query(sql, {run_id_});
  }
  // Selects the rows of each phase's last attempt from a sample table.
  std::string Last(const std::string& columns, const std::string& table, const std::string& order) {
    return absl::StrCat(
        "SELECT ", columns, " FROM ", table,
        " t JOIN phase_overview p USING (run_id, phase, attempt) WHERE t.run_id = $1 ORDER BY ",
        order);
  }
  absl::Status LoadRun() {
    auto rows = Query(absl::StrCat("SELECT ", kRunColumns, " FROM runs r WHERE r.run_id = $1"));
    if (!rows.ok()) return rows.status();
    if (rows->rows() == 0) return absl::NotFoundError(absl::StrCat("no run ", run_id_));
    auto run = ReadRunRecord(*rows, 0);
    if (!run.ok()) return run.status();
    data_.run = *std::move(run);
    return absl::OkStatus();
  }

  absl::Status LoadWorkers() {
    auto rows = Query(
        absl::StrCat("SELECT ", kWorkerColumns, " FROM run_workers WHERE run_id = $1 ORDER BY 1"));
    if (!rows.ok()) return rows.status();
    for (int i = 0; i < rows->rows(); ++i) {
      auto worker = ReadRunWorker(*rows, i);
      if (!worker.ok()) return worker.status();
      data_.workers.push_back(*std::move(worker));
    }
    auto facts = Query("SELECT worker_index, name, value FROM environment_facts WHERE run_id = $1");
    if (!facts.ok()) return facts.status();
    for (int i = 0; i < facts->rows(); ++i) {
      data_.environment[static_cast<uint32_t>(facts->Int(i, "worker_index"))]
                       [facts->Text(i, "name")] = facts->Text(i, "value");
    }
    return absl::OkStatus();
  }

  absl::Status LoadPhases() {
    auto rows = Query(absl::StrCat("SELECT DISTINCT ON (phase) ", kPhaseColumns,
                                   " FROM phases WHERE run_id = $1 ORDER BY phase, attempt DESC"));
    if (!rows.ok()) return rows.status();
    for (int i = 0; i < rows->rows(); ++i) {
      auto record = ReadPhaseRecord(*rows, i, data_.run.job);
      if (!record.ok()) return record.status();
      data_.phases.push_back({*std::move(record), {}, {}});
    }
    // Every worker of an attempt has a cursor from its begin on (BeginPhase()), also one that was
    // lost before it had a result. The report thus has all workers.
    auto cursors =
        Query(Last("phase, worker_index, clock_offset_ns, clock_bound_ns", "cursors", "1, 2"));
    if (!cursors.ok()) return cursors.status();
    for (int i = 0; i < cursors->rows(); ++i) {
      measure::WorkerPhaseData& worker =
          phases_[cursors->Int(i, "phase")][cursors->Int(i, "worker_index")];
      worker.worker_index = static_cast<uint32_t>(cursors->Int(i, "worker_index"));
      worker.clock = {worker.worker_index, cursors->Int(i, "clock_offset_ns"),
                      cursors->Int(i, "clock_bound_ns")};
    }
    return absl::OkStatus();
  }

  absl::Status LoadResults() {
    auto rows = Query(Last("phase, worker_index, result", "worker_results", "1, 2"));
    if (!rows.ok()) return rows.status();
    for (int i = 0; i < rows->rows(); ++i) {
      measure::WorkerPhaseData& worker =
          phases_[rows->Int(i, "phase")][rows->Int(i, "worker_index")];
      worker.has_result = true;
      if (absl::Status status = FromJson(rows->Text(i, "result"), &worker.result); !status.ok()) {
        return status;
      }
    }
    return absl::OkStatus();
  }

  absl::Status LoadCounters() {
    auto rows = Query(
        Last("phase, worker_index, workload, interval_class, t.kind, operations, bytes, errors, "
             "short_transfers, latency_sum_ns, latency_min_ns, latency_max_ns, service_time, "
             "response_time, submission_latency",
             "phase_operations", "1, 2, 3, 4, 5"));
    if (!rows.ok()) return rows.status();
    for (int i = 0; i < rows->rows(); ++i) {
      v1::PhaseResult& result = phases_[rows->Int(i, "phase")][rows->Int(i, "worker_index")].result;
      v1::WorkloadResult* workload = nullptr;
      for (v1::WorkloadResult& w : *result.mutable_workloads()) {
        if (w.workload() == rows->Int(i, "workload")) workload = &w;
      }
      // Both were written in one transaction (WriteResults()), so that a row without its workload
      // is not from a controller. It must not fail the report.
      if (workload == nullptr) continue;
      v1::OperationCounters* c =
          measure::MutableCountersOf(workload,
                                     static_cast<v1::IntervalClass>(rows->Int(i, "interval_class")))
              ->Add();
      c->set_kind(static_cast<v1::OperationKind>(rows->Int(i, "kind")));
      c->set_operations(rows->UInt(i, "operations"));
      c->set_bytes(rows->UInt(i, "bytes"));
      c->set_errors(rows->UInt(i, "errors"));
      c->set_short_transfers(rows->UInt(i, "short_transfers"));
      c->set_latency_sum_ns(rows->UInt(i, "latency_sum_ns"));
      c->set_latency_min_ns(rows->UInt(i, "latency_min_ns"));
      c->set_latency_max_ns(rows->UInt(i, "latency_max_ns"));
      for (const auto& [metric, column] : kHistogramColumns) {
        if (rows->Null(i, column)) continue;
        auto encoded = EncodeNumber(rows->Text(i, column));
        if (!encoded.ok()) return encoded.status();
        v1::Histogram* histogram = c->add_histograms();
        histogram->set_metric(metric);
        histogram->set_scheme(common::kHistogramScheme);
        histogram->set_buckets(*std::move(encoded));
      }
    }
    return absl::OkStatus();
  }

  // Rows that no controller writes, of an imported archive, are left out: of other blocks, or
  // larger than a histogram can be.
  absl::Status LoadBlocks() {
    auto rows =
        Query(Last("phase, block, workload, t.kind, CASE WHEN octet_length(latencies) < 65536 THEN "
                   "encode(latencies, 'hex') END AS latencies",
                   "latency_blocks", "1, 2"));
    if (!rows.ok()) return rows.status();
    for (int i = 0; i < rows->rows(); ++i) {
      const int64_t block = rows->Int(i, "block");
      if (rows->Null(i, "latencies") || block < 0 ||
          block >= static_cast<int64_t>(measure::LatencyBlocks::kMaxBlocks)) {
        continue;
      }
      // Blocks in which no operation completed have no rows.
      auto& blocks = blocks_[static_cast<uint32_t>(rows->Int(i, "phase"))];
      if (static_cast<size_t>(block) >= blocks.size())
        blocks.resize(static_cast<size_t>(block) + 1);
      blocks[static_cast<size_t>(block)][{static_cast<uint32_t>(rows->Int(i, "workload")),
                                          static_cast<v1::OperationKind>(rows->Int(i, "kind"))}] =
          absl::HexStringToBytes(rows->Text(i, "latencies"));
    }
    return absl::OkStatus();
  }

  absl::Status LoadThreads() {
    auto rows =
        Query(Last("phase, worker_index, workload, thread, operations, bytes, errors, "
                   "execution_time_ns, wait_time_ns, fsync_time_ns, "
                   "rate_time_ns, cpu_time_ns, voluntary_context_switches, "
                   "involuntary_context_switches, think_time_ns",
                   "thread_results", "1, 2, 3, 4"));
    if (!rows.ok()) return rows.status();
    for (int i = 0; i < rows->rows(); ++i) {
      v1::ThreadResult* thread =
          phases_[rows->Int(i, "phase")][rows->Int(i, "worker_index")].result.add_threads();
      thread->set_workload(static_cast<uint32_t>(rows->Int(i, "workload")));
      thread->set_thread(static_cast<uint32_t>(rows->Int(i, "thread")));
      thread->set_operations(rows->UInt(i, "operations"));
      thread->set_bytes(rows->UInt(i, "bytes"));
      thread->set_errors(rows->UInt(i, "errors"));
      thread->set_execution_time_ns(rows->Int(i, "execution_time_ns"));
      thread->set_wait_time_ns(rows->Int(i, "wait_time_ns"));
      thread->set_fsync_time_ns(rows->Int(i, "fsync_time_ns"));
      thread->set_rate_time_ns(rows->Int(i, "rate_time_ns"));
      thread->set_cpu_time_ns(rows->Int(i, "cpu_time_ns"));
      thread->set_voluntary_context_switches(rows->UInt(i, "voluntary_context_switches"));
      thread->set_involuntary_context_switches(rows->UInt(i, "involuntary_context_switches"));
      thread->set_think_time_ns(rows->Int(i, "think_time_ns"));
    }
    return absl::OkStatus();
  }

  // Other runs whose targets lay on one of this run's devices, under the same kernel, while this
  // one was in progress. jsonb_array_elements() raises an error for anything but an array, and an
  // odd row of another run must not fail this run's report.
  absl::Status LoadConcurrent() {
    auto rows = Query(
        "SELECT DISTINCT w.boot_id || '/' || (t ->> 'deviceName') AS device, w.run_id FROM runs "
        "mine "
        "JOIN runs r ON r.run_id <> mine.run_id AND r.started_at < coalesce(mine.ended_at, now()) "
        "AND coalesce(r.ended_at, now()) > mine.started_at "
        "JOIN run_workers w ON w.run_id = r.run_id AND w.boot_id IN (SELECT boot_id FROM "
        "run_workers WHERE run_id = mine.run_id) "
        "CROSS JOIN LATERAL jsonb_array_elements(CASE jsonb_typeof(w.inspection -> 'targets') WHEN "
        "'array' THEN w.inspection -> 'targets' ELSE '[]' END) t "
        "WHERE mine.run_id = $1 AND coalesce(t ->> 'deviceName', '') <> '' LIMIT 1000");
    if (!rows.ok()) return rows.status();
    // The limit keeps a report small beside a run of weeks that overlaps with any number of others.
    for (int i = 0; i < rows->rows(); ++i) {
      data_.concurrent[rows->Text(i, "device")].push_back(rows->Text(i, "run_id"));
    }
    return rows->rows() == 0 ? absl::OkStatus() : LoadOtherSettings();
  }

  // The settings that these runs had changed: as their jobs ask for it, because a phase in progress
  // has told no result yet.
  absl::Status LoadOtherSettings() {
    std::set<std::string> others;
    for (const auto& [device, run_ids] : data_.concurrent) {
      others.insert(run_ids.begin(), run_ids.end());
    }
    google::protobuf::RepeatedPtrField<std::string> ids;
    for (const std::string& run_id : others) *ids.Add() = run_id;
    auto rows = connection_->Query(
        "SELECT p.run_id, coalesce(p.spec, r.spec -> 'phases' -> p.job_phase) AS phase_spec, "
        "coalesce((extract(epoch FROM p.go_at) * 1000000)::bigint * 1000, 0) AS from_ns, "
        "coalesce((extract(epoch FROM p.ended_at) * 1000000)::bigint * 1000, 0) AS until_ns "
        "FROM phases p JOIN runs r USING (run_id) WHERE p.run_id::text = ANY ($1) "
        "AND p.go_at IS NOT NULL AND coalesce(p.spec, r.spec -> 'phases' -> p.job_phase) "
        "-> 'run' ? 'environment' LIMIT 1000",
        {TextArray(ids)});
    if (!rows.ok()) return rows.status();
    for (int i = 0; i < rows->rows(); ++i) {
      v1::PhaseSpec spec;
      // A job that cannot be read is a fault of the other run.
      if (!FromJson(rows->Text(i, "phase_spec"), &spec).ok()) continue;
      data_.concurrent_settings.push_back({rows->Text(i, "run_id"), spec.run().environment(),
                                           rows->Int(i, "from_ns"), rows->Int(i, "until_ns")});
    }
    return absl::OkStatus();
  }

  absl::Status LoadEvents() {
    auto rows = Query(
        "SELECT to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"') AS at, "
        "severity, "
        "host, message FROM events WHERE run_id = $1 ORDER BY stored_at");
    if (!rows.ok()) return rows.status();
    for (int i = 0; i < rows->rows(); ++i) {
      v1::EventReport event;
      event.set_at(rows->Text(i, "at"));
      event.set_severity(rows->Text(i, "severity"));
      event.set_host(rows->Text(i, "host"));
      event.set_message(rows->Text(i, "message"));
      data_.events.push_back(std::move(event));
    }
    return absl::OkStatus();
  }

  PgConnection* connection_;
  const std::string run_id_;
  measure::RunData data_;
  std::map<uint32_t, std::map<uint32_t, measure::WorkerPhaseData>> phases_;
  std::map<uint32_t, std::vector<measure::EncodedLatencies>> blocks_;  // by phase
};

}  // namespace

absl::Status FromJson(const std::string& json, google::protobuf::Message* message) {
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;  // written by a newer version
  const auto status = JsonStringToMessage(json, message, options);
  // IsBroken() knows DATA_LOSS as a fault of this run alone; INTERNAL would fail the reading of all
  // runs.
  return status.ok() ? absl::OkStatus()
                     : absl::DataLossError(absl::StrCat("the store holds a broken document: ",
                                                        std::string(status.message())));
}

absl::StatusOr<measure::RunRecord> ReadRunRecord(const PgResult& rows, int row) {
  measure::RunRecord run;
  run.run_id = rows.Text(row, "run_id");
  if (absl::Status status = FromJson(rows.Text(row, "spec"), &run.job); !status.ok()) return status;
  run.source = rows.Text(row, "source");
  run.owner = rows.Text(row, "owner");
  const auto state = RunStateOf(rows.Text(row, "state"));
  if (!state.ok()) return state.status();
  run.state = *state;
  run.outcome = rows.Text(row, "outcome");
  run.degraded = rows.Bool(row, "degraded");
  run.seed = rows.UInt(row, "seed");
  run.submitted_at = rows.Text(row, "submitted_at");
  run.started_at = rows.Text(row, "started_at");
  run.ended_at = rows.Text(row, "ended_at");
  run.confirm = rows.Text(row, "confirm");
  return run;
}

absl::StatusOr<measure::RunWorker> ReadRunWorker(const PgResult& rows, int row) {
  measure::RunWorker worker;
  worker.worker_index = static_cast<uint32_t>(rows.Int(row, "worker_index"));
  worker.worker_id = rows.Text(row, "worker_id");
  worker.host_id = rows.Text(row, "host_id");
  worker.host = rows.Text(row, "host");
  worker.boot_id = rows.Text(row, "boot_id");
  if (absl::Status status = FromJson(rows.Text(row, "inspection"), &worker.inspection);
      !status.ok()) {
    return status;
  }
  return worker;
}

absl::StatusOr<measure::PhaseRecord> ReadPhaseRecord(const PgResult& rows, int row,
                                                     const v1::JobSpec& job) {
  measure::PhaseRecord phase;
  phase.phase = static_cast<uint32_t>(rows.Int(row, "phase"));
  phase.attempt = static_cast<uint32_t>(rows.Int(row, "attempt"));
  phase.name = rows.Text(row, "name");
  phase.kind = rows.Text(row, "kind");
  const auto state = PhaseStateOf(rows.Text(row, "state"));
  if (!state.ok()) return state.status();
  phase.state = *state;
  phase.reason = rows.Text(row, "reason");
  phase.interval_ns = rows.Int(row, "interval_ns");
  phase.ramp_ns = rows.Int(row, "ramp_ns");
  phase.go_ns = rows.Int(row, "go_ns");
  phase.job_phase = static_cast<uint32_t>(rows.Int(row, "job_phase"));
  phase.step = static_cast<uint32_t>(rows.Int(row, "step"));
  phase.go_wall_ns = rows.Int(row, "go_wall_ns");
  if (!rows.Null(row, "end_of_load"))
    phase.end_of_load = static_cast<uint32_t>(rows.Int(row, "end_of_load"));
  if (absl::Status status = FromJson(rows.Text(row, "figures"), &phase.figures); !status.ok()) {
    return status;
  }
  if (!rows.Null(row, "spec")) {
    if (absl::Status status = FromJson(rows.Text(row, "spec"), &phase.spec); !status.ok())
      return status;
  } else if (static_cast<int>(phase.phase) < job.phases_size()) {
    // Older versions stored no spec with a phase: it was the job's phase of the same number.
    phase.spec = job.phases(static_cast<int>(phase.phase));
  }
  return phase;
}

absl::StatusOr<measure::RunData> LoadRunData(PgConnection* connection, const std::string& run_id) {
  return Loader(connection, run_id).Load();
}

}  // namespace lockstep::storage
