// The connection to a real, private PostgreSQL: what it says, what it refuses, and when it says
// nothing.

#include "storage/pg.h"

#include <signal.h>

#include <atomic>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "storage/pg_store.h"
#include "tests/storage/cluster.h"

namespace lockstep::storage {
namespace {

Cluster* const cluster = static_cast<Cluster*>(testing::AddGlobalTestEnvironment(new Cluster));

std::unique_ptr<PgConnection> Open() {
  auto opened = PgConnection::Open(cluster->server->conninfo());
  EXPECT_TRUE(opened.ok()) << opened.status();
  return *std::move(opened);
}

class PgTest : public testing::Test {
 protected:
  PgTest() : connection_(Open()) {}
  static pid_t ServerOf(PgConnection* connection) {
    return static_cast<pid_t>(connection->Query("SELECT pg_backend_pid() AS pid")->Int(0, "pid"));
  }

  std::unique_ptr<PgConnection> connection_;
};

// Until `condition` holds of the connection's server, or of any (0).
bool AwaitServer(PgConnection* observer, pid_t server, const std::string& condition) {
  const std::string pid = std::to_string(server);
  for (int i = 0; i < 6000; ++i) {
    const auto found = observer->Query(
        "SELECT FROM pg_stat_activity WHERE $1 IN ('0', pid::text) AND " + condition, {pid});
    if (found.ok() && found->rows() > 0) return true;
    absl::SleepFor(absl::Milliseconds(10));
  }
  return false;
}

TEST_F(PgTest, AnswersLargerThanAnyBufferComeWhole) {
  const auto rows = connection_->Query(
      "SELECT i, repeat('x', 1000000) AS text FROM generate_series(1, $1::int) i", {"16"});
  ASSERT_TRUE(rows.ok()) << rows.status();
  ASSERT_EQ(rows->rows(), 16);
  for (int i = 0; i < 16; ++i) EXPECT_EQ(rows->Text(i, "text").size(), 1000000u);
}

TEST_F(PgTest, RowsLargerThanAnyBufferAreCopied) {
  ASSERT_TRUE(connection_->Execute("CREATE TEMP TABLE large (i int, t text)").ok());
  CopyRows rows;
  for (int i = 0; i < 64; ++i) {
    rows.Add(i).Add(std::string(500000, static_cast<char>('a' + i % 26))).EndRow();
  }
  ASSERT_TRUE(connection_->Copy("COPY large FROM STDIN", rows.rows()).ok());
  const auto sums = connection_->Query(
      "SELECT count(*), sum(length(t)) FROM large WHERE t = repeat(chr(97 + i % 26), 500000)");
  ASSERT_TRUE(sums.ok()) << sums.status();
  EXPECT_EQ(sums->Int(0, "count"), 64);
  EXPECT_EQ(sums->Int(0, "sum"), 64 * 500000);
}

TEST_F(PgTest, ARefusedCopyIsSaidAndTheConnectionGoesOn) {
  ASSERT_TRUE(connection_->Execute("CREATE TEMP TABLE numbers (i int)").ok());
  std::string rows = "not a number\n";
  // the refusal comes while this is being sent
  for (int i = 0; i < 1000000; ++i) rows += "12345\n";
  const absl::Status status = connection_->Copy("COPY numbers FROM STDIN", rows);
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), "not a number")) << status;
  EXPECT_TRUE(connection_->healthy());
  EXPECT_EQ(connection_->Query("SELECT count(*) FROM numbers")->Int(0, "count"), 0);
  EXPECT_FALSE(connection_->Copy("COPY nowhere FROM STDIN", rows).ok());
  EXPECT_TRUE(connection_->Execute("SELECT 1").ok());
}

TEST_F(PgTest, OfSeveralStatementsTheFirstRefusalCounts) {
  const absl::Status status = connection_->Execute("SELECT 1; SELECT nonsense; SELECT 2");
  EXPECT_TRUE(absl::StrContains(status.message(), "nonsense")) << status;
  EXPECT_TRUE(connection_->Execute("SELECT 1; SELECT 2").ok());
}

TEST_F(PgTest, AServerThatSaysNothingIsAway) {
  connection_->BePatient({absl::Milliseconds(200)});
  const auto slow = connection_->Query("SELECT pg_sleep(600)");
  EXPECT_TRUE(absl::IsUnavailable(slow.status())) << slow.status();
  EXPECT_TRUE(
      absl::StrContains(slow.status().message(), "SELECT pg_sleep(600): no answer within 200ms"))
      << slow.status();
  // The answer might still come: nothing else is asked here.
  EXPECT_FALSE(connection_->healthy());
  EXPECT_TRUE(absl::IsUnavailable(connection_->Execute("SELECT 1")));
}

TEST_F(PgTest, AServerThatReadsNoMoreIsAway) {
  ASSERT_TRUE(connection_
                  ->Execute("CREATE TEMP TABLE slow (t text); "
                            "CREATE FUNCTION pg_temp.sleep() RETURNS trigger LANGUAGE plpgsql AS "
                            "'BEGIN PERFORM pg_sleep(600); RETURN new; END'; "
                            "CREATE TRIGGER slow BEFORE INSERT ON slow FOR EACH ROW EXECUTE "
                            "FUNCTION pg_temp.sleep()")
                  .ok());
  const pid_t server = ServerOf(connection_.get());
  std::string rows;
  for (int i = 0; i < 64; ++i) rows += std::string(1 << 20, 'x') + "\n";
  connection_->BePatient({absl::Seconds(1)});
  const absl::Status status = connection_->Copy("COPY slow FROM STDIN", rows);
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  connection_.reset();  // it does not wait for the server either
  ASSERT_TRUE(Open()->Query("SELECT pg_terminate_backend($1)", {std::to_string(server)}).ok());
}

