// Lost workers: what becomes of the run by policy, and attempts that are repeated.

#include "gtest/gtest.h"
#include "tests/controller/core/run_machine_driver.h"

namespace lockstep::controller {
namespace {

TEST(RunMachineTest, ALostWorkerAbortsOrDegradesByPolicy) {
  Driver aborting(Plan(3));
  aborting.ToRunning();
  EXPECT_NE(Find<action::StopNow>(aborting.Do(event::Lost{1, "kill -9"})), nullptr);

  Driver going_on(Plan(3, LossPolicy::kContinue, 2));
  going_on.ToRunning();
  EXPECT_EQ(Find<action::StopNow>(going_on.Do(event::Lost{1, "kill -9"})), nullptr);
  going_on.Deliver(0, "");
  EXPECT_NE(Find<action::ClosePhase>(going_on.Deliver(2, "")), nullptr);
  going_on.Do(event::PhaseClosed{});
  going_on.Complete();
  going_on.Complete();
  EXPECT_TRUE(Find<action::EndRun>(going_on.last())->degraded);

  Driver too_few(Plan(3, LossPolicy::kContinue, 3));
  too_few.ToRunning();
  EXPECT_NE(Find<action::StopNow>(too_few.Do(event::Lost{1, "kill -9"})), nullptr);
}

TEST(RunMachineTest, ALostWorkerDuringArmingLetsTheOthersGo) {
  Driver driver(Plan(2, LossPolicy::kContinue));
  driver.ToArming();
  driver.Do(event::Armed{0});
  const auto* go = Find<action::CommitGo>(driver.Do(event::Lost{1, "gone"}));
  ASSERT_NE(go, nullptr);
  EXPECT_EQ(go->workers, std::vector<uint32_t>{0});
}

// Under `retry`, a phase without a worker's part comes to nothing; it is begun again when that
// worker is back.
TEST(RunMachineTest, RetryBeginsThePhaseAgainWithTheWorkerThatCameBack) {
  RunPlan plan = Plan(3, LossPolicy::kRetry);
  plan.rejoin_ns = 77;
  Driver driver(plan);
  driver.Complete();
  driver.ToRunning();
  driver.Deliver(0, "");
  const auto lost = driver.Do(event::Lost{1, "silent"});
  ASSERT_NE(Find<action::RecordLost>(lost), nullptr);
  EXPECT_EQ(Find<action::RecordLost>(lost)->worker, 1u);
  ASSERT_NE(Find<action::StopNow>(lost), nullptr);
  EXPECT_EQ(Find<action::StopNow>(lost)->workers, (std::vector<uint32_t>{0, 2}));
  const auto* close = Find<action::ClosePhase>(driver.Deliver(2, ""));
  ASSERT_NE(close, nullptr);
  EXPECT_EQ(close->state, PhaseState::kVoid);
  const auto rejoining = driver.Do(event::PhaseClosed{});
  EXPECT_STREQ(driver.machine().stage(), "rejoining");
  ASSERT_NE(Find<action::SetDeadline>(rejoining), nullptr);
  EXPECT_EQ(Find<action::SetDeadline>(rejoining)->after_ns, 77);
  const auto back = driver.Do(event::Rejoined{1});
  ASSERT_NE(Find<action::RecordBack>(back), nullptr);
  ASSERT_NE(Find<action::RecordPhase>(back), nullptr);
  EXPECT_EQ(Find<action::RecordPhase>(back)->attempt, 2u);
  EXPECT_EQ(Find<action::RecordPhase>(back)->workers, (std::vector<uint32_t>{0, 1, 2}));
  driver.Complete();
  driver.Complete();
  const auto* end = Find<action::EndRun>(driver.last());
  ASSERT_NE(end, nullptr);
  EXPECT_EQ(end->state, RunState::kDone);
  EXPECT_FALSE(end->degraded);
}

TEST(RunMachineTest, RetryGoesOnWithoutAWorkerThatStaysAwayWhileEnoughAreLeft) {
  for (const bool enough : {true, false}) {
    Driver driver(Plan(2, LossPolicy::kRetry, enough ? 1 : 2));
    driver.ToRunning();
    driver.Do(event::Lost{1, "silent"});
    driver.Deliver(0, "");
    const uint64_t token = Find<action::SetDeadline>(driver.Do(event::PhaseClosed{}))->token;
    const auto actions = driver.Do(event::Deadline{token});
    if (enough) {
      ASSERT_NE(Find<action::RecordPhase>(actions), nullptr);
      EXPECT_EQ(Find<action::RecordPhase>(actions)->workers, std::vector<uint32_t>{0});
      for (int phase = 0; phase < 3; ++phase) {
        if (driver.machine().over()) break;
        driver.Complete();
        EXPECT_STRNE(driver.machine().stage(), "rejoining");  // once is enough
      }
      ASSERT_NE(Find<action::EndRun>(driver.last()), nullptr);
      EXPECT_EQ(Find<action::EndRun>(driver.last())->state, RunState::kDone);
      EXPECT_TRUE(Find<action::EndRun>(driver.last())->degraded);
    } else {
      // Cleanup, which needs no quorum, removes the files that prepare made.
      EXPECT_EQ(driver.machine().phase(), 1u);
      driver.Complete();
      ASSERT_NE(Find<action::EndRun>(driver.last()), nullptr);
      EXPECT_EQ(Find<action::EndRun>(driver.last())->state, RunState::kAborted);
      EXPECT_NE(Find<action::EndRun>(driver.last())->outcome.find("did not return: node1"),
                std::string::npos);
    }
  }
}

TEST(RunMachineTest, APhaseIsBegunAgainThreeTimesAtMost) {
  Driver driver(Plan(2));
  for (uint32_t attempt = 1; attempt <= kMaxAttempts; ++attempt) {
    EXPECT_EQ(driver.machine().attempt(), attempt);
    driver.ToRunning();
    driver.Do(event::NotStarted{0, "the go came 3 ms after T"});
    const auto* close = Find<action::ClosePhase>(driver.Deliver(1, ""));
    ASSERT_NE(close, nullptr);
    EXPECT_EQ(close->state, attempt < kMaxAttempts ? PhaseState::kVoid : PhaseState::kAborted);
    driver.Do(event::PhaseClosed{});
  }
  driver.Complete();  // cleanup
  ASSERT_NE(Find<action::EndRun>(driver.last()), nullptr);
  EXPECT_NE(Find<action::EndRun>(driver.last())->outcome.find("(attempt 4 of 4)"),
            std::string::npos);
}

}  // namespace
}  // namespace lockstep::controller
