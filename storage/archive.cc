#include "storage/archive.h"

#include <algorithm>
#include <memory>
#include <set>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/ids.h"
#include "common/limits.h"
#include "common/text.h"
#include "common/version.h"
#include "storage/pg.h"
#include "storage/pg_store.h"
#include "xxhash.h"

namespace lockstep::storage {
namespace {

constexpr uint32_t kFormat = 1;
// The oldest schema whose archives are read. Later schemas added tables, and columns that may be
// NULL. An archive of an older schema lacks them: figures are computed again from the samples, and
// the rest stays empty.
constexpr uint32_t kFirstSchema = 9;
struct Addition {
  uint32_t schema;
  const char* table;
  const char* column;  // null: the whole table
};
constexpr Addition kAdditions[] = {
    {10, "findings", nullptr},
    {10, "phase_verdicts", "p99_spread_median"},
    {10, "phase_verdicts", "p99_spread_worst"},
    {11, "block_writes", nullptr},
    {11, "runs", "confirm"},
    {12, "block_writes", "written_from"},
    {12, "block_writes", "written_until"},
    {12, "device_samples", "paths"},
    {12, "device_samples", "paths_running"},
    {13, "fleet_intervals", nullptr},
    {13, "fleet_interval_kinds", nullptr},
    {13, "host_spans", nullptr},
    {13, "host_lines", nullptr},
    {13, "runs", "saved_report"},
    {23, "latency_blocks", nullptr},
    {23, "percentile_figures", nullptr},
    {23, "time_figures", nullptr},
    {24, "percentile_figures", "worker_index"},
    {24, "percentile_figures", "metric"},
    {24, "percentile_figures", "is_reported"},
    {25, "sweep_figures", nullptr},
    {25, "sweep_point_figures", nullptr},
    {26, "device_rollups", nullptr},
    {26, "host_rollups", nullptr},
    {26, "host_samples", "swap_used_bytes"},
    {26, "host_samples", "buffers_bytes"},
    {26, "host_samples", "slab_reclaimable_bytes"},
    {26, "host_samples", "writeback_bytes"},
    {26, "host_samples", "block_in_bytes"},
    {26, "host_samples", "block_out_bytes"},
    {26, "host_samples", "page_bytes"},
    {27, "time_figures", "interrupts_per_io"},
    {28, "device_samples", "nested"},
    {28, "device_rollups", "nested"},
    {29, "interface_rollups", nullptr},
    {29, "interface_samples", nullptr},
    {29, "nfs_rollups", nullptr},
    {29, "nfs_samples", nullptr},
    {31, "observed_shares", nullptr},
    {33, "notes", nullptr},
    {36, "quota_rollups", nullptr},
    {36, "quota_samples", nullptr},
};
// A message of rows stays well below the 4 MiB that gRPC receives by default.
constexpr size_t kPiece = 1 << 20;
constexpr size_t kOwnerBytes = 4096;

struct Table {
  std::string name;
  std::vector<std::string> columns;
  std::vector<std::string> times;  // those that are instants
};

// The tables whose rows belong to runs; `runs` first, to which the others refer. The catalog names
// them, so a table of a later schema is exported without a change here.
absl::StatusOr<std::vector<Table>> TablesOfRuns(PgConnection* connection) {
  auto rows = connection->Query(
      "SELECT c.relname, a.attname, a.atttypid = 'timestamptz'::regtype AS is_time FROM pg_class c "
      "JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped "
      "WHERE c.relnamespace = 'lockstep'::regnamespace AND c.relkind IN ('r', 'p') "
      "AND NOT c.relispartition AND EXISTS (SELECT FROM pg_attribute k WHERE k.attrelid = c.oid "
      "AND k.attname = 'run_id' AND NOT k.attisdropped) "
      "ORDER BY c.relname <> 'runs', c.relname, a.attnum");
  if (!rows.ok()) return rows.status();
  std::vector<Table> tables;
  for (int i = 0; i < rows->rows(); ++i) {
    if (tables.empty() || tables.back().name != rows->Text(i, "relname")) {
      tables.push_back({rows->Text(i, "relname"), {}, {}});
    }
    tables.back().columns.push_back(rows->Text(i, "attname"));
    if (rows->Bool(i, "is_time")) tables.back().times.push_back(rows->Text(i, "attname"));
  }
  return tables;
}

absl::StatusOr<uint32_t> SchemaVersion(PgConnection* connection) {
  auto rows = connection->Query("SELECT max(version) AS version FROM schema_migrations");
  if (!rows.ok()) return rows.status();
  return static_cast<uint32_t>(rows->Int(0, "version"));
}

// Takes away what the schema did not have yet.
void TakeBack(uint32_t schema, std::vector<Table>* tables) {
  for (const Addition& added : kAdditions) {
    if (added.schema <= schema) continue;
    std::erase_if(*tables, [&](const Table& table) {
      return added.column == nullptr && table.name == added.table;
    });
    for (Table& table : *tables) {
      if (added.column != nullptr && table.name == added.table) {
        std::erase(table.columns, added.column);
      }
    }
  }
}

// Counts and digests the rows.
class Digest {
 public:
  Digest() : state_(XXH64_createState(), XXH64_freeState) { XXH64_reset(state_.get(), 0); }
  void Add(const std::string& rows) {
    XXH64_update(state_.get(), rows.data(), rows.size());
    bytes_ += rows.size();
  }
  uint64_t bytes() const { return bytes_; }
  uint64_t value() const { return XXH64_digest(state_.get()); }

