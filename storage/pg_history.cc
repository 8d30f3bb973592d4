// Queries about runs that have ended, and changes to them.

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "storage/archive.h"
#include "storage/pg_lease.h"
#include "storage/pg_store.h"
#include "storage/sql_values.h"

namespace lockstep::storage {

absl::StatusOr<std::vector<std::string>> PgStore::WithoutFigures(uint32_t max_runs) {
  auto lease = Connect();
  if (!lease.ok()) return lease.status();
  auto rows = (*lease)->Query(
      "SELECT run_id FROM runs WHERE (figures_version < $1 OR saved_report IS NULL) AND state NOT "
      "IN ('queued', 'running') AND samples_pruned_at IS NULL "
      "ORDER BY submitted_at DESC, run_id DESC LIMIT $2",
      {absl::StrCat(kFiguresVersion), absl::StrCat(max_runs)});
  if (!rows.ok()) return rows.status();
  std::vector<std::string> runs;
  for (int i = 0; i < rows->rows(); ++i) runs.push_back(rows->Text(i, "run_id"));
  return runs;
}

absl::StatusOr<v1::HistoryReply> PgStore::History(const v1::HistoryRequest& request) {
  auto lease = Connect();
  if (!lease.ok()) return lease.status();
  return ListRuns(lease->get(), request);
}

absl::StatusOr<std::vector<v1::RunFigures>> PgStore::Figures(
    const std::vector<std::string>& run_ids) {
  auto lease = Connect(kWholeRunLimit);
  if (!lease.ok()) return lease.status();
  return LoadFigures(lease->get(), run_ids);
}

absl::StatusOr<v1::LabelsReply> PgStore::SetLabels(const std::string& run_id,
                                                   const v1::LabelsRequest& change) {
  v1::LabelsReply reply;
  const absl::Status status = Transaction([&](PgConnection* connection) -> absl::Status {
    auto changed = connection->Query(
        // Labels are removed before others are set: a label that stands in both lists is set. One
        // statement needs no lock against a change by somebody else.
        "UPDATE runs SET labels = (labels - $2::text[]) || $3::jsonb WHERE run_id = $1 RETURNING "
        "labels",
        {run_id, TextArray(change.removed_labels()), JsonObject(change.labels())});
    if (!changed.ok()) return changed.status();
    if (changed->rows() == 0) return absl::NotFoundError(absl::StrCat("no run ", run_id));
    return FromJson(absl::StrCat("{\"labels\":", changed->Text(0, "labels"), "}"), &reply);
  });
  if (!status.ok()) return status;
  reply.set_run_id(run_id);
  return reply;
}

absl::StatusOr<v1::PruneReply> PgStore::Prune(const v1::PruneRequest& request,
                                              const MakeReport& report_of) {
  // Runs of one transaction, which deletes all their samples. With samples_only the reports of
  // these runs are held in memory as well, so it is one run at a time.
  const int kAtOnce = request.samples_only() && !request.dry_run() ? 1 : 50;
  constexpr int kShown = 10;
  v1::PruneReply reply;
  while (true) {
    auto lease = Connect(kWholeRunLimit);
    if (!lease.ok()) return lease.status();
    const auto next = ListToPrune(lease->get(), request, kAtOnce);
    if (!next.ok()) return next.status();
    std::vector<v1::Report> reports;
    for (const v1::RunSummary& run : next->runs) {
      if (reply.oldest_size() < kShown) *reply.add_oldest() = run;
      if (!request.samples_only() || request.dry_run()) continue;
      // The report is made before the transaction that deletes its samples, on another connection:
      // it may take longer than locks should be held.
      auto report = report_of(run.run_id());
      if (!report.ok()) return report.status();
      reports.push_back(*std::move(report));
    }
    if (request.dry_run()) {
      reply.set_runs(next->total);
      return reply;
    }
    const absl::Status status = Transaction(kWholeRunLimit, [&](PgConnection* connection) {
      return PruneRuns(connection, next->runs, reports);
    });
    if (!status.ok()) return status;
    reply.set_runs(reply.runs() + static_cast<double>(next->runs.size()));
    if (!request.samples_only()) {
      for (const v1::RunSummary& run : next->runs) reply.add_removed_run_ids(run.run_id());
    }
    if (next->runs.size() < static_cast<size_t>(kAtOnce)) return reply;
  }
}

absl::StatusOr<std::optional<v1::Report>> PgStore::KeptReport(const std::string& run_id) {
  auto lease = Connect();
  if (!lease.ok()) return lease.status();
  auto rows = (*lease)->Query("SELECT encode(report, 'hex') AS report FROM runs WHERE run_id = $1",
                              {run_id});
  if (!rows.ok()) return rows.status();
  if (rows->rows() == 0 || rows->Null(0, "report")) return std::nullopt;
  v1::Report report;
  if (!report.ParseFromString(absl::HexStringToBytes(rows->Text(0, "report")))) {
    return absl::DataLossError(absl::StrCat("the kept report of run ", run_id, " is broken"));
  }
  return report;
}

absl::StatusOr<std::optional<v1::Report>> PgStore::SavedReport(const std::string& run_id) {
  auto lease = Connect();
  if (!lease.ok()) return lease.status();
  auto rows = (*lease)->Query(
      // A report that another version saved may lack what this version shows. It counts as not
      // saved.
      "SELECT encode(saved_report, 'hex') AS report, labels, samples_pruned_at IS NOT NULL AS "
      "pruned FROM runs WHERE "
      "run_id = $1 AND figures_version = $2 AND saved_report IS NOT NULL",
      {run_id, absl::StrCat(kFiguresVersion)});
  if (!rows.ok()) return rows.status();
  if (rows->rows() == 0) return std::nullopt;
  v1::Report report;
  if (!report.ParseFromString(absl::HexStringToBytes(rows->Text(0, "report")))) {
    return absl::DataLossError(absl::StrCat("the saved report of run ", run_id, " is broken"));
  }
  // Labels can change after the report was saved (SetLabels()): the column has the current ones.
  v1::RunSummary labelled;
  if (absl::Status status =
          FromJson(absl::StrCat("{\"labels\":", rows->Text(0, "labels"), "}"), &labelled);
      !status.ok()) {
    return status;
  }
  *report.mutable_run()->mutable_labels() = labelled.labels();
  report.set_samples_pruned(rows->Bool(0, "pruned"));
  return report;
}

absl::Status PgStore::ExportRun(const std::string& run_id, const PutPart& put) {
  auto lease = Connect(kTransferLimit);
  if (!lease.ok()) return lease.status();
  // All tables are read in one snapshot: SaveReport() may replace a run's figures between two of
  // them.
  absl::Status status = (*lease)->Execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
  if (!status.ok()) return status;
  // A caller that goes away is no outage of the server. The transaction is ended here, so the
  // connection returns to the pool.
  status = ExportTables(lease->get(), run_id, put);
  if (!(*lease)->healthy()) return status;
  const absl::Status ended = (*lease)->Execute(status.ok() ? "COMMIT" : "ROLLBACK");
  return status.ok() ? ended : status;
}

absl::StatusOr<std::string> PgStore::ImportRun(const TakePart& take, const CheckRun& check) {
  // A run that has ended has no controller. The import therefore does not lock the epoch's row: a
  // successor would have to wait for as long as the caller takes to send the archive
  // (kTransferLimit).
  if (absl::Status status = StillActive(); !status.ok()) return status;
  auto lease = Connect(kTransferLimit);
  if (!lease.ok()) return lease.status();
  PgConnection* connection = lease->get();
  if (absl::Status status = connection->Execute("BEGIN"); !status.ok()) return status;
  const auto read = [connection](const v1::PhaseId& phase, IntervalDetail detail,
                                 const TakeInterval& take_interval) {
    return ReadIntervalsOf(connection, phase, detail, take_interval);
  };
  auto imported = ImportTables(connection, take);
  absl::Status status = imported.status();
  if (status.ok()) {
    // The check reads within the transaction: nobody ever sees a run that it refuses.
    const auto data = LoadRunData(connection, *imported);
    status = data.ok() ? check(*data, read) : data.status();
  }
  if (!connection->healthy()) return status;
  const absl::Status ended = connection->Execute(status.ok() ? "COMMIT" : "ROLLBACK");
  if (status.ok()) status = ended;
  if (!status.ok()) return status;
  return imported;
}

}  // namespace lockstep::storage
