#pragma once

#include <libpq-fe.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace lockstep::storage {

// A query's rows. Cells are read as text; a NULL reads as empty. Move-only, immutable.
class PgResult {
 public:
  explicit PgResult(PGresult* result) : result_(result, PQclear) {}
  int rows() const { return PQntuples(result_.get()); }
  // Rows changed by a command.
  int64_t affected() const { return strtoll(PQcmdTuples(result_.get()), nullptr, 10); }
  std::string Text(int row, int column) const { return {PQgetvalue(result_.get(), row, column), static_cast<size_t>(PQgetlength(result_.get(), row, column))}; }
  int64_t Int(int row, int column) const { return strtoll(PQgetvalue(result_.get(), row, column), nullptr, 10); }
  uint64_t UInt(int row, int column) const { return strtoull(PQgetvalue(result_.get(), row, column), nullptr, 10); }
  double Real(int row, int column) const { return strtod(PQgetvalue(result_.get(), row, column), nullptr); }
  bool Bool(int row, int column) const { return PQgetvalue(result_.get(), row, column)[0] == 't'; }
  bool Null(int row, int column) const { return PQgetisnull(result_.get(), row, column) != 0; }

 private:
  std::unique_ptr<PGresult, decltype(&PQclear)> result_;
};

// A parameter: text, or NULL.
using PgParam = std::optional<std::string>;

// One connection. Not thread-safe. Failures: UNAVAILABLE when the server is out of reach (a retry may help);
// PERMISSION_DENIED, ALREADY_EXISTS, FAILED_PRECONDITION or INTERNAL when it refused the statement, with its words.
class PgConnection {
 public:
  static absl::StatusOr<std::unique_ptr<PgConnection>> Open(const std::string& conninfo);

  absl::StatusOr<PgResult> Query(const std::string& sql, const std::vector<PgParam>& parameters = {});
  // Several statements without parameters, or one.
  absl::Status Execute(const std::string& sql);
  // COPY … FROM STDIN in text format; `rows` as AppendCopyRow() makes them.
  absl::Status Copy(const std::string& statement, const std::string& rows);
  // Whether it can be used again.
  bool healthy() const { return !broken_ && PQstatus(connection_.get()) == CONNECTION_OK; }

 private:
  explicit PgConnection(PGconn* connection) : connection_(connection, PQfinish) {}
  absl::Status LastError(const PGresult* result, const std::string& what);
  std::unique_ptr<PGconn, decltype(&PQfinish)> connection_;
  bool broken_ = false;  // the server did not answer a statement
};

// Builds the rows of a COPY.
class CopyRows {
 public:
  CopyRows& Add(const std::string& text);
  CopyRows& AddBytes(const std::string& bytes);
  CopyRows& Add(int64_t number);
  CopyRows& Add(uint64_t number);
  CopyRows& Add(uint32_t number) { return Add(uint64_t{number}); }
  CopyRows& Add(int number) { return Add(int64_t{number}); }
  CopyRows& Add(double number);
  void EndRow();
  bool empty() const { return rows_.empty(); }
  const std::string& rows() const { return rows_; }

 private:
  void Separate();
  std::string rows_;
  bool begun_ = false;
};

}  // namespace lockstep::storage