 private:
  std::unique_ptr<XXH64_state_t, XXH_errorcode (*)(XXH64_state_t*)> state_;
  uint64_t bytes_ = 0;
};

absl::Status Wrong(const std::string& words) {
  return absl::InvalidArgumentError(absl::StrCat("the archive is broken: ", words));
}

// The table in which an archived table's rows wait until all of them are there.
std::string Waiting(const std::string& table) { return absl::StrCat("import_", table); }

// The expression for a column at export and at import. A worker's and a host's id are known to them
// and to their controller alone. The ids that replace them are made of the run and the worker's
// index, so they reveal nothing about them.
std::string Redacted(const std::string& table, const std::string& column) {
  if (table != "run_workers") return column;
  if (column == "worker_id" || column == "host_id") {
    return absl::StrCat("md5(concat('", column, " ', run_id, ' ', worker_index))::uuid");
  }
  return column == "hello" ? "'{}'::jsonb" : column;
}

class Importer {
 public:
  Importer(PgConnection* connection, const Store::TakePart& take)
      : connection_(connection), take_(take) {}

  absl::StatusOr<std::string> Import() {
    for (const auto& step :
         {&Importer::TakeHead, &Importer::TakeTables, &Importer::Check, &Importer::Insert}) {
      if (absl::Status status = (this->*step)(); !status.ok()) return status;
    }
    return head_.run_id();
  }

 private:
  absl::StatusOr<v1::ArchivePart> Next() {
    auto part = take_();
    if (!part.ok()) return part.status();
    if (!part->has_value()) return Wrong("it ends in the middle");
    return **std::move(part);
  }

  absl::Status TakeHead() {
    const auto part = Next();
    if (!part.ok()) return part.status();
    if (!part->has_head()) return Wrong("it does not begin as one");
    head_ = part->head();
    if (head_.format() != kFormat) {
      return absl::FailedPreconditionError(absl::StrCat("the archive's format is ", head_.format(),
                                                        ", this program reads ", kFormat,
                                                        "; use a newer Lockstep"));
    }
    // Rows are copied column by column. In a schema that this program does not know, a column of
    // the same name could mean something else.
    const auto schema = SchemaVersion(connection_);
    if (!schema.ok()) return schema.status();
    if (head_.schema() < kFirstSchema || head_.schema() > *schema) {
      return absl::FailedPreconditionError(absl::StrCat(
          "the archive comes from a store of schema ", head_.schema(), " (Lockstep ",
          common::Printable(head_.version(), 60), "), this one takes ", kFirstSchema, " to ",
          *schema,
          head_.schema() < kFirstSchema
              ? "; bring that store up to date with this Lockstep's controller and export again"
              : "; use a newer Lockstep"));
    }
    is_older_ = head_.schema() < *schema;
    if (!common::IsUuid(head_.run_id())) return Wrong("its run's id is no UUID");
    auto known = connection_->Query("SELECT FROM runs WHERE run_id = $1", {head_.run_id()});
    if (!known.ok()) return known.status();
    if (known->rows() > 0) {
      return absl::AlreadyExistsError(
          absl::StrCat("run ", head_.run_id(), " is in this store already"));
    }
    auto tables = TablesOfRuns(connection_);
    if (!tables.ok()) return tables.status();
    tables_ = *std::move(tables);
    TakeBack(head_.schema(), &tables_);
    return absl::OkStatus();
  }

