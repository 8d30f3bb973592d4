// A run without losses: its phases in order, the barrier before the go, stops.

#include "gtest/gtest.h"
#include "tests/controller/core/run_machine_driver.h"

namespace lockstep::controller {
namespace {

TEST(RunMachineTest, AllPhasesInOrderThenDone) {
  Driver driver(Plan(2));
  driver.Complete();
  EXPECT_EQ(driver.machine().phase(), 1u);
  driver.Complete();
  driver.Complete();
  const auto* end = Find<action::EndRun>(driver.last());
  ASSERT_NE(end, nullptr);
  EXPECT_EQ(end->state, RunState::kDone);
  EXPECT_FALSE(end->degraded);
  EXPECT_TRUE(driver.machine().over());
}

// A result says that a worker is done; only its own word on the commands' stream proves that its
// load has ended.
TEST(RunMachineTest, AResultAloneClosesNothingBeforeTheDeadline) {
  Driver driver(Plan(2));
  driver.Complete();
  driver.ToRunning();
  uint64_t token = 0;
  for (const Action& action : driver.last()) {
    if (const auto* deadline = std::get_if<action::SetDeadline>(&action)) token = deadline->token;
  }
  driver.Deliver(0, "");
  EXPECT_EQ(Find<action::ClosePhase>(driver.Do(event::ResultStored{1, ""})), nullptr);
  EXPECT_STREQ(driver.machine().stage(), "running");
  Driver confirmed = driver;
  EXPECT_NE(Find<action::ClosePhase>(confirmed.Do(event::Idle{.worker = 1, .this_phase = true})),
            nullptr);
  Driver reattached = driver;
  EXPECT_NE(Find<action::ClosePhase>(reattached.Do(event::Attached{
                .worker = 1, .state = event::Attached::State::kIdle, .this_phase = true})),
            nullptr);
  // By the deadline it has ended by itself.
  EXPECT_NE(Find<action::ClosePhase>(driver.Do(event::Deadline{token})), nullptr);
}

TEST(RunMachineTest, NoGoBeforeAllAreArmedAndItIsOnDisk) {
  Driver driver(Plan(3));
  driver.ToArming();
  EXPECT_EQ(Find<action::CommitGo>(driver.Do(event::Armed{0})), nullptr);
  EXPECT_EQ(Find<action::CommitGo>(driver.Do(event::Armed{0})), nullptr);  // twice the same one
  EXPECT_EQ(Find<action::CommitGo>(driver.Do(event::Armed{2})), nullptr);
  const auto last = driver.Do(event::Armed{1});
  EXPECT_NE(Find<action::CommitGo>(last), nullptr);
  EXPECT_EQ(Find<action::SendGo>(last), nullptr);
  EXPECT_NE(Find<action::SendGo>(driver.Do(event::GoCommitted{})), nullptr);
}

TEST(RunMachineTest, AWorkerThatCannotArmStopsTheOthersAndTheirAnswersAreAwaited) {
  Driver driver(Plan(2));
  driver.ToArming();
  driver.Do(event::Armed{1});
  const auto actions = driver.Do(event::Failed{0, "/x: no such file"});
  EXPECT_NE(Find<action::StopNow>(actions), nullptr);
  EXPECT_EQ(Find<action::ClosePhase>(actions), nullptr);
  const auto* close = Find<action::ClosePhase>(driver.Deliver(1, ""));
  ASSERT_NE(close, nullptr);
  EXPECT_EQ(close->state, PhaseState::kFailed);
  EXPECT_EQ(close->reason, "phase prepare failed on node0: /x: no such file");
}

TEST(RunMachineTest, AfterAFailureOnlyCleanupIsRunAndTheFirstReasonStays) {
  Driver driver(Plan(2));
  driver.Complete();
  driver.ToRunning();
  driver.Deliver(0, "disk gone");
  driver.Deliver(1, "other");
  driver.Do(event::PhaseClosed{});
  EXPECT_EQ(driver.machine().phase(), 2u);
  driver.Complete();
  const auto* end = Find<action::EndRun>(driver.last());
  ASSERT_NE(end, nullptr);
  EXPECT_EQ(end->state, RunState::kFailed);
  EXPECT_EQ(end->outcome, "phase mix on node0: disk gone");
}

TEST(RunMachineTest, StopNowSkipsCleanup) {
  Driver driver(Plan(1));
  driver.Complete();
  driver.ToRunning();
  EXPECT_NE(Find<action::StopNow>(driver.Do(
                event::Stop{.state = RunState::kCancelled, .reason = "enough", .now = true})),
            nullptr);
  driver.Deliver(0, "");
  const auto* end = Find<action::EndRun>(driver.Do(event::PhaseClosed{}));
  ASSERT_NE(end, nullptr);
  EXPECT_EQ(end->state, RunState::kCancelled);
}

TEST(RunMachineTest, AMissedBarrierNamesWhoMissedIt) {
  Driver driver(Plan(3));
  driver.ToArming();
  const auto* deadline = Find<action::SetDeadline>(driver.last());
  ASSERT_NE(deadline, nullptr);
  const uint64_t token = deadline->token;
  driver.Do(event::Armed{1});
  const auto* stop = Find<action::StopNow>(driver.Do(event::Deadline{token}));
  ASSERT_NE(stop, nullptr);
  EXPECT_NE(stop->reason.find("not armed before the deadline: node0, node2"), std::string::npos)
      << stop->reason;
  EXPECT_TRUE(driver.Do(event::Deadline{token}).empty());  // an old token means nothing
}

// A worker that is busy with another phase is stopped first; the assignment follows its answer.
TEST(RunMachineTest, AWorkerThatIsBusyElsewhereIsStoppedBeforeItIsAssigned) {
  Driver driver(Plan(2));
  driver.ToArming();
  driver.Do(event::Armed{0});
  EXPECT_NE(Find<action::StopNow>(
                driver.Do(event::Attached{.worker = 1, .state = event::Attached::State::kRunning})),
            nullptr);
  const auto* assign = Find<action::Assign>(driver.Do(event::Idle{.worker = 1, .stopped = true}));
  ASSERT_NE(assign, nullptr);
  EXPECT_EQ(assign->workers, std::vector<uint32_t>{1});
}

// The next phase may depend on results: if it cannot be planned, the run has failed, and still
// cleans up.
TEST(RunMachineTest, ARunWhoseNextPhaseCannotBePlannedFailsAndCleansUp) {
  RunMachine machine(Plan(1));
  ASSERT_NE(Find<action::PlanNext>(machine.Handle(event::Begin{})), nullptr);
  const auto actions = machine.Handle(event::Planned{std::nullopt, "phase x reached no IOPS"});
  const auto* asked = Find<action::PlanNext>(actions);
  ASSERT_NE(asked, nullptr);
  EXPECT_TRUE(asked->cleanup_only);
  ASSERT_NE(Find<action::RecordEnding>(actions), nullptr);
  EXPECT_EQ(Find<action::RecordEnding>(actions)->state, RunState::kFailed);
  const auto begun = machine.Handle(event::Planned{Planner::Phase(2), ""});
  EXPECT_NE(Find<action::RecordPhase>(begun), nullptr);
}

TEST(RunMachineTest, AStopWhileAPhaseIsPlannedLeavesOnlyCleanup) {
  RunMachine machine(Plan(1));
  machine.Handle(event::Begin{});
  machine.Handle(event::Stop{.state = RunState::kCancelled, .reason = "stop"});
  const auto again = machine.Handle(event::Planned{Planner::Phase(1), ""});
  ASSERT_NE(Find<action::PlanNext>(again), nullptr);
  EXPECT_TRUE(Find<action::PlanNext>(again)->cleanup_only);
  EXPECT_NE(Find<action::EndRun>(machine.Handle(event::Planned{})), nullptr);
}

TEST(RunMachineTest, ALoadEndsAtOneIntervalOnAllHostsOnceItIsInTheStore) {
  Driver driver(Plan(2));
  driver.Do(event::EndLoad{});  // nothing runs yet
  EXPECT_TRUE(driver.last().empty());
  driver.Complete();
  driver.ToRunning();
  const auto commit = driver.Do(event::EndLoad{});
  ASSERT_NE(Find<action::CommitEndOfLoad>(commit), nullptr);
  EXPECT_EQ(Find<action::SendEndOfLoad>(commit), nullptr);
  EXPECT_TRUE(driver.Do(event::EndLoad{}).empty());  // once is enough
  const auto* send = Find<action::SendEndOfLoad>(driver.Do(event::EndOfLoadCommitted{17}));
  ASSERT_NE(send, nullptr);
  EXPECT_EQ(send->interval, 17u);
  EXPECT_EQ(send->workers, (std::vector<uint32_t>{0, 1}));
  // One that was away when it was sent hears it when it is back.
  const auto back = driver.Do(
      event::Attached{.worker = 1, .state = event::Attached::State::kRunning, .this_phase = true});
  ASSERT_NE(Find<action::SendEndOfLoad>(back), nullptr);
  EXPECT_EQ(Find<action::SendEndOfLoad>(back)->workers, std::vector<uint32_t>{1});
  // The measurements count, and the run goes on.
  driver.Deliver(0, "");
  const auto* close = Find<action::ClosePhase>(driver.Deliver(1, ""));
  ASSERT_NE(close, nullptr);
  EXPECT_EQ(close->state, PhaseState::kDone);
  EXPECT_NE(Find<action::RecordPhase>(driver.Do(event::PhaseClosed{})), nullptr);
}

}  // namespace
}  // namespace lockstep::controller
