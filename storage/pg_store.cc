#include "storage/pg_store.h"

#include <algorithm>
#include <limits>
#include <set>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/time/time.h"
#include "common/limits.h"
#include "common/log.h"
#include "common/mutex.h"
#include "proto/defaults.h"
#include "storage/conninfo.h"
#include "storage/ingest.h"
#include "storage/migrate.h"
#include "storage/pg_lease.h"
#include "storage/sql_values.h"

namespace lockstep::storage {
namespace {

// ABORTED unless the store's epoch is `epoch`. FOR SHARE makes a new epoch wait until this
// transaction ends, while transactions of the same controller do not wait for each other.
absl::Status CheckEpoch(PgConnection* connection, uint64_t epoch) {
  auto current = connection->Query("SELECT epoch, holder FROM controller_epoch FOR SHARE");
  if (!current.ok()) return current.status();
  if (current->UInt(0, "epoch") == epoch) return absl::OkStatus();
  return absl::AbortedError(
      absl::StrCat("this controller (epoch ", epoch, ") was replaced by the one at ",
                   current->Text(0, "holder"), " (epoch ", current->UInt(0, "epoch"), ")"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<PgStore>> PgStore::Open(Options options) {
  if (options.reader_conninfo.empty()) {
    auto reader = DeriveReaderConninfo(options.conninfo);
    if (!reader.ok()) return reader.status();
    options.reader_conninfo = *reader;
  }
  std::unique_ptr<PgStore> store(new PgStore(std::move(options)));
  auto lease = store->Connect();
  if (!lease.ok()) {
    return absl::UnavailableError(
        absl::StrCat("the store cannot be reached: ", std::string(lease.status().message()),
                     "; is the server running, and does --store name it?"));
  }
  auto version = (*lease)->Query("SHOW server_version_num");
  if (!version.ok()) return version.status();
  if (version->Int(0, "server_version_num") < 150000) {
    return absl::FailedPreconditionError(absl::StrCat("the store is PostgreSQL ",
                                                      version->Int(0, "server_version_num") / 10000,
                                                      "; Lockstep needs 15 or newer"));
  }
  // Without the lock's table no controller can be active, so a standby may migrate, too.
  auto lock = (*lease)->Query("SELECT to_regclass('lockstep.controller_lock') IS NULL AS missing");
  if (!lock.ok()) return lock.status();
  if (store->options_.migrates || lock->Bool(0, "missing")) {
    if (absl::Status status = Migrate(lease->get()); !status.ok()) return status;
  }
  return store;
}

absl::Status PgStore::BringUpToDate() {
  auto lease = Connect();
  return lease.ok() ? Migrate(lease->get()) : lease.status();
}

absl::StatusOr<PgStore::Lease> PgStore::Connect() { return Connect(options_.change_limit); }

absl::StatusOr<PgStore::Lease> PgStore::Connect(absl::Duration limit) {
  const Patience patience{limit, &given_up_};
  bool is_probe = false;
  {
    common::MutexLock lock(&mutex_);
    if (silent_ && probing_) return absl::UnavailableError("PostgreSQL does not answer");
    is_probe = probing_ = silent_;
    if (!idle_.empty()) {
      std::unique_ptr<PgConnection> connection = std::move(idle_.back());
      idle_.pop_back();
      connection->BePatient(patience);
      return Lease(this, std::move(connection), is_probe);
    }
  }
  auto opened = PgConnection::Open(options_.conninfo, patience);
  if (opened.ok()) return Lease(this, *std::move(opened), is_probe);
  common::MutexLock lock(&mutex_);
  silent_ = true;
  if (is_probe) probing_ = false;
  return opened.status();
}

absl::Status PgStore::Transaction(absl::Duration limit,
                                  const std::function<absl::Status(PgConnection*)>& body) {
  auto lease = Connect(limit);
  if (!lease.ok()) return lease.status();
  // The server cancels a statement before this side gives up on it, unless the server hangs.
  // SET LOCAL ends with the transaction, so that the connection returns to the pool without this
  // limit. Both statements go in one message, which saves a round trip.
  const std::string begin = absl::StrCat("BEGIN; SET LOCAL statement_timeout = ",
                                         absl::ToInt64Milliseconds(limit * 3 / 4));
  if (absl::Status status = (*lease)->Execute(begin); !status.ok()) return status;
  absl::Status status = epoch_ == 0 ? absl::OkStatus() : CheckEpoch(lease->get(), epoch_);
  if (status.ok()) status = body(lease->get());
  if (!status.ok()) {
    // If this fails, too, the connection is not idle, and the lease closes it.
    (void)(*lease)->Execute("ROLLBACK");
    return status;
  }
  // If the answer to this is lost, the change may have been made. The callers repeat it, and Store
  // says what that means.
  return (*lease)->Execute("COMMIT");
}

absl::Status PgStore::Run(const std::string& sql, const std::vector<PgParam>& parameters) {
  return Transaction(
      [&](PgConnection* connection) { return connection->Query(sql, parameters).status(); });
}

absl::StatusOr<uint64_t> PgStore::AcquireEpoch(const std::string& holder) {
  uint64_t epoch = 0;
  // The UPDATE replaces the epoch: this transaction must not check for the old one.
  epoch_ = 0;
  const absl::Status status = Transaction([&](PgConnection* connection) -> absl::Status {
    auto raised = connection->Query(
        "UPDATE controller_epoch SET epoch = epoch + 1, holder = $1, since = now() RETURNING epoch",
        {holder});
    if (!raised.ok()) return raised.status();
    epoch = raised->UInt(0, "epoch");
    // A run that starts in this month or the next then finds its partitions.
    return connection->Execute("SELECT ensure_partitions(now(), now() + interval '1 month')");
  });
  if (!status.ok()) return status;
  epoch_ = epoch;
  return epoch;
}

absl::Status PgStore::StillActive() {
  // The transaction does nothing, but it checks the epoch.
  return Transaction([](PgConnection*) { return absl::OkStatus(); });
}

absl::StatusOr<std::string> PgStore::StoreId() {
  auto lease = Connect();
  if (!lease.ok()) return lease.status();
  auto rows = (*lease)->Query("SELECT store_id FROM controller_epoch");
  if (!rows.ok()) return rows.status();
  return rows->Text(0, "store_id");
}

absl::StatusOr<std::string> PgStore::Secret(const std::string& fresh) {
  std::string secret;
  const absl::Status status = Transaction([&](PgConnection* connection) -> absl::Status {
    auto made =
        connection->Query("INSERT INTO store_secret (secret) VALUES ($1) ON CONFLICT DO NOTHING",
                          {absl::BytesToHexString(fresh)});
    if (!made.ok()) return made.status();
    // RETURNING has no row where the INSERT did nothing. The secret that the first controller made
    // stands, whatever `fresh` is.
    auto rows = connection->Query("SELECT secret FROM store_secret");
    if (!rows.ok()) return rows.status();
    secret = absl::HexStringToBytes(rows->Text(0, "secret"));
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  if (secret.size() != fresh.size()) {
    return absl::FailedPreconditionError(
        "the store's secret (table store_secret) was changed by hand; marks and tokens that it "
        "signed cannot be checked");
  }
  return secret;
}

void PgStore::GuardReader() {
  std::string problem;
  const absl::Status status = Transaction([&](PgConnection* connection) -> absl::Status {
    // The role's statement_timeout ends a statement first. A session may change its own timeout,
    // and the server's function ends such a session a minute later.
    auto rows = connection->Query("SELECT guard_reader($1) AS problem",
                                  {absl::StrCat(limits::kReaderSeconds + 60)});
    if (rows.ok()) problem = rows->Text(0, "problem");
    return rows.status();
  });
  // The store is unavailable, which its other users report.
  if (IsTransient(status) || absl::IsAborted(status)) return;
  if (!status.ok()) problem = std::string(status.message());
  common::MutexLock lock(&mutex_);
  if (problem == reader_problem_) return;
  reader_problem_ = problem;
  if (problem.empty()) {
    log::Info("the role lockstep_reader is guarded again");
  } else {
    log::Warn("the role lockstep_reader is not guarded: {}; see docs/reference/security.md",
              problem);
  }
}

absl::Status PgStore::EnsurePartitions(PgConnection* connection, int64_t first_ns,
                                       int64_t last_ns) {
  const auto month = [](int64_t ns) {
    return absl::FormatTime("%Y-%m", absl::FromUnixNanos(ns), absl::UTCTimeZone());
  };
  const std::string first = month(first_ns);
  const std::string last = month(last_ns);
  {
    common::MutexLock lock(&mutex_);
    // Both ends are there: the months between were made with them, or are not this run's.
    if (months_.contains(first) && months_.contains(last)) return absl::OkStatus();
  }
  return connection->Query("SELECT ensure_partitions($1, $2)", {Utc(first_ns), Utc(last_ns)})
      .status();
}

absl::Status PgStore::Enqueue(const measure::RunRecord& run) {
  const absl::Status status = Transaction([&](PgConnection* connection) -> absl::Status {
    return connection
        ->Query(
            "INSERT INTO runs (run_id, job, spec, source, owner, labels, state, seed, confirm) "
            "VALUES ($1, $2, $3, $4, $5, $6, 'queued', $7, $8)",
            {run.run_id, run.job.name(), Json(run.job), run.source, run.owner,
             JsonObject(run.job.labels()), absl::StrCat(run.seed), run.confirm})
        .status();
  });
  // An earlier call, whose answer was lost, has added the run. If its transaction was still in
  // progress, the INSERT has waited for its end.
  return absl::IsAlreadyExists(status) ? absl::OkStatus() : status;
}

absl::StatusOr<std::vector<measure::RunRecord>> PgStore::Queue() {
  auto lease = Connect();
  if (!lease.ok()) return lease.status();
  auto rows = (*lease)->Query(
      absl::StrCat("SELECT ", kRunColumns,
                   ", coalesce(r.ending_reason, '') AS ending_reason FROM runs r WHERE "
                   "r.state = 'queued' ORDER BY r.submitted_at, r.run_id"));
  if (!rows.ok()) return rows.status();
  std::vector<measure::RunRecord> queue;
  UnreadableRuns unreadable;
  for (int i = 0; i < rows->rows(); ++i) {
    auto run = ReadRunRecord(*rows, i);
    if (!run.ok()) {
      unreadable[rows->Text(i, "run_id")] = std::string(run.status().message());
      continue;
    }
    v1::FillDefaults(&run->job);  // of a job that an older version took
    run->outcome = rows->Text(i, "ending_reason");
    queue.push_back(*std::move(run));
  }
  if (absl::Status status = EndUnreadable(unreadable); !status.ok()) return status;
  return queue;
}

absl::Status PgStore::EndUnreadable(const UnreadableRuns& unreadable) {
  for (const auto& unread : unreadable) {
    const std::string& run_id = unread.first;
    const std::string outcome = absl::StrCat("quarantined: ", unread.second);
    log::Error("run {} is {}; the others go on", run_id, outcome);
    const absl::Status status = Transaction([&](PgConnection* connection) -> absl::Status {
      auto ended = connection->Query(
          "UPDATE runs SET state = 'failed', outcome = $2, ended_at = now() WHERE run_id = $1 AND "
          "state IN ('queued', 'running')",
          {run_id, outcome});
      if (!ended.ok()) return ended.status();
      auto lost = connection->Query(
          // A worker that was lost before keeps its reason and its own quarantine.
          "UPDATE run_workers SET lost = $2, quarantine_ns = $3 WHERE run_id = $1 AND lost IS NULL",
          {run_id, outcome, absl::StrCat(limits::kDefaultQuarantineNs)});
      if (!lost.ok()) return lost.status();
      return connection
          ->Query(
              "INSERT INTO events (run_id, severity, host, message, at) VALUES ($1, 'error', '', "
              "$2, now())",
              {run_id, outcome})
          .status();
    });
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status PgStore::StartRun(const std::string& run_id,
                               const std::vector<measure::RunWorker>& workers) {
  return Transaction([&](PgConnection* connection) -> absl::Status {
    auto started = connection->Query(
        "UPDATE runs SET state = 'running', started_at = now() WHERE run_id = $1 AND state = "
        "'queued'",
        {run_id});
    if (!started.ok()) return started.status();
    if (started->affected() != 1) {
      auto known = connection->Query(
          "SELECT 1 FROM runs r JOIN run_workers USING (run_id) WHERE run_id = $1 AND state = "
          "'running'",
          {run_id});
      // An earlier call, whose answer was lost, has started the run.
      if (!known.ok() || known->rows() != 0) return known.status();
      return absl::FailedPreconditionError(absl::StrCat("run ", run_id, " is not queued any more"));
    }
    CopyRows members;
    CopyRows facts;
    CopyRows targets_of;
    for (const measure::RunWorker& w : workers) {
      // Facts and devices have tables of their own, where SQL finds them. A host may have thousands
      // of devices, and every run would store them again.
      v1::Inspection targets = w.inspection;
      targets.clear_facts();
      v1::Hello hello = w.hello;
      hello.clear_devices();
      members.Add(run_id)
          .Add(w.worker_index)
          .Add(w.worker_id)
          .Add(w.host_id)
          .Add(w.host)
          .Add(w.boot_id)
          .Add(Json(targets))
          .Add(Json(hello))
          .EndRow();
      for (const v1::TargetInspection& target : w.inspection.targets()) {
        targets_of.Add(run_id)
            .Add(w.worker_index)
            .Add(target.target())
            .Add(target.paths_size() > 0 ? target.paths(0) : "")
            .Add(target.device_name())
            .Add(target.device_identity())
            .Add(target.filesystem())
            .EndRow();
      }
      for (const auto& [name, value] : w.inspection.facts()) {
        facts.Add(run_id).Add(w.worker_index).Add(name).Add(value).EndRow();
      }
    }
    if (absl::Status status =
            connection->Copy("COPY run_workers (run_id, worker_index, worker_id, host_id, host, "
                             "boot_id, inspection, hello) FROM STDIN",
                             members.rows());
        !status.ok()) {
      return status;
    }
    for (const auto& [table, rows] :
         {std::pair("run_targets", &targets_of), std::pair("environment_facts", &facts)}) {
      if (rows->empty()) continue;
      const absl::Status status =
          connection->Copy(absl::StrCat("COPY ", table, " FROM STDIN"), rows->rows());
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  });
}

absl::StatusOr<std::vector<ActiveRun>> PgStore::Active() {
  auto lease = Connect(kWholeRunLimit);
  if (!lease.ok()) return lease.status();
  UnreadableRuns unreadable;
  auto active = LoadActive(lease->get(), &unreadable);
  if (!active.ok()) return active;
  if (absl::Status status = EndUnreadable(unreadable); !status.ok()) return status;
  return active;
}

absl::StatusOr<std::vector<Quarantine>> PgStore::Quarantines() {
  auto lease = Connect();
  if (!lease.ok()) return lease.status();
  return LoadHeld(lease->get());
}

absl::Status PgStore::SetLost(const std::string& run_id, uint32_t worker_index,
                              const std::string& reason, int64_t quarantine_ns) {
  return Run(
      "UPDATE run_workers SET lost = $3, quarantine_ns = $4 WHERE run_id = $1 AND worker_index = "
      "$2",
      {run_id, absl::StrCat(worker_index), reason,
       quarantine_ns == 0 ? PgParam() : PgParam(absl::StrCat(quarantine_ns))});
}

absl::Status PgStore::SetBack(const std::string& run_id, uint32_t worker_index) {
  return Run(
      "UPDATE run_workers SET lost = NULL, quarantine_ns = NULL WHERE run_id = $1 AND worker_index "
      "= $2",
      {run_id, absl::StrCat(worker_index)});
}

absl::Status PgStore::ReleaseQuarantine(const std::string& worker_id) {
  return Run(
      "UPDATE run_workers SET quarantine_ns = NULL WHERE worker_id = $1 AND quarantine_ns IS NOT "
      "NULL",
      {worker_id});
}

absl::Status PgStore::SetEnding(const std::string& run_id, measure::RunState state,
                                const std::string& reason, measure::Cleanup cleanup) {
  return Run(
      "UPDATE runs SET ending_state = $2, ending_reason = $3, skip_cleanup = $4 WHERE run_id = $1",
      {run_id, Text(state), reason, cleanup == measure::Cleanup::kSkip ? "true" : "false"});
}

absl::Status PgStore::ReadIntervals(const v1::PhaseId& phase, IntervalDetail detail,
                                    const TakeInterval& take) {
  auto lease = Connect(kWholeRunLimit);
  if (!lease.ok()) return lease.status();
  // As in LoadRun(), a lack of memory in the server is not reported as an outage that passes.
  const absl::Status status = StreamIntervals(lease->get(), phase, detail, take);
  return absl::IsResourceExhausted(status) ? absl::FailedPreconditionError(status.message())
                                           : status;
}

absl::Status PgStore::EndRun(const std::string& run_id, const RunEnd& end) {
  return Run(
      "UPDATE runs SET state = $2, outcome = $3, degraded = $4, ended_at = now() WHERE run_id = $1",
      {run_id, Text(end.state), end.outcome, end.degraded ? "true" : "false"});
}

absl::Status PgStore::AddEvent(const std::string& run_id, measure::Severity severity,
                               const std::string& host, const std::string& message,
                               int64_t at_wall_ns) {
  return Run("INSERT INTO events (run_id, severity, host, message, at) VALUES ($1, $2, $3, $4, $5)",
             {run_id.empty() ? PgParam() : PgParam(run_id), Text(severity), host, message,
              Utc(at_wall_ns)});
}

absl::StatusOr<uint64_t> PgStore::Cursor(const v1::PhaseId& phase, uint32_t worker_index) {
  auto lease = Connect();
  if (!lease.ok()) return lease.status();
  auto rows = (*lease)->Query(
      "SELECT sequence FROM cursors WHERE run_id = $1 AND phase = $2 AND attempt = $3 AND "
      "worker_index = $4",
      {phase.run_id(), absl::StrCat(phase.phase()), absl::StrCat(phase.attempt()),
       absl::StrCat(worker_index)});
  if (!rows.ok()) return rows.status();
  if (rows->rows() == 0) return absl::NotFoundError("no such phase of this worker");
  return rows->UInt(0, "sequence");
}

absl::StatusOr<std::string> PgStore::ResolveRun(const std::string& text) {
  if (text.empty()) return absl::InvalidArgumentError("no run is named");
  auto lease = Connect();
  if (!lease.ok()) return lease.status();
  auto rows =
      text == "last"
          ? (*lease)->Query("SELECT last_run() AS run_id")
          // With LIKE, % and _ of the caller's text would be wildcards. Two rows are enough to see
          // that a text is ambiguous.
          : (*lease)->Query("SELECT run_id FROM runs WHERE starts_with(run_id::text, $1) LIMIT 2",
                            {text});
  if (!rows.ok()) return rows.status();
  if (rows->rows() == 0 || rows->Null(0, "run_id")) {
    return absl::NotFoundError(text == "last"
                                   ? "there is no run yet"
                                   : absl::StrCat("no run's id begins with '", text, "'"));
  }
  if (rows->rows() > 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("several runs' ids begin with '", text, "'; write more of it"));
  }
  return rows->Text(0, "run_id");
}

absl::StatusOr<measure::RunRecord> PgStore::GetRun(const std::string& run_id) {
  auto lease = Connect();
  if (!lease.ok()) return lease.status();
  auto rows = (*lease)->Query(
      absl::StrCat("SELECT ", kRunColumns, " FROM runs r WHERE r.run_id = $1"), {run_id});
  if (!rows.ok()) return rows.status();
  if (rows->rows() == 0) return absl::NotFoundError(absl::StrCat("no run ", run_id));
  return ReadRunRecord(*rows, 0);
}

absl::StatusOr<measure::RunData> PgStore::LoadRun(const std::string& run_id) {
  auto lease = Connect(kWholeRunLimit);
  if (!lease.ok()) return lease.status();
  auto data = LoadRunData(lease->get(), run_id);
  // A server that has no memory for this run will not have it soon. RESOURCE_EXHAUSTED would count
  // as an outage (IsTransient()).
  if (absl::IsResourceExhausted(data.status())) {
    return absl::FailedPreconditionError(data.status().message());
  }
  return data;
}

}  // namespace lockstep::storage