TEST_F(PgTest, NothingIsWaitedForAfterGivingUp) {
  std::atomic<bool> given_up{false};
  connection_->BePatient({absl::InfiniteDuration(), &given_up});
  ASSERT_TRUE(connection_->Execute("SELECT 1").ok());
  const pid_t server = ServerOf(connection_.get());
  std::thread later([&] {
    EXPECT_TRUE(AwaitServer(Open().get(), server, "wait_event = 'PgSleep'"));
    given_up = true;
  });
  const auto slow = connection_->Query("SELECT pg_sleep(600)");
  later.join();
  EXPECT_TRUE(absl::StrContains(slow.status().message(), "not waited for any longer"))
      << slow.status();
}

TEST_F(PgTest, AServerThatIsEndedIsAway) {
  auto other = Open();
  ASSERT_TRUE(
      other->Query("SELECT pg_terminate_backend($1)", {std::to_string(ServerOf(connection_.get()))})
          .ok());
  const auto answer = connection_->Query("SELECT pg_sleep(10)");
  EXPECT_TRUE(absl::IsUnavailable(answer.status())) << answer.status();
  EXPECT_FALSE(connection_->healthy());
}

// A store whose changes may take two seconds.
class ImpatientStore : public testing::Test {
 protected:
  ImpatientStore() {
    PgStore::Options options;
    options.conninfo = cluster->server->conninfo();
    options.reader_conninfo = cluster->server->reader_conninfo();
    options.change_limit = absl::Seconds(2);
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
  const auto servers = (*other)->Query(
      "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> "
      "pg_backend_pid()");
  ASSERT_TRUE(servers.ok());
  ASSERT_GT(servers->rows(), 0);
  std::vector<pid_t> stopped;
  for (int i = 0; i < servers->rows(); ++i) {
    stopped.push_back(static_cast<pid_t>(servers->Int(i, "pid")));
  }
  const auto go_on = [&] {
    for (pid_t pid : stopped) kill(pid, SIGCONT);
  };
  {
    const absl::Cleanup always = go_on;
    for (pid_t pid : stopped) kill(pid, SIGSTOP);
    const absl::Status status = store_->StillActive();
    EXPECT_TRUE(absl::IsUnavailable(status)) << status;
    EXPECT_TRUE(absl::StrContains(status.message(), "no answer within 2s")) << status;
  }
  EXPECT_TRUE(store_->StillActive().ok());
}

// A call whose answer was lost may come to its end only now: what is asked for again waits for
// that.
TEST_F(ImpatientStore, ARunThatIsJustBeingEnqueuedIsEnqueuedOnce) {
  auto other = PgConnection::Open(cluster->server->conninfo());
  ASSERT_TRUE(other.ok());
  const std::string id = "99999999-9999-4999-8999-999999999999";
  ASSERT_TRUE((*other)
                  ->Execute("BEGIN; INSERT INTO runs (run_id, job, spec, source, owner, state, "
                            "seed) VALUES ('" +
                            id + "', 'job', '{}', '', 'me', 'queued', 1)")
                  .ok());
  std::thread later([&] {
    EXPECT_TRUE(AwaitServer(Open().get(), 0, "wait_event_type = 'Lock'"));
    EXPECT_TRUE((*other)->Execute("COMMIT").ok());
  });
  measure::RunRecord run;
  run.run_id = id;
  run.job.set_name("job");
  const absl::Status status = store_->Enqueue(run);
  later.join();
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_TRUE(store_->EndRun(id, {.state = measure::RunState::kCancelled}).ok());
  EXPECT_EQ(store_->GetRun(id)->state, measure::RunState::kCancelled);
}

// One call finds out whether the server is back; the others do not queue up behind it.
TEST_F(ImpatientStore, WhileItIsSilentOneCallAtATimeAsks) {
  auto other = PgConnection::Open(cluster->server->conninfo());
  bool told = false;
  while (!told) {
    ASSERT_TRUE((*other)
                    ->Execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE "
                              "backend_type = 'client backend' AND pid <> pg_backend_pid()")
                    .ok());
    EXPECT_TRUE(absl::IsUnavailable(store_->StillActive()));  // silent from now on
    ASSERT_TRUE((*other)->Execute("BEGIN; LOCK TABLE controller_epoch").ok());
    std::vector<absl::Status> answers(2);
    std::thread first([&] { answers[0] = store_->StillActive(); });
    std::thread second([&] { answers[1] = store_->StillActive(); });
    first.join();
    second.join();
    ASSERT_TRUE((*other)->Execute("COMMIT").ok());
    for (const absl::Status& answer : answers) {
      EXPECT_TRUE(absl::IsUnavailable(answer)) << answer;
      told = told || answer.message() == "PostgreSQL does not answer";
    }
  }
  EXPECT_TRUE(store_->StillActive().ok());
}

}  // namespace
}  // namespace lockstep::storage
