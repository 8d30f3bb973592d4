#include "storage/pg.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/escaping.h"

namespace lockstep::storage {
namespace {

// libpq's messages have several lines; ours have one.
std::string OnOneLine(const char* text) {
  std::string line(text);
  absl::RemoveExtraAsciiWhitespace(&line);
  return line;
}

}  // namespace

absl::StatusOr<std::unique_ptr<PgConnection>> PgConnection::Open(const std::string& conninfo) {
  // A server that has fallen silent is out of reach; what the connection string says goes before these.
  const char* keywords[] = {"connect_timeout", "tcp_user_timeout", "keepalives_idle", "keepalives_interval", "keepalives_count", "dbname", nullptr};
  const char* values[] = {"5", "10000", "5", "5", "3", conninfo.c_str(), nullptr};
  std::unique_ptr<PgConnection> connection(new PgConnection(PQconnectdbParams(keywords, values, 1)));
  if (!connection->healthy()) {
    return absl::UnavailableError(absl::StrCat("PostgreSQL: ", OnOneLine(PQerrorMessage(connection->connection_.get()))));
  }
  PQsetNoticeProcessor(connection->connection_.get(), [](void*, const char*) {}, nullptr);
  if (absl::Status status = connection->Execute("SET client_min_messages = warning; SET search_path = lockstep; SET TIME ZONE 'UTC'; "
                                                "SET synchronous_commit = on; "
                                                // A session whose client's host is gone gives up its locks.
                                                "SET tcp_keepalives_idle = 5; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3; "
                                                "SET idle_in_transaction_session_timeout = '30s'");
      !status.ok()) {
    return status;
  }
  return connection;
}

absl::Status PgConnection::LastError(const PGresult* result, const std::string& what) {
  const std::string words = OnOneLine(PQerrorMessage(connection_.get()));
  const char* code = result == nullptr ? nullptr : PQresultErrorField(result, PG_DIAG_SQLSTATE);
  const std::string state = code == nullptr ? "" : code;
  const std::string message = absl::StrCat("PostgreSQL: ", what, ": ", words);
  // An error without a code is libpq's own: the connection is gone, though its status may not say so yet.
  broken_ = broken_ || state.empty() || state.rfind("57P", 0) == 0 || state.rfind("08", 0) == 0;
  // Interventions, failing system calls and conflicts pass.
  for (const char* passing : {"08", "57", "58", "40", "55P03"}) {
    if (state.rfind(passing, 0) == 0) return absl::UnavailableError(message);
  }
  if (!healthy()) return absl::UnavailableError(message);
  if (state == "42501" || state == "25006") return absl::PermissionDeniedError(message);
  if (state == "23505") return absl::AlreadyExistsError(message);
  if (state.rfind("53", 0) == 0) return absl::ResourceExhaustedError(message);
  if (state.rfind("23", 0) == 0) return absl::FailedPreconditionError(message);
  if (state.rfind("22", 0) == 0) return absl::InvalidArgumentError(message);
  return absl::InternalError(message);
}

absl::StatusOr<PgResult> PgConnection::Query(const std::string& sql, const std::vector<PgParam>& parameters) {
  std::vector<const char*> values;
  for (const PgParam& parameter : parameters) values.push_back(parameter ? parameter->c_str() : nullptr);
  PGresult* result = PQexecParams(connection_.get(), sql.c_str(), static_cast<int>(values.size()), nullptr, values.data(),
                                  nullptr, nullptr, 0);
  PgResult owned(result);
  const ExecStatusType status = PQresultStatus(result);
  if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) return LastError(result, sql.substr(0, 60));
  return owned;
}

absl::Status PgConnection::Execute(const std::string& sql) {
  PGresult* result = PQexec(connection_.get(), sql.c_str());
  PgResult owned(result);
  const ExecStatusType status = PQresultStatus(result);
  if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK || status == PGRES_EMPTY_QUERY) return absl::OkStatus();
  return LastError(result, sql.substr(0, 60));
}

absl::Status PgConnection::Copy(const std::string& statement, const std::string& rows) {
  PGresult* begun = PQexec(connection_.get(), statement.c_str());
  PgResult owned(begun);
  if (PQresultStatus(begun) != PGRES_COPY_IN) return LastError(begun, statement);
  if (PQputCopyData(connection_.get(), rows.data(), static_cast<int>(rows.size())) != 1 ||
      PQputCopyEnd(connection_.get(), nullptr) != 1) {
    return LastError(nullptr, statement);
  }
  absl::Status status;
  while (PGresult* result = PQgetResult(connection_.get())) {
    PgResult ended(result);
    if (PQresultStatus(result) != PGRES_COMMAND_OK && status.ok()) status = LastError(result, statement);
  }
  return status;
}

void CopyRows::Separate() {
  if (begun_) rows_.push_back('\t');
  begun_ = true;
}

CopyRows& CopyRows::Add(const std::string& text) {
  Separate();
  for (char c : text) {
    switch (c) {
      case '\\': rows_ += "\\\\"; break;
      case '\t': rows_ += "\\t"; break;
      case '\n': rows_ += "\\n"; break;
      case '\r': rows_ += "\\r"; break;
      case '\0': break;  // PostgreSQL's text has no NUL
      default: rows_.push_back(c);
    }
  }
  return *this;
}

CopyRows& CopyRows::AddBytes(const std::string& bytes) {
  Separate();
  absl::StrAppend(&rows_, "\\\\x", absl::BytesToHexString(bytes));
  return *this;
}

CopyRows& CopyRows::Add(int64_t number) {
  Separate();
  absl::StrAppend(&rows_, number);
  return *this;
}

CopyRows& CopyRows::Add(uint64_t number) {
  Separate();
  absl::StrAppend(&rows_, number);
  return *this;
}

CopyRows& CopyRows::Add(double number) {
  Separate();
  absl::StrAppend(&rows_, number);
  return *this;
}

void CopyRows::EndRow() {
  rows_.push_back('\n');
  begun_ = false;
}

}  // namespace lockstep::storage