  // Begins to take the rows of a table.
  absl::Status Begin(const v1::ArchiveTable& archived) {
    const auto table = std::find_if(tables_.begin(), tables_.end(),
                                    [&](const Table& t) { return t.name == archived.name(); });
    if (table == tables_.end() || !seen_.insert(archived.name()).second) {
      return Wrong(absl::StrCat("table '", common::Printable(archived.name(), 60),
                                "' is none of a run, or comes twice"));
    }
    if (!std::equal(table->columns.begin(), table->columns.end(), archived.columns().begin(),
                    archived.columns().end())) {
      return Wrong(absl::StrCat("table ", table->name, " has other columns"));
    }
    // The statements below hold the catalog's names, never the archive's: those could be SQL.
    table_ = table->name;
    table_bytes_ = row_bytes_ = 0;
    // The rows go into temporary tables first: an archive is checked as a whole, and what was
    // checked is what is stored. ON COMMIT DROP leaves nothing behind, however the transaction
    // ends.
    absl::Status status =
        connection_->Execute(absl::StrCat("CREATE TEMP TABLE ", Waiting(table->name), " (LIKE ",
                                          table->name, " INCLUDING DEFAULTS) ON COMMIT DROP"));
    if (!status.ok()) return status;
    return connection_->BeginCopy(absl::StrCat(
        "COPY ", Waiting(table->name), " (", absl::StrJoin(table->columns, ", "), ") FROM STDIN"));
  }

  // An archive comes from somebody else. A compressed gigabyte of one row would be memory of the
  // server before any constraint could refuse it. Rows that are loaded whole later, or shown, are
  // bounded before the server has them. In COPY's text format a row ends with the only newlines
  // that there are.
  absl::Status CheckRows(const std::string& rows) {
    const bool is_run = tables_[0].name == table_;
    const bool is_event = table_ == "events";
    const int64_t max_row = is_run     ? limits::kArchivedRunBytes
                            : is_event ? limits::kArchivedEventBytes
                                       : limits::kArchivedRowBytes;
    table_bytes_ += static_cast<int64_t>(rows.size());
    for (size_t at = 0; at < rows.size();) {
      const size_t end = std::min(rows.find('\n', at), rows.size());
      row_bytes_ += static_cast<int64_t>(end - at);
      if (row_bytes_ > max_row) {
        return Wrong(absl::StrCat("a row of table ", table_, " has more than ", max_row, " bytes"));
      }
      if (end < rows.size()) row_bytes_ = 0;
      at = end + 1;
    }
    if (is_event && table_bytes_ > limits::kArchivedEventsBytes) {
      return Wrong(
          absl::StrCat("its events have more than ", limits::kArchivedEventsBytes, " bytes"));
    }
    return absl::OkStatus();
  }

  absl::Status TakeRows(const std::string& rows) {
    if (absl::Status status = CheckRows(rows); !status.ok()) return status;
    digest_.Add(rows);
    if (digest_.bytes() > static_cast<uint64_t>(limits::kArchiveBytes)) {
      return absl::ResourceExhaustedError(
          absl::StrCat("the archive has more than ", limits::kArchiveBytes, " bytes of rows"));
    }
    return connection_->SendCopy(rows);
  }

  absl::Status TakeTables() {
    bool copying = false;
    while (true) {
      const auto part = Next();
      absl::Status status = part.status();
      if (status.ok() && part->has_rows()) {
        status = copying ? TakeRows(part->rows()) : Wrong("rows without a table");
      } else if (status.ok()) {
        if (copying) status = connection_->EndCopy();
        copying = false;
        if (status.ok() && part->has_end()) return TakeEnd(part->end());
        if (status.ok())
          status = part->has_table() ? Begin(part->table()) : Wrong("a strange part");
        copying = status.ok();
      }
      if (status.ok()) continue;
      // The connection takes the caller's ROLLBACK only after the COPY has ended.
      if (copying) connection_->GiveUpCopy();
      return status;
    }
  }

