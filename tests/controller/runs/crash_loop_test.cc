#include "controller/runs/crash_loop.h"

#include "controller/runs/recovered_state.h"
#include "gtest/gtest.h"
#include "tests/fakes/memory_store.h"

namespace lockstep::controller {
namespace {

// Samples of one run are what no controller wrote.
class OddStore : public storage::MemoryStore {
 public:
  using MemoryStore::MemoryStore;
  absl::Status ReadIntervals(const v1::PhaseId& id, storage::IntervalDetail detail,
                             const storage::TakeInterval& take) override {
    if (id.run_id() == "odd") return absl::DataLossError("no histogram");
    return MemoryStore::ReadIntervals(id, detail, take);
  }
};

class CrashLoopTest : public testing::Test {
 protected:
  CrashLoopTest() { EXPECT_TRUE(store_.AcquireEpoch("test").ok()); }

  // A run of one worker, queued or begun.
  void Add(const std::string& run_id, bool started) {
    measure::RunRecord run;
    run.run_id = run_id;
    run.job.add_phases()->mutable_run();
    run.job.mutable_deadlines()->set_drain_ns(1000000000);
    EXPECT_TRUE(store_.Enqueue(run).ok());
    if (!started) return;
    measure::RunWorker worker;
    worker.worker_id = "worker of " + run_id;
    EXPECT_TRUE(store_.StartRun(run_id, {worker}).ok());
  }

  storage::MemoryDatabase database_;
  OddStore store_{&database_, {}};
};

TEST_F(CrashLoopTest, ARunThatKilledTwoControllersEndsAndKeepsItsTargets) {
  Add("bad", /*started=*/true);
  Add("good", /*started=*/true);
  EXPECT_TRUE(QuarantineCrashing(&store_, {{"bad", 2}, {"good", 1}, {"forgotten", 9}},
                                 &common::SystemClock())
                  .ok());
  const auto active = store_.Active();
  ASSERT_EQ(active->size(), 1u);
  EXPECT_EQ((*active)[0].run.run_id, "good");
  const auto held = store_.Quarantines();
  ASSERT_EQ(held->size(), 1u);
  EXPECT_EQ((*held)[0].run_id, "bad");
  EXPECT_EQ((*held)[0].worker_id, "worker of bad");
  EXPECT_GT((*held)[0].quarantine_ns, 1000000000);
}

TEST_F(CrashLoopTest, ARunWhoseSamplesCannotBeReadFailsAlone) {
  for (const char* id : {"odd", "good"}) {
    Add(id, /*started=*/true);
    measure::PhaseRecord phase;
    phase.interval_ns = 1000000000;
    ASSERT_TRUE(store_.BeginPhase(id, phase, {}, {0}).ok());
    ASSERT_TRUE(store_.CommitGo(id, 0, 1, 123, 456, {{0, 0, 0}}).ok());
  }
  const auto inherited = RecoverState(&store_, &common::SystemClock());
  ASSERT_TRUE(inherited.ok()) << inherited.status();
  ASSERT_EQ(inherited->active.size(), 1u);
  EXPECT_EQ(inherited->active[0].run.run_id, "good");
  EXPECT_EQ(inherited->live.count("odd"), 0u);
  const auto run = store_.GetRun("odd");
  EXPECT_EQ(run->state, measure::RunState::kFailed);
  EXPECT_EQ(run->outcome, "quarantined: no histogram");
  ASSERT_EQ(inherited->quarantines.size(), 1u);
  EXPECT_EQ(inherited->quarantines[0].worker_id, "worker of odd");
}

TEST_F(CrashLoopTest, ARunThatWaitsIsEndedToo) {
  Add("bad", /*started=*/false);
  EXPECT_TRUE(QuarantineCrashing(&store_, {{"bad", 3}}, &common::SystemClock()).ok());
  EXPECT_TRUE(store_.Queue()->empty());
  EXPECT_TRUE(store_.Quarantines()->empty());
}

}  // namespace
}  // namespace lockstep::controller
