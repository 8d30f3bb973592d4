// The write log: all workers' acknowledged writes to blocks with headers, as a stream.

#include <map>
#include <optional>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/timing.h"
#include "storage/pg_lease.h"
#include "storage/pg_store.h"
#include "storage/sql_values.h"

namespace lockstep::storage {
namespace {

// libpq holds a whole result in memory, so the rows are fetched from a cursor. One row can be as
// large as a batch of samples (limits::kBatchBytes), hence few at once.
constexpr int kBlockRowsAtOnce = 100;

using Attempt = std::pair<int64_t, int64_t>;  // phase, attempt

// Workers that have no result in an attempt whose load began and that has ended, by this attempt.
// The last writes of such a worker are unknown.
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
    unfinished.emplace(Attempt(rows->Int(i, "phase"), rows->Int(i, "attempt")),
                       static_cast<uint32_t>(rows->Int(i, "worker_index")));
  }
  return unfinished;
}

// Tells who was lost in the attempts before this one, and forgets them.
absl::Status ReportBefore(const Attempt& attempt, std::multimap<Attempt, uint32_t>* unfinished,
                          const Store::PutWriteLog& put) {
  while (!unfinished->empty() && unfinished->begin()->first < attempt) {
    v1::WriteLogPart part;
    // 0 stands for nobody in the message (proto/delivery.proto).
    part.set_unfinished(unfinished->begin()->second + 1);
    unfinished->erase(unfinished->begin());
    if (absl::Status status = put(std::move(part)); !status.ok()) return status;
  }
  return absl::OkStatus();
}

// A list of numbers as an array parameter takes it.
template <typename Numbers, typename Get>
std::string NumberArray(const Numbers& numbers, Get get) {
  return absl::StrCat("{",
                      absl::StrJoin(numbers, ",",
                                    [&](std::string* out, const auto& number) {
                                      absl::StrAppend(out, static_cast<int64_t>(get(number)));
                                    }),
                      "}");
}

// A row without runs voids what is known about blocks of other sizes than its own. It sorts before
// everything that its attempt wrote, because false comes before true in `runs <> ''`. Base64 is a
// third longer than the bytes, PostgreSQL's usual hex twice as long.
constexpr char kRows[] =
    "SELECT phase, attempt, target_key, block_size_bytes, encode(runs, 'base64') AS runs, "
    "worker_index, "
    "sequence, coalesce((extract(epoch FROM written_from) * 1000000)::bigint, 0) AS from_us, "
    "coalesce((extract(epoch FROM written_until) * 1000000)::bigint, 0) AS until_us FROM "
    "(SELECT b.* FROM block_writes b ";
constexpr char kAll[] =
    "WHERE b.run_id = $1 AND b.target_key = ANY ($2::bigint[]) AND "
    "(b.block_size_bytes = $3 OR b.runs = '') "
    "ORDER BY b.phase, b.attempt, b.runs <> '', b.worker_index, b.sequence) ordered";
// The reports of a phase's workers since the caller last received any.
constexpr char kSince[] =
    "LEFT JOIN unnest($6::int[], $7::bigint[]) AS received (worker_index, items) USING "
    "(worker_index) "
    "WHERE b.run_id = $1 AND b.target_key = ANY ($2::bigint[]) AND b.block_size_bytes = $3 AND "
    "b.runs <> '' AND b.phase = $4 AND b.attempt = $5 AND b.sequence >= coalesce(received.items, "
    "0) "
    "ORDER BY b.worker_index, b.sequence) ordered";

absl::Status DeclareRows(PgConnection* connection, const v1::WriteLogRequest& what) {
  const auto itself = [](uint64_t target_key) { return target_key; };
  std::vector<std::optional<std::string>> values = {what.run_id(),
                                                    NumberArray(what.target_keys(), itself),
                                                    absl::StrCat(what.block_size_bytes())};
  const bool is_since = what.has_phase();
  if (is_since) {
    values.push_back(absl::StrCat(what.phase().phase()));
    values.push_back(absl::StrCat(what.phase().attempt()));
    values.push_back(
        NumberArray(what.received(), [](const v1::ReportedBy& by) { return by.worker_index(); }));
    values.push_back(
        NumberArray(what.received(), [](const v1::ReportedBy& by) { return by.items(); }));
  }
  return connection
      ->Query(absl::StrCat("DECLARE block_writes_rows NO SCROLL CURSOR FOR ", kRows,
                           is_since ? kSince : kAll),
              values)
      .status();
}

absl::Status StreamBlockWrites(PgConnection* connection, const v1::WriteLogRequest& what,
                               const Store::PutWriteLog& put) {
  std::multimap<Attempt, uint32_t> unfinished;
  if (!what.has_phase()) {
    auto lost = Unfinished(connection, what.run_id());
    if (!lost.ok()) return lost.status();
    unfinished = *std::move(lost);
  }
  absl::Status status = DeclareRows(connection, what);
  if (!status.ok()) return status;
  while (true) {
    auto rows =
        connection->Query(absl::StrCat("FETCH ", kBlockRowsAtOnce, " FROM block_writes_rows"));
    if (!rows.ok()) return rows.status();
    if (rows->rows() == 0) break;
    for (int i = 0; i < rows->rows(); ++i) {
      status = ReportBefore({rows->Int(i, "phase"), rows->Int(i, "attempt")}, &unfinished, put);
      if (!status.ok()) return status;
      v1::WriteLogPart part;
      part.set_phase(static_cast<uint32_t>(rows->Int(i, "phase")));
      part.set_worker_index(static_cast<uint32_t>(rows->Int(i, "worker_index")));
      part.set_sequence(rows->UInt(i, "sequence"));
      v1::BlockWrites* writes = part.mutable_writes();
      writes->set_target_key(static_cast<uint64_t>(rows->Int(i, "target_key")));
      writes->set_block_size_bytes(static_cast<uint32_t>(rows->Int(i, "block_size_bytes")));
      writes->set_from_wall_ns(rows->Int(i, "from_us") * timing::kUs);
      writes->set_until_wall_ns(rows->Int(i, "until_us") * timing::kUs);
      if (!absl::Base64Unescape(rows->Text(i, "runs"), writes->mutable_runs())) {
        return absl::DataLossError("the store holds what is no encoding of blocks");
      }
      if (status = put(std::move(part)); !status.ok()) return status;
    }
  }
  // The attempts behind the last row may have lost workers, too.
  return ReportBefore({INT64_MAX, 0}, &unfinished, put);
}

}  // namespace

absl::Status PgStore::ReadBlockWrites(const v1::WriteLogRequest& what, const PutWriteLog& put) {
  auto lease = Connect(kWholeRunLimit);
  if (!lease.ok()) return lease.status();
  PgConnection* connection = lease->get();
  if (absl::Status begun = connection->Execute("BEGIN READ ONLY"); !begun.ok()) return begun;
  const absl::Status status = StreamBlockWrites(connection, what, put);
  const absl::Status ended = connection->Execute("ROLLBACK");
  return status.ok() ? ended : status;
}

}  // namespace lockstep::storage
