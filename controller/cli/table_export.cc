#include "controller/cli/table_export.h"

#include <fcntl.h>
#include <libpq-fe.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <iostream>
#include <memory>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "common/files.h"
#include "common/ids.h"
#include "common/text.h"
#include "controller/cli/store_address.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/gzip_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl.h"
#include "measure/states.h"

namespace lockstep::cli {
namespace {

namespace io = google::protobuf::io;

using Connection = std::unique_ptr<PGconn, void (*)(PGconn*)>;
using Result = std::unique_ptr<PGresult, void (*)(PGresult*)>;

absl::Status ErrorOf(PGconn* store) {
  return absl::UnavailableError(
      absl::StrCat("the store: ", common::Printable(PQerrorMessage(store), 500)));
}

// The rows of a query, or the beginning of a COPY.
absl::StatusOr<Result> Query(PGconn* store, const std::string& sql,
                             const std::vector<const char*>& parameters = {}) {
  Result result(PQexecParams(store, sql.c_str(), static_cast<int>(parameters.size()), nullptr,
                             parameters.data(), nullptr, nullptr, 0),
                PQclear);
  const ExecStatusType status = PQresultStatus(result.get());
  if (status != PGRES_TUPLES_OK && status != PGRES_COPY_OUT) return ErrorOf(store);
  return result;
}

// Hands out the rows of a COPY, one at a time.
absl::Status CopyOut(PGconn* store, const std::string& statement,
                     const std::function<absl::Status(std::string_view row)>& put) {
  const auto begun = Query(store, statement);
  if (!begun.ok()) return begun.status();
  while (true) {
    char* row = nullptr;
    const int length = PQgetCopyData(store, &row, 0);
    if (length == -2) return ErrorOf(store);
    if (length < 0) break;
    const std::unique_ptr<char, void (*)(void*)> owned(row, PQfreemem);
    // The connection stays within the COPY. An error ends the whole export, and the connection with
    // it.
    absl::Status status = put({row, static_cast<size_t>(length)});
    if (!status.ok()) return status;
  }
  const Result ended(PQgetResult(store), PQclear);
  if (PQresultStatus(ended.get()) != PGRES_COMMAND_OK) return ErrorOf(store);
  // libpq accepts the next command only after PQgetResult() has returned null.
  const Result nothing(PQgetResult(store), PQclear);
  return absl::OkStatus();
}

struct View {
  std::string name;
  std::vector<std::string> columns;  // as expressions
};

std::string Quoted(const std::string& name) {
  return absl::StrCat("\"", absl::StrReplaceAll(name, {{"\"", "\"\""}}), "\"");
}

std::string ColumnText(const PGresult* rows, int row, const char* column) {
  return PQgetvalue(rows, row, PQfnumber(rows, column));
}

absl::StatusOr<std::vector<View>> ListViews(PGconn* store, bool intervals) {
  const auto rows = Query(
      store,
      "SELECT c.relname, a.attname, format_type(a.atttypid, NULL) ~ '(^|[.])histogram$' AS is_list "
      "FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 "
      "WHERE c.relnamespace = 'lockstep'::regnamespace AND c.relkind = 'v' AND EXISTS (SELECT FROM "
      "pg_attribute k WHERE k.attrelid = c.oid AND k.attname = 'run_id') ORDER BY 1, a.attnum");
  if (!rows.ok()) return rows.status();
  std::vector<View> views;
  for (int i = 0; i < PQntuples(rows->get()); ++i) {
    const std::string name = ColumnText(rows->get(), i, "relname");
    if (name == "interval_latency" && !intervals) continue;
    // The name becomes a directory. The store that answers must not choose where files are written.
    if (!common::IsHostName(name))
      return absl::InternalError("the store has a view of a strange name");
    if (views.empty() || views.back().name != name) views.push_back({name, {}});
    const std::string column = Quoted(ColumnText(rows->get(), i, "attname"));
    views.back().columns.push_back(
        ColumnText(rows->get(), i, "is_list") == "t"
            ? absl::StrCat(
                  "(SELECT coalesce(json_agg(json_build_array(b.low_ns, b.high_ns, b.count)"
                  " ORDER BY b.bucket), '[]') FROM hist_buckets(v.",
                  column, ") b) AS ", column)
            : absl::StrCat("v.", column));
  }
  return views;
}

// Undoes the escapes of COPY's text format. JSON has no raw line breaks or tabs, so a backslash is
// the only character that COPY has escaped.
std::string Unescaped(std::string_view rows) {
  std::string out;
  out.reserve(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i] == '\\' && i + 1 < rows.size()) ++i;
    out.push_back(rows[i]);
  }
  return out;
}

