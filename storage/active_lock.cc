#include "storage/active_lock.h"

#include "absl/strings/str_cat.h"

namespace lockstep::storage {
namespace {

// A server that hangs must not keep a controller from ending.
const Patience kLockPatience{absl::Seconds(5)};

}  // namespace

absl::Status ActiveLock::Connect() {
  if (connection_ != nullptr && connection_->healthy()) {
    connection_->BePatient(kLockPatience);
    return absl::OkStatus();
  }
  held_ = false;
  auto opened = PgConnection::Open(conninfo_, kLockPatience);
  if (!opened.ok()) return opened.status();
  connection_ = *std::move(opened);
  auto named = connection_->Query(
      "SELECT set_config('application_name', $1, false), "
      // The lock lives as long as its transaction, which does nothing else.
      "set_config('idle_in_transaction_session_timeout', '0', false)",
      // PostgreSQL keeps 63 bytes of an application_name (NAMEDATALEN - 1).
      {who_.substr(0, 63)});
  if (named.ok()) return absl::OkStatus();
  connection_.reset();
  return named.status();
}

absl::StatusOr<bool> ActiveLock::Hold() {
  if (absl::Status status = Connect(); !status.ok()) return status;
  if (held_) {
    // Only the server knows whether the lock is still held. It may have ended the session, and this
    // side learns of that only by a statement.
    auto answer = connection_->Query("SELECT true");
    if (answer.ok()) return true;
    held_ = false;
    connection_.reset();
    return answer.status();
  }
  absl::Status status = connection_->Execute("BEGIN");
  if (status.ok()) {
    // A table's lock, not an advisory one: any role may take advisory locks and keep controllers
    // from ever becoming active. NOWAIT, since a lock that is waited for blocks everybody behind
    // it.
    status = connection_->Execute("LOCK TABLE controller_lock IN EXCLUSIVE MODE NOWAIT");
  }
  if (status.ok()) return held_ = true;
  const bool taken = connection_->healthy();
  const absl::Status ended = connection_->Execute("ROLLBACK");
  // LastError() makes an outage and a lock that another session has (55P03) the same status. Only
  // in the second case is the connection still healthy.
  if (taken && ended.ok() && absl::IsUnavailable(status)) return false;
  connection_.reset();
  return status;
}

std::string ActiveLock::Holder() {
  if (!Connect().ok()) return "";
  const auto rows = connection_->Query(
      "SELECT a.application_name || ', PostgreSQL process ' || a.pid AS holder FROM pg_locks l "
      "JOIN "
      "pg_stat_activity a USING (pid) "
      "WHERE l.relation = 'controller_lock'::regclass AND l.mode = 'ExclusiveLock' AND l.granted");
  return rows.ok() && rows->rows() == 1 ? rows->Text(0, "holder") : "";
}

}  // namespace lockstep::storage
