// Rows that no controller wrote harm nothing but their own run.

#include <set>

#include "absl/strings/match.h"
#include "common/limits.h"
#include "gtest/gtest.h"
#include "tests/storage/store_fixture.h"

namespace lockstep::storage {
namespace {

// One odd row ends its own run, holds what that may still write to, and takes nothing of others.
TEST_F(StoreTest, ARunWithARowThatNoControllerWroteIsQuarantined) {
  const struct {
    const char* change;
    bool ranges_known;
  } cases[] = {
      {"UPDATE runs SET spec = '[]' WHERE run_id = $1", false},
      {"UPDATE runs SET spec = '7' WHERE run_id = $1", false},
      {"UPDATE runs SET spec = '{\"targets\": 7}' WHERE run_id = $1", false},
      {"UPDATE run_workers SET inspection = '{\"targets\": 7}' WHERE run_id = $1", false},
      {"UPDATE run_workers SET hello = '[]' WHERE run_id = $1", true},
      {"UPDATE phases SET go_at = 'infinity' WHERE run_id = $1", true},
      {"UPDATE phases SET go_at = '294276-01-01' WHERE run_id = $1", true},
      {"UPDATE phases SET figures = '[]' WHERE run_id = $1", true},
      {"UPDATE phases SET spec = '\"\"' WHERE run_id = $1", true},
  };
  for (const auto& odd : cases) {
    SCOPED_TRACE(odd.change);
    const std::string good_id = Begin().run_id();
    const std::string odd_id = Begin().run_id();
    auto changed = connection_->Query(odd.change, {odd_id});
    ASSERT_TRUE(changed.ok()) << changed.status();
    for (int i = 0; i < 2; ++i) {  // by the controller that finds it, and by the next one
      auto active = store_->Active();
      ASSERT_TRUE(active.ok()) << active.status();
      std::set<std::string> ids;
      for (const ActiveRun& run : *active) ids.insert(run.run.run_id);
      EXPECT_TRUE(ids.contains(good_id));
      EXPECT_FALSE(ids.contains(odd_id));
    }
    auto ended = connection_->Query(
        "SELECT state, outcome, (SELECT count(*) FROM events e WHERE e.run_id = r.run_id AND "
        "severity = 'error') AS errors FROM runs r WHERE run_id = $1",
        {odd_id});
    ASSERT_TRUE(ended.ok()) << ended.status();
    EXPECT_EQ(ended->Text(0, "state"), "failed");
    EXPECT_TRUE(absl::StartsWith(ended->Text(0, "outcome"), "quarantined: "))
        << ended->Text(0, "outcome");
    EXPECT_EQ(ended->Int(0, "errors"), 1);
    auto held = store_->Quarantines();
    ASSERT_TRUE(held.ok()) << held.status();
    std::set<std::string> hosts;
    for (const Quarantine& quarantine : *held) {
      if (quarantine.run_id != odd_id) continue;
      hosts.insert(quarantine.host);
      EXPECT_EQ(quarantine.is_unknown, !odd.ranges_known);
      EXPECT_EQ(quarantine.quarantine_ns, limits::kDefaultQuarantineNs);
    }
    EXPECT_EQ(hosts, (std::set<std::string>{"node0", "node1"}));
    EXPECT_TRUE(store_->LoadRun(good_id).ok());
    EXPECT_TRUE(store_->Figures({good_id, odd_id}).ok());
    EXPECT_TRUE(store_->EndRun(good_id, {.state = measure::RunState::kDone}).ok());
  }
}

TEST_F(StoreTest, AQueuedRunWithAnOddJobIsQuarantined) {
  measure::RunRecord run;
  run.run_id = common::NewUuid();
  ASSERT_TRUE(store_->Enqueue(run).ok());
  ASSERT_TRUE(
      connection_->Query("UPDATE runs SET spec = '[1]' WHERE run_id = $1", {run.run_id}).ok());
  auto queue = store_->Queue();
  ASSERT_TRUE(queue.ok()) << queue.status();
  for (const measure::RunRecord& other : *queue) EXPECT_NE(other.run_id, run.run_id);
  auto ended = connection_->Query("SELECT state FROM runs WHERE run_id = $1", {run.run_id});
  EXPECT_EQ(ended->Text(0, "state"), "failed");
}

TEST_F(StoreTest, SettingsThatAreNoListTakeNoOthersAway) {
  const v1::PhaseId phase = Begin();
  const auto insert = connection_->Query(
      "INSERT INTO worker_results (run_id, phase, attempt, worker_index, result, error) VALUES "
      "($1, 0, 1, 0, '{\"settings\": null}', ''), ($1, 0, 1, 1, '{\"settings\": [{\"name\": "
      "\"x\"}]}', '')",
      {phase.run_id()});
  ASSERT_TRUE(insert.ok()) << insert.status();
  auto rows =
      connection_->Query("SELECT setting FROM phase_settings WHERE run_id = $1", {phase.run_id()});
  ASSERT_TRUE(rows.ok()) << rows.status();
  ASSERT_EQ(rows->rows(), 1);
  EXPECT_EQ(rows->Text(0, "setting"), "x");
}

}  // namespace
}  // namespace lockstep::storage
