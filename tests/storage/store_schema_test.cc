// Schemas of other versions, and what the reading role may do.

#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "tests/storage/store_fixture.h"

namespace lockstep::storage {
namespace {

TEST_F(StoreTest, OpeningAgainChangesNothingAndANewerSchemaIsRefused) {
  EXPECT_TRUE(PgStore::Open({cluster->server->conninfo(), "x", "again"}).ok());
  ASSERT_TRUE(
      connection_
          ->Execute(
              "INSERT INTO schema_migrations (version, name, digest) VALUES (9999, 'future', '')")
          .ok());
  const auto refused = PgStore::Open({cluster->server->conninfo(), "x", "again"});
  EXPECT_NE(refused.status().message().find("use a newer Lockstep"), absl::string_view::npos)
      << refused.status();
  ASSERT_TRUE(connection_->Execute("DELETE FROM schema_migrations WHERE version = 9999").ok());
}

// An active controller applies a newer interface while its own lock is held on another connection:
// a statement that waits for that lock would wait for ever.
TEST_F(StoreTest, TheInterfaceIsAppliedWhileTheControllersLockIsHeld) {
  auto holder = PgConnection::Open(cluster->server->conninfo());
  ASSERT_TRUE(holder.ok()) << holder.status();
  ASSERT_TRUE(
      (*holder)->Execute("BEGIN; LOCK TABLE lockstep.controller_lock IN EXCLUSIVE MODE").ok());
  ASSERT_TRUE(connection_->Execute("DELETE FROM schema_migrations WHERE version = 0").ok());
  const absl::Status opened = PgStore::Open({cluster->server->conninfo(), "x", "new"}).status();
  EXPECT_TRUE(opened.ok()) << opened;
  ASSERT_TRUE((*holder)->Execute("ROLLBACK").ok());
}

// The last migration of a store of the version before the baseline.
constexpr char kOldChain[] =
    "UPDATE schema_migrations SET name = '0022_stamps.sql', digest = "
    "'64d028b4e9f13da386833bf8771657ca' WHERE version = 22; "
    "INSERT INTO schema_migrations (version, name, digest) VALUES (21, '0021_names.sql', ''); "
    "DELETE FROM schema_migrations WHERE version = 0";

TEST_F(StoreTest, AStoreOfVersion22IsReadAndOlderOnesAreRefused) {
  const auto digest = [&](const std::string& version) {
    auto rows =
        connection_->Query("SELECT digest FROM schema_migrations WHERE version = $1", {version});
    return rows.ok() && rows->rows() == 1 ? rows->Text(0, "digest") : "none";
  };
  const std::string baseline = digest("22");
  ASSERT_TRUE(connection_->Execute(kOldChain).ok());
  ASSERT_TRUE(connection_->Execute("DROP VIEW lockstep.run_environment").ok());
  const absl::Status opened = PgStore::Open({cluster->server->conninfo(), "x", "old"}).status();
  EXPECT_TRUE(opened.ok()) << opened;
  // The interface was applied anew.
  EXPECT_TRUE(connection_->Query("SELECT * FROM lockstep.run_environment").ok());
  EXPECT_NE(digest("0"), "none");

  ASSERT_TRUE(
      connection_->Execute("UPDATE schema_migrations SET version = -version WHERE version >= 22")
          .ok());
  const auto refused = PgStore::Open({cluster->server->conninfo(), "x", "older"});
  EXPECT_TRUE(absl::IsFailedPrecondition(refused.status())) << refused.status();
  EXPECT_NE(refused.status().message().find("version 21, this program reads 22 and newer"),
            absl::string_view::npos)
      << refused.status();
  ASSERT_TRUE(connection_
                  ->Execute("DELETE FROM schema_migrations WHERE version = 21; "
                            "UPDATE schema_migrations SET version = -version WHERE version < 0")
                  .ok());
  ASSERT_TRUE(connection_
                  ->Query("UPDATE schema_migrations SET name = '0022_baseline.sql', digest = $1 "
                          "WHERE version = 22",
                          {baseline})
                  .ok());
}

TEST_F(StoreTest, TheReadingRoleReadsAndWritesNothing) {
  auto reader = PgConnection::Open(cluster->server->reader_conninfo());
  ASSERT_TRUE(reader.ok()) << reader.status();
  EXPECT_TRUE((*reader)->Query("SELECT * FROM lockstep.host_throughput").ok());
  EXPECT_EQ((*reader)
                ->Execute("SET default_transaction_read_only = off; DELETE FROM lockstep.events")
                .code(),
            absl::StatusCode::kPermissionDenied);
  EXPECT_EQ((*reader)->Query("DELETE FROM lockstep.events").status().code(),
            absl::StatusCode::kPermissionDenied);
}

// On an external server, whose administrator has given the store's owner no more than a database
// and the right to make roles.
TEST_F(StoreTest, AReadersSettingsAreResetByAnOwnerWhoIsNoSuperuser) {
  ASSERT_TRUE(connection_->Execute("CREATE ROLE plain LOGIN CREATEROLE").ok());
  ASSERT_TRUE(connection_->Execute("CREATE DATABASE plain OWNER plain").ok());
  const std::string there =
      cluster->server->conninfo() + " dbname=plain user=plain options='-csearch_path=lockstep'";
  auto plain = PgStore::Open({there, cluster->server->reader_conninfo(), "plain"});
  ASSERT_TRUE(plain.ok()) << plain.status();
  ASSERT_TRUE((*plain)->AcquireEpoch("plain").ok());
  const auto changed = [&] {
    return connection_
        ->Query(
            "SELECT count(*) AS n FROM pg_db_role_setting s JOIN pg_roles r ON r.oid = s.setrole "
            "WHERE r.rolname = 'lockstep_reader' AND 'statement_timeout=0' = ANY(s.setconfig)")
        ->Int(0, "n");
  };
  auto reader = PgConnection::Open(cluster->server->reader_conninfo());
  ASSERT_TRUE(reader.ok()) << reader.status();
  ASSERT_TRUE((*reader)->Execute("SET default_transaction_read_only = off").ok());
  ASSERT_TRUE((*reader)->Execute("ALTER ROLE lockstep_reader SET statement_timeout = 0").ok());
  ASSERT_EQ(changed(), 1);
  (*plain)->GuardReader();
  EXPECT_EQ(changed(), 0);
  // It says what it cannot do.
  auto owner = PgConnection::Open(there);
  ASSERT_TRUE(owner.ok()) << owner.status();
  const auto said = (*owner)->Query("SELECT lockstep.guard_reader(600) AS problem");
  ASSERT_TRUE(said.ok()) << said.status();
  EXPECT_TRUE(absl::StrContains(said->Text(0, "problem"), "pg_read_all_stats"))
      << said->Text(0, "problem");
  ASSERT_TRUE(connection_->Execute("GRANT pg_read_all_stats, pg_signal_backend TO plain").ok());
  const auto granted = (*owner)->Query("SELECT lockstep.guard_reader(600) AS problem");
  ASSERT_TRUE(granted.ok()) << granted.status();
  EXPECT_EQ(granted->Text(0, "problem"), "");
}

}  // namespace
}  // namespace lockstep::storage
