// Devices' stamps in the store.

#include "absl/strings/str_cat.h"
#include "common/limits.h"
#include "storage/pg_lease.h"
#include "storage/pg_store.h"
#include "storage/sql_values.h"

namespace lockstep::storage {
namespace {

absl::Status AddStamp(PgConnection* connection, const measure::StampRecord& stamp) {
  // A retry of a call whose answer was lost finds its number in `known` and changes nothing.
  // Without that it would end the stamp that it has added itself. The first call cannot: all parts
  // of a WITH see one snapshot, from before the INSERT (PostgreSQL, "Data-Modifying Statements in
  // WITH").
  auto added = connection->Query(
      "WITH known AS (SELECT FROM device_stamps WHERE number = $1), "
      "succeeded AS (UPDATE device_stamps SET ended_by = $5, ended_at = $6 "
      "WHERE ended_at IS NULL AND device_key = $7 AND NOT EXISTS (SELECT FROM known)) "
      "INSERT INTO device_stamps (number, identity, host, path, enrolled_by, enrolled_at, "
      "device_key) VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING",
      {stamp.number, stamp.identity, stamp.host, stamp.path, stamp.enrolled_by,
       Utc(stamp.enrolled_ns), stamp.device_key});
  return added.status();
}

}  // namespace

absl::StatusOr<std::vector<measure::StampRecord>> PgStore::Stamps() {
  auto lease = Connect();
  if (!lease.ok()) return lease.status();
  auto rows = (*lease)->Query(
      "SELECT number, device_key, identity, host, path, enrolled_by, "
      "(extract(epoch FROM enrolled_at) * 1000000)::bigint AS enrolled_us, "
      "coalesce(ended_by, '') AS ended_by, "
      "coalesce((extract(epoch FROM ended_at) * 1000000)::bigint, 0) AS ended_us "
      "FROM device_stamps ORDER BY enrolled_at, number");
  if (!rows.ok()) return rows.status();
  // timestamptz has microseconds. extract() gives a numeric since PostgreSQL 14, so that none of
  // them is lost.
  constexpr int64_t kUs = 1000;
  std::vector<measure::StampRecord> stamps;
  for (int row = 0; row < rows->rows(); ++row) {
    measure::StampRecord& stamp = stamps.emplace_back();
    stamp.number = rows->Text(row, "number");
    stamp.device_key = rows->Text(row, "device_key");
    stamp.identity = rows->Text(row, "identity");
    stamp.host = rows->Text(row, "host");
    stamp.path = rows->Text(row, "path");
    stamp.enrolled_by = rows->Text(row, "enrolled_by");
    stamp.enrolled_ns = rows->Int(row, "enrolled_us") * kUs;
    stamp.ended_by = rows->Text(row, "ended_by");
    stamp.ended_ns = rows->Int(row, "ended_us") * kUs;
  }
  return stamps;
}

absl::Status PgStore::AddStamps(const std::vector<measure::StampRecord>& stamps) {
  return Transaction([&](PgConnection* connection) -> absl::Status {
    for (const measure::StampRecord& stamp : stamps) {
      if (absl::Status added = AddStamp(connection, stamp); !added.ok()) return added;
    }
    return connection
        ->Query("DELETE FROM device_stamps WHERE ended_at < now() - $1::integer * interval '1 day'",
                {absl::StrCat(limits::kAuditDays)})
        .status();
  });
}

absl::Status PgStore::EndStamps(const std::vector<std::string>& numbers, const std::string& by,
                                int64_t at_wall_ns) {
  const google::protobuf::RepeatedPtrField<std::string> texts(numbers.begin(), numbers.end());
  return Run(
      // A repeated call must not replace who ended a stamp, and when.
      "UPDATE device_stamps SET ended_by = $2, ended_at = $3 "
      "WHERE number = ANY ($1::uuid[]) AND ended_at IS NULL",
      {TextArray(texts), by, Utc(at_wall_ns)});
}

}  // namespace lockstep::storage
