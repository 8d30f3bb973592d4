#pragma once

#include <libpq-fe.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace lockstep::storage {

// A query's rows. Cells are read as text; a NULL reads as empty. Move-only; not thread-safe.
class PgResult {
 public:
  explicit PgResult(PGresult* result) : result_(result, PQclear) {}
  bool valid() const { return result_ != nullptr; }
  int rows() const { return PQntuples(result_.get()); }
  // Rows changed by a command.
  int64_t affected() const { return strtoll(PQcmdTuples(result_.get()), nullptr, 10); }
  // Cells by row and by the column's name. A name that the statement does not give is a bug of the
  // caller, and ends the program.
  std::string Text(int row, const char* column) const {
    const int c = Column(column);
    return {PQgetvalue(result_.get(), row, c),
            static_cast<size_t>(PQgetlength(result_.get(), row, c))};
  }
  int64_t Int(int row, const char* column) const { return strtoll(Cell(row, column), nullptr, 10); }
  uint64_t UInt(int row, const char* column) const {
    return strtoull(Cell(row, column), nullptr, 10);
  }
  double Real(int row, const char* column) const { return strtod(Cell(row, column), nullptr); }
  bool Bool(int row, const char* column) const { return Cell(row, column)[0] == 't'; }
  bool Null(int row, const char* column) const {
    return PQgetisnull(result_.get(), row, Column(column)) != 0;
  }

 private:
  int Column(const char* name) const;
  const char* Cell(int row, const char* column) const {
    return PQgetvalue(result_.get(), row, Column(column));
  }
  std::unique_ptr<PGresult, decltype(&PQclear)> result_;
  // Statements' columns are mostly read in their order: the next one is tried first.
  mutable int next_column_ = 0;
};

// The settings with which sessions of the reading role begin, whatever it has set for itself: part
// of the connection string that users get.
inline constexpr char kReaderOptions[] =
    "options='-c default_transaction_read_only=on -c search_path=lockstep -c "
    "statement_timeout=10min -c idle_in_transaction_session_timeout=1min'";

// A parameter: text, or NULL.
using PgParam = std::optional<std::string>;

// How long to wait for a server: one that is stopped, or whose disk hangs, keeps its connections
// open and answers nothing.
struct Patience {
  absl::Duration limit = absl::InfiniteDuration();  // from now on
  // Once true, every wait ends; may be null.
  const std::atomic<bool>* given_up = nullptr;
};

// One connection. Not thread-safe. UNAVAILABLE when the server is out of reach or does not answer
// (a retry may help; the statement may have been executed, or may be later); PERMISSION_DENIED,
// ALREADY_EXISTS, FAILED_PRECONDITION or INTERNAL with the server's message when it refused the
// statement. A connection that got no answer cannot be used again: the answer might still come.
class PgConnection {
 public:
  static absl::StatusOr<std::unique_ptr<PgConnection>> Open(const std::string& conninfo,
                                                            const Patience& patience = {});

  absl::StatusOr<PgResult> Query(const std::string& sql,
                                 const std::vector<PgParam>& parameters = {});
  // Several statements without parameters, or one.
  absl::Status Execute(const std::string& sql);
  // COPY … FROM STDIN in text format; `rows` as CopyRows makes them.
  absl::Status Copy(const std::string& statement, const std::string& rows);
  // The same in pieces: begins, sends any number of times, and ends. Nothing else may be asked of
  // the connection during that time.
  absl::Status BeginCopy(const std::string& statement);
  absl::Status SendCopy(const std::string& rows);
  absl::Status EndCopy();
  void GiveUpCopy();
  // COPY … TO STDOUT in text format: hands out whole rows, some at a time. An error of `put` ends
  // it, and is returned.
  absl::Status CopyOut(const std::string& statement,
                       const std::function<absl::Status(std::string rows)>& put);
  // Limits the time of all statements from now on, together.
  void BePatient(const Patience& patience);
  // Whether it can be used again.
  bool healthy() const { return !broken_ && PQstatus(connection_.get()) == CONNECTION_OK; }
  // Whether it is in no transaction, and waits for no answer.
  bool idle() const { return healthy() && PQtransactionStatus(connection_.get()) == PQTRANS_IDLE; }

 private:
  using Time = std::chrono::steady_clock::time_point;
  explicit PgConnection(PGconn* connection);
  void BePatient(const Patience& patience, Time from);
  absl::Status LastError(const PGresult* result, const std::string& what);
  // The answer to the statement that was sent: of several results the first error, else the last.
  // `what` names the statement in errors.
  absl::StatusOr<PgResult> ReadResults(const std::string& what);
  // The same, or why libpq did not send it.
  absl::StatusOr<PgResult> Finish(bool sent, const std::string& what);
  // Asks the server to end the statement that it works on, which then fails.
  void Cancel();
  // Sends what libpq holds.
  absl::Status Flush(const std::string& what);
  // Waits a while for `events` of poll(2), and takes in what the server says.
  absl::Status Wait(short events, const std::string& what);
  std::unique_ptr<PGconn, void (*)(PGconn*)> connection_;
  Patience patience_;
  Time until_ = Time::max();
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
  // With all its digits: it reads back as the same number.
  CopyRows& AddExact(double number);
  CopyRows& AddNull();
  // The number, or NULL if `null`.
  template <typename Number>
  CopyRows& AddUnless(bool null, Number number) {
    return null ? AddNull() : Add(number);
  }
  void EndRow();
  bool empty() const { return rows_.empty(); }
  const std::string& rows() const { return rows_; }
  void Clear() { rows_.clear(); }

 private:
  void Separate();
  std::string rows_;
  bool begun_ = false;
};

// A COPY into a table whose rows are sent while further ones are made, so that the server works
// during that time. Without a row nothing is asked of the server. Until End() the connection is its
// own.
class CopyStream {
 public:
  CopyStream(PgConnection* connection, const std::string& table)
      : connection_(connection), statement_("COPY " + table + " FROM STDIN") {}
  // Not ended, because a row could not be made: the server is told to forget it.
  ~CopyStream();
  CopyRows& rows() { return rows_; }
  // Sends what there is, when it is worth sending.
  absl::Status Pass();
  absl::Status End();

 private:
  absl::Status Send();
  PgConnection* connection_;
  const std::string statement_;
  CopyRows rows_;
  bool begun_ = false;
};

}  // namespace lockstep::storage
