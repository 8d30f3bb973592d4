// A run that another controller began.

#include "gtest/gtest.h"
#include "tests/controller/core/run_machine_driver.h"

namespace lockstep::controller {
namespace {

TEST(RunMachineTest, ASuccessorRepeatsAnAttemptThatHadNoT) {
  ResumePoint from;
  from.reached = ResumePoint::Reached::kRecorded;
  from.phase = 1;
  Driver driver(Plan(2), from);
  // Armed workers are told to forget it, and all answer before the next attempt.
  ASSERT_NE(Find<action::StopNow>(driver.last()), nullptr);
  driver.Do(event::Idle{.worker = 0, .stopped = true});
  const auto* close =
      Find<action::ClosePhase>(driver.Do(event::Idle{.worker = 1, .stopped = true}));
  ASSERT_NE(close, nullptr);
  EXPECT_EQ(close->state, PhaseState::kVoid);
  const auto next = driver.Do(event::PhaseClosed{});
  ASSERT_NE(Find<action::RecordPhase>(next), nullptr);
  EXPECT_EQ(Find<action::RecordPhase>(next)->phase, 1u);
  EXPECT_EQ(Find<action::RecordPhase>(next)->attempt, 2u);
}

// A run that has begun phase 1 on two workers, whose first result is stored.
ResumePoint Begun() {
  ResumePoint from;
  from.reached = ResumePoint::Reached::kStartCommitted;
  from.phase = 1;
  from.stored = {{0, ""}};
  from.members = {0, 1};
  return from;
}

// Its controller ended before the store had its decision. The workers still know it.
TEST(RunMachineTest, ASuccessorEndsTheRunAsTheWorkersWereTold) {
  Driver driver(Plan(2), Begun());
  event::Attached done{.worker = 0, .state = event::Attached::State::kIdle, .this_phase = true};
  done.last_order = StopOrder{.kind = StopOrder::Kind::kEndRun,
                              .state = RunState::kCancelled,
                              .reason = "stopped by anna",
                              .skip_cleanup = true};
  const auto* ending = Find<action::RecordEnding>(driver.Do(done));
  ASSERT_NE(ending, nullptr);
  EXPECT_EQ(ending->state, RunState::kCancelled);
  EXPECT_EQ(ending->reason, "stopped by anna");
  EXPECT_TRUE(ending->skip_cleanup);
  // The other one, which did not hear of it, is told so.
  const auto* stop = Find<action::StopNow>(driver.last());
  ASSERT_NE(stop, nullptr);
  ASSERT_TRUE(stop->order.has_value());
  EXPECT_EQ(stop->order->state, RunState::kCancelled);
  EXPECT_TRUE(stop->order->skip_cleanup);
  const auto* close = Find<action::ClosePhase>(driver.Deliver(1, ""));
  ASSERT_NE(close, nullptr);
  EXPECT_EQ(close->state, PhaseState::kCancelled);
}

TEST(RunMachineTest, ASuccessorRepeatsAnAttemptThatWasBeingGivenUp) {
  Driver driver(Plan(2), Begun());
  event::Attached done{.worker = 0, .state = event::Attached::State::kIdle, .this_phase = true};
  done.last_order =
      StopOrder{.kind = StopOrder::Kind::kRepeat, .reason = "worker on node1 was lost"};
  event::Attached another = done;
  another.this_phase = false;
  EXPECT_EQ(Find<action::StopNow>(driver.Do(another)), nullptr);
  ASSERT_NE(Find<action::StopNow>(driver.Do(done)), nullptr);
  EXPECT_EQ(Find<action::StopNow>(driver.last())->order->kind, StopOrder::Kind::kRepeat);
  EXPECT_EQ(Find<action::RecordEnding>(driver.last()), nullptr);
  const auto* close = Find<action::ClosePhase>(driver.Deliver(1, ""));
  ASSERT_NE(close, nullptr);
  EXPECT_EQ(close->state, PhaseState::kVoid);
}

TEST(RunMachineTest, ASuccessorGoesOnWithAPhaseThatHasBegun) {
  Driver driver(Plan(2), Begun());
  EXPECT_TRUE(driver.machine().start_committed());
  EXPECT_EQ(Find<action::StopNow>(driver.last()), nullptr);
  // It is taken back while it runs; one whose go was lost while there is time left gets it again.
  EXPECT_TRUE(driver
                  .Do(event::Attached{
                      .worker = 1, .state = event::Attached::State::kRunning, .this_phase = true})
                  .empty());
  EXPECT_NE(Find<action::SendGo>(driver.Do(event::Attached{
                .worker = 1, .state = event::Attached::State::kArmed, .this_phase = true})),
            nullptr);
  // The one whose result was stored before has to say, too, that it does nothing.
  EXPECT_EQ(Find<action::ClosePhase>(driver.Deliver(1, "")), nullptr);
  EXPECT_NE(Find<action::ClosePhase>(driver.Do(event::Attached{
                .worker = 0, .state = event::Attached::State::kIdle, .this_phase = true})),
            nullptr);
}

TEST(RunMachineTest, ASuccessorEndsARunThatWasToEnd) {
  ResumePoint from;
  from.reached = ResumePoint::Reached::kStartCommitted;
  from.phase = 1;
  from.members = {0, 1};
  from.end_state = RunState::kCancelled;
  from.end_reason = "stopped by anna";
  Driver driver(Plan(2), from);
  EXPECT_NE(Find<action::StopNow>(driver.last()), nullptr);
  driver.Deliver(0, "");
  const auto* close = Find<action::ClosePhase>(driver.Deliver(1, ""));
  ASSERT_NE(close, nullptr);
  EXPECT_EQ(close->state, PhaseState::kCancelled);
}

TEST(RunMachineTest, ASuccessorEndsTheLoadWhereItsPredecessorDecided) {
  ResumePoint from;
  from.reached = ResumePoint::Reached::kStartCommitted;
  from.phase = 1;
  from.members = {0, 1};
  from.end_of_load = 5;
  Driver driver(Plan(2), from);
  EXPECT_EQ(Find<action::CommitEndOfLoad>(driver.Do(event::EndLoad{})), nullptr);
  const auto back = driver.Do(
      event::Attached{.worker = 0, .state = event::Attached::State::kRunning, .this_phase = true});
  ASSERT_NE(Find<action::SendEndOfLoad>(back), nullptr);
  EXPECT_EQ(Find<action::SendEndOfLoad>(back)->interval, 5u);
}

}  // namespace
}  // namespace lockstep::controller
