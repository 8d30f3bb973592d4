// The reads of a controller about the runs of the one that it replaces.

#include <map>

#include "absl/strings/str_cat.h"
#include "proto/defaults.h"
#include "storage/pg_store.h"
#include "storage/sql_values.h"

namespace lockstep::storage {
namespace {

std::vector<PgParam> Key(const std::string& run_id, const measure::PhaseRecord& phase) {
  return {run_id, absl::StrCat(phase.phase), absl::StrCat(phase.attempt)};
}

absl::Status LoadWorkers(PgConnection* connection, ActiveRun* active) {
  auto rows = connection->Query(absl::StrCat("SELECT ", kWorkerColumns,
                                             ", hello, lost IS NOT NULL AS lost FROM run_workers "
                                             "WHERE run_id = $1 ORDER BY 1"),
                                {active->run.run_id});
  if (!rows.ok()) return rows.status();
  for (int i = 0; i < rows->rows(); ++i) {
    auto worker = ReadRunWorker(*rows, i);
    if (!worker.ok()) return worker.status();
    if (absl::Status status = FromJson(rows->Text(i, "hello"), &worker->hello); !status.ok()) {
      return status;
    }
    worker->lost = rows->Bool(i, "lost");
    active->workers.push_back(*std::move(worker));
  }
  return absl::OkStatus();
}

absl::Status LoadLeftContents(PgConnection* connection, ActiveRun* active) {
  auto started =
      connection->Query("SELECT phase, attempt FROM phases WHERE run_id = $1 AND go_ns IS NOT NULL",
                        {active->run.run_id});
  if (!started.ok()) return started.status();
  for (int i = 0; i < started->rows(); ++i) {
    active->started.emplace(static_cast<uint32_t>(started->Int(i, "phase")),
                            static_cast<uint32_t>(started->Int(i, "attempt")));
  }
  auto rows = connection->Query(
      // Results of all attempts are read. Only this part of each leaves the server, because the
      // rest can be large.
      "SELECT phase, attempt, worker_index, jsonb_build_object('leftContents', result -> "
      "'leftContents') AS result FROM worker_results WHERE run_id = $1 AND result ? 'leftContents'",
      {active->run.run_id});
  if (!rows.ok()) return rows.status();
  for (int i = 0; i < rows->rows(); ++i) {
    const std::pair attempt(static_cast<uint32_t>(rows->Int(i, "phase")),
                            static_cast<uint32_t>(rows->Int(i, "attempt")));
    v1::PhaseResult& result =
        active->left_contents[attempt][static_cast<uint32_t>(rows->Int(i, "worker_index"))];
    if (absl::Status status = FromJson(rows->Text(i, "result"), &result); !status.ok())
      return status;
  }
  return absl::OkStatus();
}

absl::Status LoadPhases(PgConnection* connection, ActiveRun* active) {
  // An attempt that came to nothing is followed by another one: the last one of a phase is what
  // counts.
  auto rows =
      connection->Query(absl::StrCat("SELECT DISTINCT ON (phase) ", kPhaseColumns,
                                     " FROM phases WHERE run_id = $1 ORDER BY phase, attempt DESC"),
                        {active->run.run_id});
  if (!rows.ok()) return rows.status();
  if (rows->rows() == 0) return absl::OkStatus();
  for (int i = 0; i < rows->rows(); ++i) {
    auto record = ReadPhaseRecord(*rows, i, active->run.job);
    if (!record.ok()) return record.status();
    active->phase = *std::move(record);
    const measure::PhaseState state = active->phase.state;
    if (IsOver(state)) active->ended.push_back(active->phase);
  }
  // The rows come in order of the phases: what the loop leaves is the phase that the run has
  // reached.
  const measure::PhaseRecord& phase = active->phase;
  active->go_wall_ns = phase.go_wall_ns;
  auto cursors = connection->Query(
      "SELECT worker_index, clock_offset_ns, clock_bound_ns, sequence FROM cursors WHERE run_id = "
      "$1 AND phase = $2 AND attempt = $3",
      Key(active->run.run_id, phase));
  if (!cursors.ok()) return cursors.status();
  for (int i = 0; i < cursors->rows(); ++i) {
    const auto worker = static_cast<uint32_t>(cursors->Int(i, "worker_index"));
    active->clocks.push_back(
        {worker, cursors->Int(i, "clock_offset_ns"), cursors->Int(i, "clock_bound_ns")});
    active->cursors[worker] = cursors->UInt(i, "sequence");
  }
  // A cursor counts all of a worker's items, reports of written blocks among them. Their number is
  // needed to tell how many intervals the store has; a successor that took the cursor for that
  // refused the next sample.
  auto blocks = connection->Query(
      "SELECT worker_index, count(*) AS items FROM block_writes WHERE run_id = $1 AND phase = $2 "
      "AND "
      "attempt = $3 GROUP BY worker_index",
      Key(active->run.run_id, phase));
  if (!blocks.ok()) return blocks.status();
  for (int i = 0; i < blocks->rows(); ++i) {
    active->block_items[static_cast<uint32_t>(blocks->Int(i, "worker_index"))] =
        blocks->UInt(i, "items");
  }
  auto results = connection->Query(
      // Only what a successor needs leaves the server, because the rest of a result can be large.
      "SELECT worker_index, error, result ->> 'order' AS stop_order FROM worker_results WHERE "
      "run_id = $1 AND "
      "phase = $2 AND attempt = $3",
      Key(active->run.run_id, phase));
  if (!results.ok()) return results.status();
  for (int i = 0; i < results->rows(); ++i) {
    active->results[static_cast<uint32_t>(results->Int(i, "worker_index"))] =
        results->Text(i, "error");
    if (results->Null(i, "stop_order")) continue;
    absl::Status status = FromJson(results->Text(i, "stop_order"), &active->orders.emplace_back());
    if (!status.ok()) return status;
  }
  return LoadLeftContents(connection, active);
}

// The row'th run in progress. IsBroken() when one of its rows holds what no controller wrote.
absl::StatusOr<ActiveRun> ReadActive(PgConnection* connection, const PgResult& rows, int row) {
  ActiveRun active;
  auto run = ReadRunRecord(rows, row);
  if (!run.ok()) return run.status();
  active.run = *std::move(run);
  v1::FillDefaults(&active.run.job);  // of a job that an older version took
  // How the run is to end, if that was decided. A text that cannot be read is an error: as "not
  // decided" it would let a run go on that was being stopped.
  if (const std::string ending = rows.Text(row, "ending_state"); !ending.empty()) {
    const auto state = RunStateOf(ending);
    if (!state.ok()) return state.status();
    active.ending_state = *state;
  }
  active.ending_reason = rows.Text(row, "ending_reason");
  active.skip_cleanup = rows.Bool(row, "skip_cleanup");
  if (absl::Status status = LoadWorkers(connection, &active); !status.ok()) return status;
  if (absl::Status status = LoadPhases(connection, &active); !status.ok()) return status;
  return active;
}

}  // namespace

absl::StatusOr<std::vector<ActiveRun>> LoadActive(PgConnection* connection,
                                                  UnreadableRuns* unreadable) {
  auto rows = connection->Query(
      absl::StrCat("SELECT ", kRunColumns,
                   ", r.ending_state, r.ending_reason, r.skip_cleanup "
                   "FROM runs r WHERE r.state = 'running' ORDER BY r.submitted_at, r.run_id"));
  if (!rows.ok()) return rows.status();
  std::vector<ActiveRun> list;
  for (int i = 0; i < rows->rows(); ++i) {
    auto active = ReadActive(connection, *rows, i);
    if (IsBroken(active.status())) {
      (*unreadable)[rows->Text(i, "run_id")] = std::string(active.status().message());
      continue;
    }
    if (!active.ok()) return active.status();
    list.push_back(*std::move(active));
  }
  return list;
}

absl::StatusOr<std::vector<Quarantine>> LoadHeld(PgConnection* connection) {
  auto rows = connection->Query(
      "SELECT w.run_id, w.worker_id, w.host, r.spec, w.inspection, w.quarantine_ns FROM "
      "run_workers w "
      "JOIN runs r USING (run_id) WHERE w.quarantine_ns IS NOT NULL");
  if (!rows.ok()) return rows.status();
  std::vector<Quarantine> list;
  for (int i = 0; i < rows->rows(); ++i) {
    Quarantine held;
    held.run_id = rows->Text(i, "run_id");
    held.worker_id = rows->Text(i, "worker_id");
    held.host = rows->Text(i, "host");
    absl::Status status = FromJson(rows->Text(i, "spec"), &held.job);
    if (status.ok()) status = FromJson(rows->Text(i, "inspection"), &held.inspection);
    if (!status.ok()) {
      // The documents say what the worker may still write to. Without them everything must be taken
      // for it, never nothing.
      held.is_unknown = true;
      held.job.Clear();
      held.inspection.Clear();
    }
    held.quarantine_ns = rows->Int(i, "quarantine_ns");
    list.push_back(std::move(held));
  }
  return list;
}

}  // namespace lockstep::storage
