// The connection to a real, private PostgreSQL: what it says, what it refuses, and when it says nothing.

#include "storage/pg.h"

#include <signal.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "storage/pg_store.h"
#include "tests/storage/cluster.h"

namespace lockstep::storage {
namespace {

Cluster* const cluster = static_cast<Cluster*>(testing::AddGlobalTestEnvironment(new Cluster));

class PgTest : public testing::Test {
 protected:
  PgTest() : connection_(Open()) {}
  static std::unique_ptr<PgConnection> Open() {
    auto opened = PgConnection::Open(cluster->server->conninfo());
    EXPECT_TRUE(opened.ok()) << opened.status();
    return *std::move(opened);
  }
  static pid_t ServerOf(PgConnection* connection) { return static_cast<pid_t>(connection->Query("SELECT pg_backend_pid()")->Int(0, 0)); }

  std::unique_ptr<PgConnection> connection_;
};

TEST_F(PgTest, AnswersLargerThanAnyBufferComeWhole) {
  const auto rows = connection_->Query("SELECT i, repeat('x', 1000000) FROM generate_series(1, $1::int) i", {"16"});
  ASSERT_TRUE(rows.ok()) << rows.status();
  ASSERT_EQ(rows->rows(), 16);
  for (int i = 0; i < 16; ++i) EXPECT_EQ(rows->Text(i, 1).size(), 1000000u);
}

TEST_F(PgTest, RowsLargerThanAnyBufferAreCopied) {
  ASSERT_TRUE(connection_->Execute("CREATE TEMP TABLE large (i int, t text)").ok());
  CopyRows rows;
  for (int i = 0; i < 64; ++i) rows.Add(i).Add(std::string(500000, static_cast<char>('a' + i % 26))).EndRow();
  ASSERT_TRUE(connection_->Copy("COPY large FROM STDIN", rows.rows()).ok());
  const auto sums = connection_->Query("SELECT count(*), sum(length(t)) FROM large WHERE t = repeat(chr(97 + i % 26), 500000)");
  ASSERT_TRUE(sums.ok()) << sums.status();
  EXPECT_EQ(sums->Int(0, 0), 64);
  EXPECT_EQ(sums->Int(0, 1), 64 * 500000);
}

TEST_F(PgTest, ARefusedCopyIsSaidAndTheConnectionGoesOn) {
  ASSERT_TRUE(connection_->Execute("CREATE TEMP TABLE numbers (i int)").ok());
  std::string rows = "not a number\n";
  for (int i = 0; i < 1000000; ++i) rows += "12345\n";  // the refusal comes while this is being sent
  const absl::Status status = connection_->Copy("COPY numbers FROM STDIN", rows);
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), "not a number")) << status;
  EXPECT_TRUE(connection_->healthy());
  EXPECT_EQ(connection_->Query("SELECT count(*) FROM numbers")->Int(0, 0), 0);
  EXPECT_FALSE(connection_->Copy("COPY nowhere FROM STDIN", rows).ok());
  EXPECT_TRUE(connection_->Execute("SELECT 1").ok());
}

TEST_F(PgTest, OfSeveralStatementsTheFirstRefusalCounts) {
  const absl::Status status = connection_->Execute("SELECT 1; SELECT nonsense; SELECT 2");
  EXPECT_TRUE(absl::StrContains(status.message(), "nonsense")) << status;
  EXPECT_TRUE(connection_->Execute("SELECT 1; SELECT 2").ok());
}

TEST_F(PgTest, AServerThatSaysNothingIsAway) {
  connection_->set_answer_limit(absl::Milliseconds(200));
  const auto slow = connection_->Query("SELECT pg_sleep(600)");
  EXPECT_TRUE(absl::IsUnavailable(slow.status())) << slow.status();
  EXPECT_TRUE(absl::StrContains(slow.status().message(), "SELECT pg_sleep(600): no answer within 200ms")) << slow.status();
  // The answer might still come: nothing else is asked here.
  EXPECT_FALSE(connection_->healthy());
  EXPECT_TRUE(absl::IsUnavailable(connection_->Execute("SELECT 1")));
}

TEST_F(PgTest, AServerThatStopsReadingIsAway) {
  ASSERT_TRUE(connection_->Execute("CREATE TEMP TABLE large (t text)").ok());
  const pid_t server = ServerOf(connection_.get());
  ASSERT_EQ(kill(server, SIGSTOP), 0);
  const absl::Cleanup go_on = [&] { kill(server, SIGCONT); };
  connection_->set_answer_limit(absl::Milliseconds(300));
  const std::string rows(64 << 20, 'x');
  const absl::Status status = connection_->Copy("COPY large FROM STDIN", rows);
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  connection_.reset();  // it does not wait for the server either
}

TEST_F(PgTest, AServerThatIsEndedIsAway) {
  auto other = Open();
  ASSERT_TRUE(other->Query("SELECT pg_terminate_backend($1)", {std::to_string(ServerOf(connection_.get()))}).ok());
  const auto answer = connection_->Query("SELECT pg_sleep(10)");
  EXPECT_TRUE(absl::IsUnavailable(answer.status())) << answer.status();
  EXPECT_FALSE(connection_->healthy());
}

// A store whose changes may take a second.
class ImpatientStore : public testing::Test {
 protected:
  ImpatientStore() {
    PgStore::Options options;
    options.conninfo = cluster->server->conninfo();
    options.reader_conninfo = cluster->server->reader_conninfo();
    options.change_limit = absl::Seconds(1);
    auto opened = PgStore::Open(options);
    EXPECT_TRUE(opened.ok()) << opened.status();
    store_ = *std::move(opened);
    EXPECT_TRUE(store_->AcquireEpoch("test").ok());
  }
  std::unique_ptr<PgStore> store_;
};

TEST_F(ImpatientStore, WaitsForNobodysLockForLong) {
  auto other = PgConnection::Open(cluster->server->conninfo());
  ASSERT_TRUE(other.ok());
  ASSERT_TRUE((*other)->Execute("BEGIN; LOCK TABLE controller_epoch").ok());
  const absl::Status status = store_->StillActive();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), "statement timeout")) << status;
  ASSERT_TRUE((*other)->Execute("COMMIT").ok());
  EXPECT_TRUE(store_->StillActive().ok());
}

TEST_F(ImpatientStore, IsAwayWhileItsServerIsStoppedAndBackAfterwards) {
  auto other = PgConnection::Open(cluster->server->conninfo());
  ASSERT_TRUE(other.ok());
  const auto servers = (*other)->Query("SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()");
  ASSERT_TRUE(servers.ok());
  ASSERT_GT(servers->rows(), 0);
  std::vector<pid_t> stopped;
  for (int i = 0; i < servers->rows(); ++i) stopped.push_back(static_cast<pid_t>(servers->Int(i, 0)));
  for (pid_t pid : stopped) ASSERT_EQ(kill(pid, SIGSTOP), 0);
  const absl::Status status = store_->StillActive();
  for (pid_t pid : stopped) kill(pid, SIGCONT);
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_TRUE(store_->StillActive().ok());
}

}  // namespace
}  // namespace lockstep::storage
