#include "controller/service/set_aside.h"

#include "gtest/gtest.h"
#include "tests/fakes/memory_store.h"

namespace lockstep::controller {
namespace {

class SetAsideTest : public testing::Test {
 protected:
  SetAsideTest() { EXPECT_TRUE(store_.AcquireEpoch("test").ok()); }

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
  storage::MemoryStore store_{&database_, {}};
};

TEST_F(SetAsideTest, ARunThatBroughtTwoControllersDownEndsAndItsTargetsStayHeldForItsWorkers) {
  Add("bad", true);
  Add("good", true);
  EXPECT_TRUE(
      SetAside(&store_, {{"bad", 2}, {"good", 1}, {"forgotten", 9}}, &common::SystemClock()).ok());
  const auto active = store_.Active();
  ASSERT_EQ(active->size(), 1u);
  EXPECT_EQ((*active)[0].run.run_id, "good");
  const auto held = store_.Held();
  ASSERT_EQ(held->size(), 1u);
  EXPECT_EQ((*held)[0].run_id, "bad");
  EXPECT_EQ((*held)[0].worker_id, "worker of bad");
  EXPECT_GT((*held)[0].hold_ns, 1000000000);
}

TEST_F(SetAsideTest, ARunThatWaitsIsEndedToo) {
  Add("bad", false);
  EXPECT_TRUE(SetAside(&store_, {{"bad", 3}}, &common::SystemClock()).ok());
  EXPECT_TRUE(store_.Queue()->empty());
  EXPECT_TRUE(store_.Held()->empty());
}

}  // namespace
}  // namespace lockstep::controller
