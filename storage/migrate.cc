#include "storage/migrate.h"

#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "spdlog/spdlog.h"
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

// Beside others that migrate, and of a store that is large.
const Patience kMigrationLockPatience{absl::Minutes(1)};
const Patience kMigrationPatience{absl::Hours(24)};

int VersionOf(const common::EmbeddedFile& file) { return atoi(file.name.c_str()); }

absl::Status ApplyAll(PgConnection* connection) {
  // One migrates at a time, whatever number of controllers starts at once.
  if (absl::Status status = connection->Execute(kBookkeeping); !status.ok()) return status;
  if (absl::Status status =
          connection->Execute("LOCK TABLE lockstep.schema_migrations IN SHARE ROW EXCLUSIVE MODE");
      !status.ok()) {
    return status;
  }
  auto newest = connection->Query("SELECT coalesce(max(version), 0) FROM schema_migrations");
  if (!newest.ok()) return newest.status();
  const int known = VersionOf(SchemaFiles().back());
  if (newest->Int(0, 0) > known) {
    return absl::FailedPreconditionError(
        absl::StrCat("the store's schema is version ", newest->Int(0, 0),
                     ", this program knows up to ", known, "; use a newer Lockstep"));
  }
  for (const common::EmbeddedFile& file : SchemaFiles()) {
    auto applied =
        connection->Query("SELECT digest = md5($2) FROM schema_migrations WHERE version = $1",
                          {absl::StrCat(VersionOf(file)), file.content});
    if (!applied.ok()) return applied.status();
    if (applied->rows() > 0 && applied->Bool(0, 0)) continue;
    if (applied->rows() > 0) {
      return absl::FailedPreconditionError(absl::StrCat("the store's schema has another migration ",
                                                        file.name, " than this program"));
    }
    connection->BePatient(kMigrationPatience);
    if (absl::Status status = connection->Execute(file.content); !status.ok()) {
      return absl::Status(status.code(), absl::StrCat("migration ", file.name, ": ",
                                                      std::string(status.message())));
    }
    auto noted = connection->Query(
        "INSERT INTO schema_migrations (version, name, digest) VALUES ($1, $2, md5($3))",
        {absl::StrCat(VersionOf(file)), file.name, file.content});
    if (!noted.ok()) return noted.status();
    spdlog::info("schema: applied {}", file.name);
  }
  return absl::OkStatus();
}

}  // namespace

namespace {

absl::Status MigrateOnce(PgConnection* connection) {
  connection->BePatient(kMigrationLockPatience);
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
  // Two that make the first schema at once: one is told that it is there.
  const absl::Status status = MigrateOnce(connection);
  return absl::IsAlreadyExists(status) ? MigrateOnce(connection) : status;
}

}  // namespace lockstep::storage
