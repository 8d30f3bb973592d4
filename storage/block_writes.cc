// What the fleet knows of blocks with headers, as a stream.

#include <map>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "storage/pg_lease.h"
#include "storage/pg_store.h"
#include "storage/sql_values.h"

namespace lockstep::storage {
namespace {

constexpr int kRowsAtOnce = 100;

using Attempt = std::pair<int64_t, int64_t>;  // phase, attempt

// Workers whose load began, and who have no result: by the attempt that ended without it.
absl::StatusOr<std::multimap<Attempt, uint32_t>> Unfinished(PgConnection* connection,
                                                            const std::string& run_id) {
  auto rows = connection->Query(
      "SELECT p.phase, p.attempt, c.worker_index FROM cursors c "
      "JOIN phases p USING (run_id, phase, attempt) "
      "LEFT JOIN worker_results r USING (run_id, phase, attempt, worker_index) "
      "WHERE c.run_id = $1 AND r.run_id IS NULL AND p.go_at IS NOT NULL "
      "AND p.ended_at IS NOT NULL AND p.kind IN ('run', 'precondition')",
      {run_id});
  if (!rows.ok()) return rows.status();
  std::multimap<Attempt, uint32_t> unfinished;
  for (int i = 0; i < rows->rows(); ++i) {
    unfinished.emplace(Attempt(rows->Int(i, 0), rows->Int(i, 1)),
                       static_cast<uint32_t>(rows->Int(i, 2)));
  }
  return unfinished;
}

// Tells who was lost in the attempts before this one, and forgets them.
absl::Status TellBefore(const Attempt& attempt, std::multimap<Attempt, uint32_t>* unfinished,
                        const Store::PutKnowledge& put) {
  while (!unfinished->empty() && unfinished->begin()->first < attempt) {
    v1::KnowledgePart part;
    part.set_unfinished(unfinished->begin()->second + 1);
    unfinished->erase(unfinished->begin());
    if (absl::Status status = put(std::move(part)); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status StreamBlockWrites(PgConnection* connection, const std::string& run_id,
                               const std::vector<uint64_t>& places, uint32_t block_size_bytes,
                               const Store::PutKnowledge& put) {
  auto unfinished = Unfinished(connection, run_id);
  if (!unfinished.ok()) return unfinished.status();
  const std::string list =
      absl::StrCat("{",
                   absl::StrJoin(places, ",",
                                 [](std::string* out, uint64_t place) {
                                   absl::StrAppend(out, static_cast<int64_t>(place));
                                 }),
                   "}");
  auto declared = connection->Query(
      // A row without runs says that blocks of another size than its own are known no more; it
      // comes before what its attempt wrote.
      "DECLARE block_writes_rows NO SCROLL CURSOR FOR SELECT phase, attempt, place, "
      "block_size_bytes, encode(runs, 'base64') FROM block_writes WHERE run_id = $1 AND place = "
      "ANY ($2::bigint[]) AND (block_size_bytes = $3 OR runs = '') "
      "ORDER BY phase, attempt, runs <> '', worker_index, sequence",
      {run_id, list, absl::StrCat(block_size_bytes)});
  if (!declared.ok()) return declared.status();
  while (true) {
    auto rows = connection->Query(absl::StrCat("FETCH ", kRowsAtOnce, " FROM block_writes_rows"));
    if (!rows.ok()) return rows.status();
    if (rows->rows() == 0) break;
    for (int i = 0; i < rows->rows(); ++i) {
      absl::Status status = TellBefore({rows->Int(i, 0), rows->Int(i, 1)}, &*unfinished, put);
      if (!status.ok()) return status;
      v1::KnowledgePart part;
      part.mutable_writes()->set_place(static_cast<uint64_t>(rows->Int(i, 2)));
      part.mutable_writes()->set_block_size_bytes(static_cast<uint32_t>(rows->Int(i, 3)));
      if (!absl::Base64Unescape(rows->Text(i, 4), part.mutable_writes()->mutable_runs())) {
        return absl::InternalError("the store holds what is no encoding of blocks");
      }
      if (status = put(std::move(part)); !status.ok()) return status;
    }
  }
  return TellBefore({INT64_MAX, 0}, &*unfinished, put);
}

}  // namespace

absl::Status PgStore::ReadBlockWrites(const std::string& run_id,
                                      const std::vector<uint64_t>& places,
                                      uint32_t block_size_bytes, const PutKnowledge& put) {
  auto lease = Connect(kWholeRunLimit);
  if (!lease.ok()) return lease.status();
  PgConnection* connection = lease->get();
  if (absl::Status begun = connection->Execute("BEGIN READ ONLY"); !begun.ok()) return begun;
  const absl::Status status = StreamBlockWrites(connection, run_id, places, block_size_bytes, put);
  const absl::Status ended = connection->Execute("ROLLBACK");
  return status.ok() ? ended : status;
}

}  // namespace lockstep::storage