// Writes one view of one run; no file when it has no rows.
absl::Status WriteView(PGconn* store, const View& view, const std::string& run_id,
                       const std::string& directory) {
  const std::string path = directory + "/rows.jsonl.gz";
  const std::string part_path = path + ".part";
  common::FileDescriptor file;
  std::unique_ptr<io::FileOutputStream> raw;
  std::unique_ptr<io::GzipOutputStream> zipped;
  const auto put = [&](std::string_view row) -> absl::Status {
    // The file is made at the first row: views without rows of this run leave no empty files.
    if (zipped == nullptr) {
      absl::Status made = common::MakeDirectories(directory, 0755);
      if (!made.ok()) return made;
      unlink(part_path.c_str());
      file = common::FileDescriptor(
          open(part_path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644));
      if (!file.valid()) return common::ErrnoStatus(errno, part_path);
      raw = std::make_unique<io::FileOutputStream>(file.get());
      zipped = std::make_unique<io::GzipOutputStream>(raw.get());
    }
    io::CodedOutputStream out(zipped.get());
    out.WriteString(Unescaped(row));
    return out.HadError() ? absl::InternalError(absl::StrCat(part_path, ": cannot be written"))
                          : absl::OkStatus();
  };
  // COPY takes no parameters. The id can stand in the statement, because ExportTables() has checked
  // that it is a UUID.
  absl::Status status = CopyOut(
      store,
      absl::StrCat("COPY (SELECT row_to_json(q) FROM (SELECT ", absl::StrJoin(view.columns, ", "),
                   " FROM ", Quoted(view.name), " v WHERE v.run_id = '", run_id, "') q) TO STDOUT"),
      put);
  if (zipped == nullptr) {
    // The file of an earlier export is outdated; where nothing could be read it may be the best
    // that there is.
    if (status.ok()) unlink(path.c_str());
    return status;
  }
  if (status.ok() && (!zipped->Close() || !raw->Flush())) {
    status = absl::InternalError(absl::StrCat(part_path, ": ", common::ErrnoText(raw->GetErrno())));
  }
  if (status.ok() && rename(part_path.c_str(), path.c_str()) != 0) {
    status = common::ErrnoStatus(errno, path);
  }
  if (!status.ok()) unlink(part_path.c_str());
  return status;
}

}  // namespace

absl::Status ExportTables(v1::Controller::Stub* stub, const std::vector<std::string>& runs,
                          const std::string& directory, bool intervals) {
  const auto conninfo = GetStoreAddress(stub);
  if (!conninfo.ok()) return conninfo.status();
  const Connection store(PQconnectdb(conninfo->c_str()), PQfinish);
  if (PQstatus(store.get()) != CONNECTION_OK) return ErrorOf(store.get());
  const auto views = ListViews(store.get(), intervals);
  if (!views.ok()) return views.status();
  for (const std::string& text : runs) {
    // Two rows are enough to see that the start of an id is ambiguous.
    const auto found = Query(
        store.get(),
        "SELECT run_id, to_char(submitted_at AT TIME ZONE 'UTC', 'YYYY-MM') AS month, state FROM "
        "run_overview "
        "WHERE run_id = CASE WHEN $1 = 'last' THEN last_run() ELSE run_id END AND ($1 = 'last' OR "
        "starts_with(run_id::text, $1)) LIMIT 2",
        {text.c_str()});
    if (!found.ok()) return found.status();
    if (PQntuples(found->get()) != 1) {
      return absl::NotFoundError(absl::StrCat(
          PQntuples(found->get()) == 0 ? "no run's id begins" : "several runs' ids begin",
          " with '", text, "'"));
    }
    const std::string run_id = ColumnText(found->get(), 0, "run_id");
    const std::string month = ColumnText(found->get(), 0, "month");
    const std::string state = ColumnText(found->get(), 0, "state");
    const auto known = measure::Parse<measure::RunState>(state);
    if (known.has_value() && !measure::IsOver(*known)) {
      return absl::FailedPreconditionError(
          absl::StrCat("run ", run_id, " is ", state, "; it is exported when it has ended"));
    }
    // Both become parts of paths, so the store that answers must not choose them freely.
    if (!common::IsUuid(run_id) || month.find('/') != std::string::npos) {
      return absl::InternalError("the store gives a run an id that is no UUID");
    }
    for (const View& view : *views) {
      const absl::Status status =
          WriteView(store.get(), view, run_id,
                    absl::StrCat(directory, "/", view.name, "/month=", month, "/run=", run_id));
      if (!status.ok()) return status;
    }
    std::cerr << "exported " << run_id << "\n";
  }
  return absl::OkStatus();
}

}  // namespace lockstep::cli
