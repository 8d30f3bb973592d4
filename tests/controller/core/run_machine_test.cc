#include "controller/core/run_machine.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "common/ids.h"
#include "gtest/gtest.h"

namespace lockstep::controller {
namespace {

RunPlan Plan(uint32_t workers, LossPolicy loss = LossPolicy::kAbort, uint32_t min_hosts = 1) {
  RunPlan plan;
  for (uint32_t i = 0; i < workers; ++i) plan.hosts.push_back("node" + std::to_string(i));
  plan.on_worker_loss = loss;
  plan.min_hosts = min_hosts;
  plan.arm_deadline_ns = 1000;
  plan.stop_deadline_ns = 1000;
  return plan;
}

// A job of three phases, planned one after the other.
class Planner {
 public:
  static PhasePlan Phase(size_t number) {
    const PhasePlan phases[] = {
        {.name = "prepare", .kind = PhaseKind::kPrepare, .run_deadline_ns = 1000},
        {.name = "mix", .kind = PhaseKind::kRun, .run_deadline_ns = 1000},
        {.name = "cleanup", .kind = PhaseKind::kCleanup, .run_deadline_ns = 1000, .last = true}};
    return phases[number];
  }
  explicit Planner(size_t next = 0) : next_(next) {}
  event::Planned Answer(const action::PlanNext& asked) {
    while (asked.cleanup_only && next_ < 2) ++next_;
    if (next_ == 3) return {};
    return {Phase(next_++), ""};
  }

 private:
  size_t next_;
};

template <typename A>
const A* Find(const std::vector<Action>& actions) {
  for (const Action& action : actions) {
    if (const A* found = std::get_if<A>(&action)) return found;
  }
  return nullptr;
}

// Walks the machine to a point of a phase.
class Driver {
 public:
  explicit Driver(RunPlan plan, ResumePoint from = {})
      : planner_(from.reached == ResumePoint::Reached::kNothing ? 0 : from.phase + 1),
        machine_(std::move(plan), Planned(std::move(from))) {
    Do(event::Begin{});
  }
  // What it is told is to be done; the next phase is planned at once.
  const std::vector<Action>& Do(const Event& event) {
    last_ = machine_.Handle(event);
    while (const auto* asked = Find<action::PlanNext>(last_)) {
      const event::Planned planned = planner_.Answer(*asked);
      last_.erase(last_.begin() + (IndexOf(asked)));
      for (Action& action : machine_.Handle(planned)) last_.push_back(std::move(action));
    }
    return last_;
  }
  void ToArming() { Do(event::PhaseRecorded{}); }
  void ToCommitting() {
    ToArming();
    for (uint32_t w : std::set<uint32_t>(machine_.members())) Do(event::Armed{w});
  }
  void ToRunning() {
    ToCommitting();
    Do(event::GoCommitted{});
  }
  void Complete() {
    ToRunning();
    for (uint32_t w : std::set<uint32_t>(machine_.members())) Deliver(w, "");
    Do(event::PhaseClosed{});
  }
  // The worker's result is stored, and it says that it does nothing any more.
  const std::vector<Action>& Deliver(uint32_t worker, const std::string& error) {
    Do(event::Idle{.worker = worker, .this_phase = true});
    return Do(event::ResultStored{worker, error});
  }
  RunMachine& machine() { return machine_; }
  const std::vector<Action>& last() const { return last_; }