  absl::Status TakeEnd(const v1::ArchiveEnd& end) {
    if (end.bytes() != digest_.bytes() || end.digest() != digest_.value()) {
      return Wrong("its rows are not those that were written");
    }
    for (const Table& table : tables_) {
      if (!seen_.contains(table.name))
        return Wrong(absl::StrCat("table ", table.name, " is missing"));
    }
    return absl::OkStatus();
  }

  // Whether all rows are of one run that has ended, at times that are some.
  absl::Status Check() {
    for (const Table& table : tables_) {
      std::string wrong = "run_id IS DISTINCT FROM $1";
      // A run of the future would stay the newest one for ever. Times also bound the partitions
      // that Insert() makes, one for each month.
      for (const std::string& time : table.times) {
        absl::StrAppend(&wrong, " OR NOT isfinite(", time, ") OR ", time,
                        " < timestamptz '2000-01-01 UTC' OR ", time, " > now() + interval '1 day'");
      }
      auto found = connection_->Query(
          absl::StrCat("SELECT count(*) AS rows FROM ", Waiting(table.name), " WHERE ", wrong),
          {head_.run_id()});
      if (!found.ok()) return found.status();
      if (found->Int(0, "rows") != 0) {
        return Wrong(absl::StrCat("table ", table.name,
                                  " has rows of other runs, or of a time before 2000 or after "
                                  "tomorrow"));
      }
    }
    auto run = connection_->Query(
        "SELECT count(*) AS runs, count(*) FILTER (WHERE state IN ('queued', 'running')) "
        "AS unfinished FROM import_runs");
    if (!run.ok()) return run.status();
    if (run->Int(0, "runs") != 1 || run->Int(0, "unfinished") != 0)
      return Wrong("it is not of one run that ended");
    return CheckDocuments();
  }

  // A document that is read as a message later must be one.
  absl::Status CheckDocuments() {
    auto run = connection_->Query(
        "SELECT coalesce(encode(report, 'hex'), '') AS report, labels, spec, job, owner, "
        "coalesce(confirm, "
        "'') AS confirm FROM import_runs");
    if (!run.ok()) return run.status();
    v1::Report report;
    if (!report.ParseFromString(absl::HexStringToBytes(run->Text(0, "report")))) {
      return Wrong("its report cannot be read");
    }
    v1::RunSummary labelled;
    v1::JobSpec job;
    absl::Status status =
        FromJson(absl::StrCat("{\"labels\":", run->Text(0, "labels"), "}"), &labelled);
    if (status.ok()) status = FromJson(run->Text(0, "spec"), &job);
    if (!status.ok()) return Wrong(std::string(status.message()));
    // A history finds the job by the column and a comparison by the document, so both must agree.
    if (run->Text(0, "job") != job.name()) return Wrong("its job has two names");
    if (std::max(run->Text(0, "owner").size(), run->Text(0, "confirm").size()) > kOwnerBytes) {
      return Wrong(absl::StrCat("its owner or its consent has more than ", kOwnerBytes, " bytes"));
    }
    return absl::OkStatus();
  }

