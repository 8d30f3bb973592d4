// The audit log in the store.

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "common/limits.h"
#include "storage/pg_lease.h"
#include "storage/pg_store.h"
#include "storage/sql_values.h"

namespace lockstep::storage {

absl::Status PgStore::AddAudit(const std::vector<v1::AuditEntry>& entries) {
  // One statement for all entries: with a statement for each, a burst of refused calls would cost
  // as many round trips.
  std::string array = "[";
  for (const v1::AuditEntry& entry : entries) {
    absl::StrAppend(&array, array.size() > 1 ? "," : "", Json(entry));
  }
  array += "]";
  // The identity column numbers the rows in the order of the SELECT, and Audit() sorts by it:
  // entries of one instant keep their order.
  return Transaction([&](PgConnection* connection) -> absl::Status {
    auto added = connection->Query(
        "INSERT INTO audit_log (at, principal, role, peer, action, subject, answer, details) "
        "SELECT (e->>'at')::timestamptz, coalesce(e->>'principal', ''), coalesce(e->>'role', ''), "
        "coalesce(e->>'peer', ''), coalesce(e->>'action', ''), coalesce(e->>'subject', ''), "
        "coalesce(e->>'answer', ''), coalesce(e->>'details', '') "
        "FROM jsonb_array_elements($1::jsonb) WITH ORDINALITY AS entries(e, number) "
        "ORDER BY number",
        {array});
    if (!added.ok()) return added.status();
    // The trigger keep_audit_log() (interface/1_functions.sql) refuses to delete entries of less
    // than 400 days. With a smaller kAuditDays it would refuse this statement, and the new entries
    // with it.
    return connection
        ->Query("DELETE FROM audit_log WHERE at < now() - $1::integer * interval '1 day'",
                {absl::StrCat(limits::kAuditDays)})
        .status();
  });
}

absl::StatusOr<v1::AuditReply> PgStore::Audit(const v1::AuditRequest& request) {
  auto lease = Connect();
  if (!lease.ok()) return lease.status();
  auto rows = (*lease)->Query(
      "SELECT to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"') AS at, "
      "principal, "
      "role, peer, action, subject, answer, details FROM audit_log "
      "WHERE ($1 = '' OR principal = $1) AND ($2 = '' OR action = $2) ORDER BY id DESC LIMIT $3",
      {request.principal(), request.action(),
       absl::StrCat(request.limit() == 0 ? 100 : request.limit())});
  if (!rows.ok()) return rows.status();
  v1::AuditReply reply;
  for (int row = 0; row < rows->rows(); ++row) {
    v1::AuditEntry* entry = reply.add_entries();
    entry->set_at(rows->Text(row, "at"));
    entry->set_principal(rows->Text(row, "principal"));
    entry->set_role(rows->Text(row, "role"));
    entry->set_peer(rows->Text(row, "peer"));
    entry->set_action(rows->Text(row, "action"));
    entry->set_subject(rows->Text(row, "subject"));
    entry->set_answer(rows->Text(row, "answer"));
    entry->set_details(rows->Text(row, "details"));
  }
  return reply;
}

}  // namespace lockstep::storage
