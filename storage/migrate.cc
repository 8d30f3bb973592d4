#include "storage/migrate.h"

#include <algorithm>
#include <cstdlib>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/log.h"
#include "storage/schema_files.h"

namespace lockstep::storage {
namespace {

constexpr char kBookkeeping[] = R"(
  CREATE SCHEMA IF NOT EXISTS lockstep;
  CREATE TABLE IF NOT EXISTS lockstep.schema_migrations (
    version integer PRIMARY KEY,
    name text NOT NULL,
    digest text NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT now()))";

// The first limits the wait for another controller that migrates, the second a change of the tables
// of a large store.
const Patience kMigrationLockPatience{absl::Minutes(1)};
const Patience kMigrationPatience{absl::Hours(24)};

// The version of the oldest schema that this program reads: the file with this number makes a whole
// schema. Before it there were 22 files, the last of which left exactly the baseline's tables.
constexpr int kBaseline = 22;
constexpr char kLastBeforeBaseline[] = "0022_stamps.sql";
constexpr char kLastBeforeBaselineDigest[] = "64d028b4e9f13da386833bf8771657ca";
// The row of schema_migrations with the digest of all files of the interface.
constexpr char kInterfaceVersion[] = "0";
constexpr char kInterfacePrefix[] = "interface/";

int VersionOf(const common::EmbeddedFile& file) { return atoi(file.name.c_str()); }

bool IsInterface(const common::EmbeddedFile& file) {
  return absl::StartsWith(file.name, kInterfacePrefix);
}

absl::Status Apply(PgConnection* connection, const common::EmbeddedFile& file) {
  connection->BePatient(kMigrationPatience);
  const absl::Status status = connection->Execute(file.content);
  if (status.ok()) return status;
  return absl::Status(status.code(),
                      absl::StrCat("schema file ", file.name, ": ", std::string(status.message())));
}

// FAILED_PRECONDITION where this program can neither read the schema of this version nor upgrade
// it.
absl::Status CheckVersion(int version) {
  int known = 0;
  for (const common::EmbeddedFile& file : SchemaFiles()) known = std::max(known, VersionOf(file));
  if (version > known) {
    return absl::FailedPreconditionError(absl::StrCat("the store's schema is version ", version,
                                                      ", this program knows up to ", known,
                                                      "; use a newer Lockstep"));
  }
  if (version > 0 && version < kBaseline) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the store's schema is version ", version, ", this program reads ", kBaseline,
        " and newer; open the store once with Lockstep's commit be9fcf5, which upgrades it to ",
        kBaseline, ", or give --store another database"));
  }
  return absl::OkStatus();
}

// Applies a numbered file unless it has been.
absl::Status ApplyOnce(PgConnection* connection, const common::EmbeddedFile& file) {
  const std::string version = absl::StrCat(VersionOf(file));
  auto applied = connection->Query(
      "SELECT digest = md5($2) OR version = $3 AND name = $4 AND digest = $5 AS same "
      "FROM schema_migrations WHERE version = $1",
      {version, file.content, absl::StrCat(kBaseline), kLastBeforeBaseline,
       kLastBeforeBaselineDigest});
  if (!applied.ok()) return applied.status();
  if (applied->rows() > 0) {
    // The digests differ where the file was edited after it had been applied: the store then lacks
    // the tables that this program expects.
    if (applied->Bool(0, "same")) return absl::OkStatus();
    return absl::FailedPreconditionError(
        absl::StrCat("the store's schema has another migration ", file.name, " than this program"));
  }
  if (absl::Status status = Apply(connection, file); !status.ok()) return status;
  log::Info("schema: applied {}", file.name);
  return connection
      ->Query("INSERT INTO schema_migrations (version, name, digest) VALUES ($1, $2, md5($3))",
              {version, file.name, file.content})
      .status();
}

// Applies the interface unless the store has exactly this one. Its files replace what is there, so
// that they need no history. A view whose columns change otherwise than by new ones at its end is
// dropped by a numbered file first.
absl::Status ApplyInterface(PgConnection* connection) {
  std::string content;
  for (const common::EmbeddedFile& file : SchemaFiles()) {
    if (IsInterface(file)) content += file.content;
  }
  auto same =
      connection->Query("SELECT 1 FROM schema_migrations WHERE version = $1 AND digest = md5($2)",
                        {kInterfaceVersion, content});
  if (!same.ok()) return same.status();
  if (same->rows() > 0) return absl::OkStatus();
  for (const common::EmbeddedFile& file : SchemaFiles()) {
    if (!IsInterface(file)) continue;
    if (absl::Status status = Apply(connection, file); !status.ok()) return status;
  }
  log::Info("schema: applied the interface");
  return connection
      ->Query(
          "INSERT INTO schema_migrations (version, name, digest) VALUES ($1, $2, md5($3)) "
          "ON CONFLICT (version) DO UPDATE SET digest = EXCLUDED.digest, applied_at = now()",
          {kInterfaceVersion, kInterfacePrefix, content})
      .status();
}

absl::Status ApplyAll(PgConnection* connection) {
  // One controller migrates at a time, however many start at once. SHARE ROW EXCLUSIVE conflicts
  // with itself, and lets others read the table.
  if (absl::Status status = connection->Execute(kBookkeeping); !status.ok()) return status;
  if (absl::Status status =
          connection->Execute("LOCK TABLE lockstep.schema_migrations IN SHARE ROW EXCLUSIVE MODE");
      !status.ok()) {
    return status;
  }
  auto newest =
      connection->Query("SELECT coalesce(max(version), 0) AS version FROM schema_migrations");
  if (!newest.ok()) return newest.status();
  if (absl::Status status = CheckVersion(newest->Int(0, "version")); !status.ok()) {
    return status;
  }
  for (const common::EmbeddedFile& file : SchemaFiles()) {
    if (IsInterface(file)) continue;
    if (absl::Status status = ApplyOnce(connection, file); !status.ok()) return status;
  }
  return ApplyInterface(connection);
}

absl::Status MigrateOnce(PgConnection* connection) {
  connection->BePatient(kMigrationLockPatience);
  // DDL is transactional in PostgreSQL: a migration that fails, or whose controller dies, leaves
  // the schema as it was.
  if (absl::Status status = connection->Execute("BEGIN"); !status.ok()) return status;
  const absl::Status status = ApplyAll(connection);
  if (!status.ok()) {
    (void)connection->Execute("ROLLBACK");
    return status;
  }
  return connection->Execute("COMMIT");
}

}  // namespace

absl::Status Migrate(PgConnection* connection) {
  // Two controllers may make the first schema at once. CREATE … IF NOT EXISTS then fails for one of
  // them with a unique violation (ALREADY_EXISTS), and its second try finds the schema.
  const absl::Status status = MigrateOnce(connection);
  return absl::IsAlreadyExists(status) ? MigrateOnce(connection) : status;
}

}  // namespace lockstep::storage