  absl::Status Insert() {
    // A worker that was lost in the other store holds no targets of this one. An archive that
    // somebody wrote by hand could hold the ids of this store's workers, so they are replaced once
    // more.
    absl::Status status = connection_->Execute(absl::StrCat(
        "UPDATE import_run_workers SET quarantine_ns = NULL, worker_id = ",
        Redacted("run_workers", "worker_id"), ", host_id = ", Redacted("run_workers", "host_id"),
        ", hello = ", Redacted("run_workers", "hello")));
    if (!status.ok()) return status;
    // Version 0 makes the controller compute the figures again. Without samples it could not: then
    // the archive's stay.
    if (is_older_) {
      status = connection_->Execute(
          "UPDATE import_runs SET figures_version = 0 WHERE samples_pruned_at IS NULL");
      if (!status.ok()) return status;
    }
    for (const char* samples : {"interval_operations", "device_samples", "host_samples",
                                "interface_samples", "nfs_samples", "quota_samples"}) {
      if (!seen_.contains(samples)) continue;  // an older schema has no such table
      auto partitions = connection_->Query(
          absl::StrCat("SELECT ensure_partitions(min(started_at), max(started_at)) FROM ",
                       Waiting(samples), " HAVING count(*) > 0"));
      if (!partitions.ok()) return partitions.status();
    }
    for (const Table& table : tables_) {
      const std::string columns = absl::StrJoin(table.columns, ", ");
      status =
          connection_->Execute(absl::StrCat("INSERT INTO ", table.name, " (", columns, ") SELECT ",
                                            columns, " FROM ", Waiting(table.name)));
      if (!status.ok()) return status;
    }
    // The saved report is answered without a look at the samples, and one that was written by hand
    // could contradict them. The controller makes it again from what was checked.
    return connection_
        ->Query("UPDATE runs SET saved_report = NULL WHERE run_id = $1", {head_.run_id()})
        .status();
  }

  PgConnection* connection_;
  const Store::TakePart& take_;
  v1::ArchiveHead head_;
  bool is_older_ = false;  // than this store's schema
  std::vector<Table> tables_;
  std::set<std::string> seen_;
  Digest digest_;
  std::string table_;  // whose rows come
  int64_t table_bytes_ = 0, row_bytes_ = 0;
};

}  // namespace

absl::Status ExportTables(PgConnection* connection, const std::string& run_id,
                          const Store::PutPart& put) {
  // COPY takes no parameters, so the id becomes part of the statement below. A UUID holds no quote.
  if (!common::IsUuid(run_id)) return absl::InvalidArgumentError("a run's id is a UUID");
  const auto schema = SchemaVersion(connection);
  if (!schema.ok()) return schema.status();
  const auto tables = TablesOfRuns(connection);
  if (!tables.ok()) return tables.status();
  auto run = connection->Query("SELECT state FROM runs WHERE run_id = $1", {run_id});
  if (!run.ok()) return run.status();
  if (run->rows() == 0) return absl::NotFoundError(absl::StrCat("no run ", run_id));
  if (const auto state = measure::Parse<measure::RunState>(run->Text(0, "state"));
      state && !IsOver(*state)) {
    return absl::FailedPreconditionError(absl::StrCat("run ", run_id, " is ", run->Text(0, "state"),
                                                      "; it is exported when it has ended"));
  }
  v1::ArchivePart part;
  part.mutable_head()->set_format(kFormat);
  part.mutable_head()->set_schema(*schema);
  part.mutable_head()->set_run_id(run_id);
  part.mutable_head()->set_version(common::kSoftwareVersion);
  absl::Status status = put(part);
  Digest digest;
  for (const Table& table : *tables) {
    if (!status.ok()) return status;
    part.mutable_table()->set_name(table.name);
    part.mutable_table()->mutable_columns()->Assign(table.columns.begin(), table.columns.end());
    status = put(part);
    if (!status.ok()) return status;
    status = connection->CopyOut(
        absl::StrCat("COPY (SELECT ",
                     absl::StrJoin(table.columns, ", ",
                                   [&](std::string* out, const std::string& column) {
                                     out->append(Redacted(table.name, column));
                                   }),
                     " FROM ", table.name, " WHERE run_id = '", run_id, "') TO STDOUT"),
        [&](const std::string& rows) {
          digest.Add(rows);
          // A row may be larger than a message may be.
          for (size_t at = 0; at < rows.size(); at += kPiece) {
            part.set_rows(rows.substr(at, kPiece));
            if (absl::Status put_status = put(part); !put_status.ok()) return put_status;
          }
          return absl::OkStatus();
        });
  }
  if (!status.ok()) return status;
  part.mutable_end()->set_bytes(digest.bytes());
  part.mutable_end()->set_digest(digest.value());
  return put(part);
}

absl::StatusOr<std::string> ImportTables(PgConnection* connection, const Store::TakePart& take) {
  return Importer(connection, take).Import();
}

}  // namespace lockstep::storage
