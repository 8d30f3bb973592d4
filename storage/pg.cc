#include "storage/pg.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/log.h"

namespace lockstep::storage {
namespace {

// libpq's messages have several lines; ours have one.
std::string OnOneLine(const char* text) {
  std::string line(text);
  absl::RemoveExtraAsciiWhitespace(&line);
  return line;
}

// libpq's TLS layer may hold data that it has read already, so the socket shows nothing more to
// read. No single wait is therefore longer than this. It is also the delay until a wait notices
// `given_up`.
constexpr std::chrono::milliseconds kPoll{100};

// PQfinish() sends the server a farewell. The socket is shut down first, so this fails at once: a
// server that does not read cannot delay it.
void Close(PGconn* connection) {
  if (PQsocket(connection) >= 0) shutdown(PQsocket(connection), SHUT_RDWR);
  PQfinish(connection);
}

}  // namespace

int PgResult::Column(const char* name) const {
  const int columns = PQnfields(result_.get());
  // PQfnumber() would copy the name and fold its case at each call.
  for (int tried = 0; tried < columns; ++tried) {
    const int column = (next_column_ + tried) % columns;
    if (strcmp(PQfname(result_.get(), column), name) != 0) continue;
    next_column_ = (column + 1) % columns;
    return column;
  }
  log::Critical("a statement gives no column '{}'", name);
  std::abort();
}

PgConnection::PgConnection(PGconn* connection) : connection_(connection, Close) {}

absl::StatusOr<std::unique_ptr<PgConnection>> PgConnection::Open(const std::string& conninfo,
                                                                 const Patience& patience) {
  // libpq reads the parameters in order, and the last value wins. `dbname` comes last and is
  // expanded into the connection string, so the operator's values replace these (libpq,
  // PQconnectdbParams).
  const char* keywords[] = {"connect_timeout",
                            "tcp_user_timeout",
                            "keepalives_idle",
                            "keepalives_interval",
                            "keepalives_count",
                            "dbname",
                            nullptr};
  // A server whose host lost its power sends no FIN: without keepalives and tcp_user_timeout a
  // write to it waits for the kernel's retransmissions, a quarter of an hour.
  const char* values[] = {"5", "10000", "5", "5", "3", conninfo.c_str(), nullptr};
  const Time begun = std::chrono::steady_clock::now();
  std::unique_ptr<PgConnection> connection(
      new PgConnection(PQconnectdbParams(keywords, values, 1)));
  // PQconnectdbParams() blocks, and only connect_timeout ends it. The time that it took counts
  // towards the caller's limit.
  connection->BePatient(patience, begun);
  if (!connection->healthy()) {
    return absl::UnavailableError(
        absl::StrCat("PostgreSQL: ", OnOneLine(PQerrorMessage(connection->connection_.get()))));
  }
  // libpq would print notices to stderr, and a session can be made to raise any number of them.
  PQsetNoticeProcessor(
      connection->connection_.get(), [](void*, const char*) {}, nullptr);
  // A blocking send to a server that has stopped reading never returns; Flush() waits with a limit.
  PQsetnonblocking(connection->connection_.get(), 1);
  // A worker discards what is committed. A role or a server may have synchronous_commit off by
  // default, and would then acknowledge samples that a crash of the server can still lose. GMT is
  // the one zone that PostgreSQL knows without a database of time zones, which a portable archive's
  // host need not have.
  if (absl::Status status = connection->Execute(
          "SET client_min_messages = warning; SET search_path = lockstep; SET TIME ZONE 'GMT'; "
          "SET synchronous_commit = on; "
          // Keepalives: a session whose client's host is gone gives up its locks.
          "SET tcp_keepalives_idle = 5; SET tcp_keepalives_interval = 5; "
          "SET tcp_keepalives_count = 3; SET idle_in_transaction_session_timeout = '30s'");
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
  // An error without a code is libpq's own: the connection is gone, though its status may not say
  // so yet.
  broken_ = broken_ || state.empty() || state.rfind("57P", 0) == 0 || state.rfind("08", 0) == 0;
  // These pass by themselves (PostgreSQL, appendix A): lost connections (08), interventions such as
  // a cancelled statement (57), failing system calls (58), serialization failures and deadlocks
  // (40), and a lock that another session has (55P03).
  for (const char* passing : {"08", "57", "58", "40", "55P03"}) {
    if (state.rfind(passing, 0) == 0) return absl::UnavailableError(message);
  }
  if (!healthy()) return absl::UnavailableError(message);
  // A missing right, or a server that is read-only: IsTransient() counts both as an outage, because
  // an administrator can end it and the samples are kept until then.
  if (state == "42501" || state == "25006") return absl::PermissionDeniedError(message);
  if (state == "23505") return absl::AlreadyExistsError(message);
  // Class 53: the server has no disk space, memory or connection left, which IsTransient() counts,
  // too.
  if (state.rfind("53", 0) == 0) return absl::ResourceExhaustedError(message);
  if (state.rfind("23", 0) == 0) return absl::FailedPreconditionError(message);
  // PostgreSQL answers "cannot convert infinity to bigint" with 0A000, a feature that is not
  // supported. Like the data exceptions of class 22 it means a value that no controller wrote
  // (IsBroken()).
  if (state.rfind("22", 0) == 0 || state == "0A000") return absl::InvalidArgumentError(message);
  return absl::InternalError(message);
}

void PgConnection::BePatient(const Patience& patience) {
  BePatient(patience, std::chrono::steady_clock::now());
}

void PgConnection::BePatient(const Patience& patience, Time from) {
  patience_ = patience;
  until_ = patience.limit >= absl::FromChrono(Time::max() - from)
               ? Time::max()
               : from + absl::ToChronoNanoseconds(patience.limit);
}

absl::Status PgConnection::Wait(short events, const std::string& what) {
  PGconn* connection = connection_.get();
  const auto left = std::clamp(
      std::chrono::ceil<std::chrono::milliseconds>(until_ - std::chrono::steady_clock::now()),
      std::chrono::milliseconds(0), kPoll);
  const bool given_up = patience_.given_up != nullptr && *patience_.given_up;
  pollfd ready = {PQsocket(connection), events, 0};
  const int found = poll(&ready, 1, given_up ? 0 : static_cast<int>(left.count()));
  // EINTR is no answer and no failure: the caller asks again, and the time limit goes on.
  if (found < 0 && errno != EINTR) return LastError(nullptr, what);
  if (PQconsumeInput(connection) != 1) return LastError(nullptr, what);
  if (found != 0 || (left.count() > 0 && !given_up)) return absl::OkStatus();
  // The answer may still come, and would be taken for that of the next statement.
  broken_ = true;
  return absl::UnavailableError(absl::StrCat(
      "PostgreSQL: ", what,
      given_up ? ": not waited for any longer"
               : absl::StrCat(": no answer within ", absl::FormatDuration(patience_.limit))));
}

absl::Status PgConnection::Flush(const std::string& what) {
  while (true) {
    // While this side sends, the server may send, too (notices, errors of a COPY). A side that only
    // waits for POLLOUT deadlocks with it once both buffers are full (libpq, PQsetnonblocking).
    const int left = PQflush(connection_.get());
    if (left < 0) return LastError(nullptr, what);
    if (left == 0) return absl::OkStatus();
    if (absl::Status status = Wait(POLLIN | POLLOUT, what); !status.ok()) return status;
  }
}

absl::StatusOr<PgResult> PgConnection::Finish(bool sent, const std::string& what) {
  if (!sent) return LastError(nullptr, what);
  return ReadResults(what);
}

absl::StatusOr<PgResult> PgConnection::ReadResults(const std::string& what) {
  PGconn* connection = connection_.get();
  if (absl::Status status = Flush(what); !status.ok()) return status;
  PgResult last(nullptr);
  absl::Status failed;
  while (true) {
    while (PQisBusy(connection) != 0) {
      if (absl::Status status = Wait(POLLIN, what); !status.ok()) return status;
    }
    // All results are read, also after an error: the connection takes no further statement before.
    PGresult* result = PQgetResult(connection);
    if (result == nullptr) break;
    PgResult owned(result);
    const ExecStatusType status = PQresultStatus(result);
    if (status == PGRES_FATAL_ERROR || status == PGRES_BAD_RESPONSE) {
      if (failed.ok()) failed = LastError(result, what);
    } else {
      last = std::move(owned);
    }
    // While a COPY is in progress PQgetResult() returns this result at each call, so the loop would
    // not end.
    if (status == PGRES_COPY_IN || status == PGRES_COPY_OUT) break;
  }
  if (!failed.ok()) return failed;
  if (!last.valid()) return LastError(nullptr, what);
  return last;
}

absl::StatusOr<PgResult> PgConnection::Query(const std::string& sql,
                                             const std::vector<PgParam>& parameters) {
  std::vector<const char*> values;
  for (const PgParam& parameter : parameters) {
    values.push_back(parameter ? parameter->c_str() : nullptr);
  }
  const bool sent =
      PQsendQueryParams(connection_.get(), sql.c_str(), static_cast<int>(values.size()), nullptr,
                        values.data(), nullptr, nullptr, 0) == 1;
  return Finish(sent, sql.substr(0, 60));
}

absl::Status PgConnection::Execute(const std::string& sql) {
  // PQsendQueryParams() takes a single statement (libpq, PQexecParams); the simple protocol takes
  // several.
  return Finish(PQsendQuery(connection_.get(), sql.c_str()) == 1, sql.substr(0, 60)).status();
}

absl::Status PgConnection::Copy(const std::string& statement, const std::string& rows) {
  absl::Status status = BeginCopy(statement);
  if (status.ok()) status = SendCopy(rows);
  return status.ok() ? EndCopy() : status;
}

absl::Status PgConnection::BeginCopy(const std::string& statement) {
  return Finish(PQsendQuery(connection_.get(), statement.c_str()) == 1, statement).status();
}

absl::Status PgConnection::SendCopy(const std::string& rows) {
  // libpq buffers what the server has not read yet. Because each piece is flushed before the next
  // one, a large COPY does not stand in memory a second time.
  constexpr size_t kPiece = 1 << 20;
  for (size_t at = 0; at < rows.size();) {
    const size_t piece = std::min(kPiece, rows.size() - at);
    const int taken = PQputCopyData(connection_.get(), rows.data() + at, static_cast<int>(piece));
    if (taken < 0) return LastError(nullptr, "COPY");
    // 0 means that the buffer is full, in non-blocking mode: the piece is sent again after the
    // flush.
    if (taken == 1) at += piece;
    if (absl::Status status = Flush("COPY"); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status PgConnection::EndCopy() {
  int ended;
  while ((ended = PQputCopyEnd(connection_.get(), nullptr)) == 0) {
    if (absl::Status status = Flush("COPY"); !status.ok()) return status;
  }
  return Finish(ended == 1, "COPY").status();
}

void PgConnection::GiveUpCopy() {
  if (!healthy()) return;
  int ended;
  // Ending it with an error makes the server drop the rows. Closing the connection would do so,
  // too, but costs the next statement a new one.
  while ((ended = PQputCopyEnd(connection_.get(), "given up")) == 0) {
    if (!Flush("COPY").ok()) return;
  }
  (void)Finish(ended == 1, "COPY");  // an error, as asked for
}

absl::Status PgConnection::CopyOut(const std::string& statement,
                                   const std::function<absl::Status(std::string)>& put) {
  constexpr size_t kPiece = 256 << 10;
  if (absl::Status status = BeginCopy(statement); !status.ok()) return status;
  absl::Status refused;
  std::string rows;
  while (true) {
    char* row = nullptr;
    const int length = PQgetCopyData(connection_.get(), &row, 1);
    if (length > 0 && refused.ok()) rows.append(row, static_cast<size_t>(length));
    PQfreemem(row);
    if (length == 0) {
      if (absl::Status status = Wait(POLLIN, "COPY"); !status.ok()) return status;
      continue;
    }
    if (refused.ok() && !rows.empty() && (length < 0 || rows.size() >= kPiece)) {
      refused = put(std::move(rows));
      rows.clear();
      // The connection takes no other statement before the COPY has ended: what still comes is read
      // and dropped, and the cancellation shortens that.
      if (!refused.ok() && length > 0) Cancel();
    }
    // -1 is the end of the rows and -2 an error. ReadResults() tells which.
    if (length > 0) continue;
    const absl::Status ended = ReadResults("COPY").status();
    return refused.ok() ? ended : refused;
  }
}

void PgConnection::Cancel() {
  char words[256];
  const std::unique_ptr<PGcancel, void (*)(PGcancel*)> cancel(PQgetCancel(connection_.get()),
                                                              PQfreeCancel);
  // Nothing depends on the outcome: without a cancellation the remaining rows are read and dropped.
  if (cancel != nullptr) (void)PQcancel(cancel.get(), words, sizeof words);
}

CopyStream::~CopyStream() {
  if (begun_) connection_->GiveUpCopy();
}

absl::Status CopyStream::Pass() {
  constexpr size_t kWorthSending = 128 << 10;
  return rows_.rows().size() < kWorthSending ? absl::OkStatus() : Send();
}

absl::Status CopyStream::Send() {
  if (!begun_) {
    if (absl::Status status = connection_->BeginCopy(statement_); !status.ok()) return status;
    begun_ = true;
  }
  const absl::Status status = connection_->SendCopy(rows_.rows());
  rows_.Clear();
  return status;
}

absl::Status CopyStream::End() {
  if (!rows_.empty()) {
    if (absl::Status status = Send(); !status.ok()) return status;
  }
  if (!begun_) return absl::OkStatus();
  // Whatever EndCopy() returns, no COPY is left that the destructor would have to give up.
  begun_ = false;
  return connection_->EndCopy();
}

void CopyRows::Separate() {
  if (begun_) rows_.push_back('\t');
  begun_ = true;
}

CopyRows& CopyRows::Add(const std::string& text) {
  Separate();
  for (char c : text) {
    switch (c) {
      case '\\':
        rows_ += "\\\\";
        break;
      case '\t':
        rows_ += "\\t";
        break;
      case '\n':
        rows_ += "\\n";
        break;
      case '\r':
        rows_ += "\\r";
        break;
      case '\0':
        break;  // PostgreSQL's text has no NUL
      default:
        rows_.push_back(c);
    }
  }
  return *this;
}

CopyRows& CopyRows::AddBytes(const std::string& bytes) {
  Separate();
  // COPY reads a backslash as an escape: two of them make the one of bytea's hex format.
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

CopyRows& CopyRows::AddExact(double number) {
  Separate();
  absl::StrAppend(&rows_, absl::StrFormat("%.17g", number));
  return *this;
}

CopyRows& CopyRows::AddNull() {
  Separate();
  rows_ += "\\N";
  return *this;
}

void CopyRows::EndRow() {
  rows_.push_back('\n');
  begun_ = false;
}

}  // namespace lockstep::storage