 private:
  static ResumePoint Planned(ResumePoint from) {
    from.plan = Planner::Phase(from.phase);
    return from;
  }
  ptrdiff_t IndexOf(const action::PlanNext* asked) const {
    return std::find_if(
               last_.begin(), last_.end(),
               [&](const Action& a) { return std::get_if<action::PlanNext>(&a) == asked; }) -
           last_.begin();
  }
  Planner planner_;
  RunMachine machine_;
  std::vector<Action> last_;
};

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

// Random events in random order, some of them absurd: nothing starts before its time, and every run
// ends. Under `retry`, a phase without a worker's part comes to nothing; it is begun again when
// that worker is back.
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
      // What prepare made stays with cleanup, which needs no quorum.
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

TEST(RunMachineTest, ASuccessorRepeatsAnAttemptThatHadNoT) {
  ResumePoint from;
  from.reached = ResumePoint::Reached::kRecorded;
  from.phase = 1;
  Driver driver(Plan(2), from);
  // Whoever was armed is told to forget it, and all answer before the next attempt.
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

// What comes next may depend on results: where it cannot be planned the run has failed, and still
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
  // What was measured counts, and the run goes on.
  driver.Deliver(0, "");
  const auto* close = Find<action::ClosePhase>(driver.Deliver(1, ""));
  ASSERT_NE(close, nullptr);
  EXPECT_EQ(close->state, PhaseState::kDone);
  EXPECT_NE(Find<action::RecordPhase>(driver.Do(event::PhaseClosed{})), nullptr);
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

TEST(RunMachineDeathTest, AnAnswerToWhatWasNotAskedEndsTheProgram) {
  Driver driver(Plan(2));
  EXPECT_DEATH(driver.Do(event::Begin{}), "begins twice");
  EXPECT_DEATH(driver.Do(event::PhaseClosed{}), "in progress");
  EXPECT_DEATH(driver.Do(event::GoCommitted{}), "not to begin");
  EXPECT_DEATH(driver.Do(event::EndOfLoadCommitted{17}), "does not run");
  EXPECT_DEATH(driver.Do(event::Armed{2}), "another run");
}

// A run to which anything may happen at any time; checks what must hold during that time.
class RandomHistory {
 public:
  explicit RandomHistory(uint64_t seed)
      : seed_(seed),
        state_(seed),
        workers_(1 + static_cast<uint32_t>(Draw(4))),
        machine_(Plan(workers_, Draw(2) == 0 ? LossPolicy::kAbort : LossPolicy::kContinue,
                      1 + static_cast<uint32_t>(Draw(workers_)))) {}

  void Run() {
    Handle(event::Begin{});
    for (int step = 0; step < 400 && !machine_.over(); ++step) {
      const auto worker = static_cast<uint32_t>(Draw(workers_));
      // At the end nothing fails any more, and each deadline passes.
      const uint64_t what = Draw(step < 300 ? 12 : 8);
      what < 8 ? GoOn(what, worker) : Fail(what, worker);
      if (what == 7 && step >= 300) Handle(event::Deadline{token_});
    }
    EXPECT_TRUE(machine_.over()) << "seed " << seed_ << " stays in " << machine_.stage();
    EXPECT_EQ(ends_, 1) << "seed " << seed_;
    EXPECT_TRUE(machine_.Handle(event::Begin{}).empty());
  }

 private:
  uint64_t Draw(uint64_t bound) {
    return common::DeriveSeed(0, state_ = common::DeriveSeed(state_, 1)) % bound;
  }
  bool IsAt(const char* stage) const { return std::string(machine_.stage()) == stage; }

  void Handle(const Event& event) {
    for (const Action& action : machine_.Handle(event)) {
      if (const auto* asked = std::get_if<action::PlanNext>(&action)) {
        Handle(planner_.Answer(*asked));
      }
      Check(action);
    }
  }

  void Check(const Action& action) {
    if (std::get_if<action::RecordPhase>(&action) != nullptr) {
      armed_.clear();
      committed_ = false;
      recorded_ = true;
      EXPECT_FALSE(closing_) << "seed " << seed_;
    }
    if (std::get_if<action::CommitGo>(&action) != nullptr) {
      for (uint32_t w : machine_.members()) EXPECT_TRUE(armed_.count(w)) << "seed " << seed_;
    }
    if (std::get_if<action::SendGo>(&action) != nullptr) {
      EXPECT_TRUE(committed_) << "seed " << seed_;
    }
    if (const auto* d = std::get_if<action::SetDeadline>(&action)) {
      EXPECT_GT(d->token, token_) << "seed " << seed_;
      token_ = d->token;
    }
    if (std::get_if<action::ClosePhase>(&action) != nullptr) closing_ = true;
    ends_ += std::get_if<action::EndRun>(&action) != nullptr;
  }

  void GoOn(uint64_t what, uint32_t worker) {
    if (what < 2) {
      if (std::exchange(recorded_, false)) Handle(event::PhaseRecorded{});
    } else if (what < 4) {
      if (lost_.contains(worker) || !IsAt("arming")) return;
      armed_.insert(worker);
      Handle(event::Armed{worker});
    } else if (what == 4) {
      if (!IsAt("committing")) return;
      committed_ = true;
      Handle(event::GoCommitted{});
    } else if (what < 7) {
      if (!IsAt("running") && !IsAt("stopping")) return;
      if (Draw(8) != 0) Handle(event::Idle{.worker = worker, .this_phase = true});
      Handle(event::ResultStored{worker, Draw(20) == 0 ? "broken" : ""});
    } else if (std::exchange(closing_, false)) {
      Handle(event::PhaseClosed{});
    }
  }

  void Fail(uint64_t what, uint32_t worker) {
    if (what == 8 && Draw(10) == 0) {
      lost_.insert(worker);
      Handle(event::Lost{worker, "lost"});
    } else if (what == 9 && Draw(10) == 0) {
      Handle(event::Failed{worker, "failed"});
    } else if (what == 10 && Draw(30) == 0) {
      Handle(event::Stop{RunState::kCancelled, "stop", Draw(2) == 0});
    } else if (what == 11 && Draw(10) == 0) {
      Handle(event::Deadline{Draw(token_ + 2)});
    }
  }

  const uint64_t seed_;
  uint64_t state_;
  const uint32_t workers_;
  RunMachine machine_;
  Planner planner_;
  std::set<uint32_t> armed_, lost_;
  bool committed_ = false, recorded_ = false, closing_ = false;
  uint64_t token_ = 0;
  int ends_ = 0;
};

TEST(RunMachineTest, RandomHistoriesKeepTheInvariantsAndEnd) {
  const uint64_t seeds = getenv("LOCKSTEP_LONG") != nullptr ? 200000 : 3000;
  for (uint64_t seed = 0; seed < seeds && !testing::Test::HasFailure(); ++seed) {
    RandomHistory(seed).Run();
  }
}

}  // namespace
}  // namespace lockstep::controller
