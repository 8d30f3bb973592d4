// Events that cannot happen, and random ones.

#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/ids.h"
#include "gtest/gtest.h"
#include "tests/controller/core/run_machine_driver.h"

namespace lockstep::controller {
namespace {

TEST(RunMachineDeathTest, AnAnswerToWhatWasNotAskedEndsTheProgram) {
  Driver driver(Plan(2));
  EXPECT_DEATH(driver.Do(event::Begin{}), "begins twice");
  EXPECT_DEATH(driver.Do(event::PhaseClosed{}), "in progress");
  EXPECT_DEATH(driver.Do(event::GoCommitted{}), "not to begin");
  EXPECT_DEATH(driver.Do(event::EndOfLoadCommitted{17}), "does not run");
  EXPECT_DEATH(driver.Do(event::Armed{2}), "another run");
}

// A run of three workers in each stage that it passes through, by the stage's name.
std::map<std::string, Driver> InEachStage() {
  std::map<std::string, Driver> stages;
  const auto keep = [&stages](const Driver& driver) {
    Driver copy = driver;
    stages.emplace(copy.machine().stage(), copy);
  };
  Driver driver(Plan(3, LossPolicy::kRetry));
  keep(driver);
  driver.ToArming();
  keep(driver);
  for (uint32_t worker = 0; worker < 3; ++worker) driver.Do(event::Armed{worker});
  keep(driver);
  driver.Do(event::GoCommitted{});
  keep(driver);
  driver.Do(event::Lost{2, "silent"});
  keep(driver);
  driver.Deliver(0, "");
  driver.Deliver(1, "");
  keep(driver);
  driver.Do(event::PhaseClosed{});
  keep(driver);
  driver.Do(event::Stop{RunState::kCancelled, "stop", true});
  keep(driver);
  return stages;
}

TEST(RunMachineDeathTest, AnAnswerIsTakenInTheStageThatWaitsForIt) {
  const std::map<std::string, std::pair<Event, std::set<std::string>>> answers = {
      {"a run begins twice", {event::Begin{}, {}}},
      {"a plan came", {event::Planned{}, {}}},
      {"another phase was recorded", {event::PhaseRecorded{}, {"recording"}}},
      {"not to begin", {event::GoCommitted{}, {"committing", "stopping", "closing"}}},
      {"does not run", {event::EndOfLoadCommitted{7}, {"running", "stopping", "closing"}}},
      {"was closed that is in progress", {event::PhaseClosed{}, {"closing"}}},
  };
  auto stages = InEachStage();
  EXPECT_EQ(stages.size(), 8u);
  for (auto& [stage, driver] : stages) {
    for (const auto& [bug, answer] : answers) {
      const auto& [event, taken] = answer;
      SCOPED_TRACE(absl::StrCat(stage, ": ", bug));
      Driver copy = driver;
      if (taken.contains(stage)) {
        copy.Do(event);
      } else {
        EXPECT_DEATH(copy.Do(event), bug);
      }
    }
  }
}

// Whatever a worker, a person or a timer says comes when it will, and twice.
TEST(RunMachineTest, MessagesAreTakenOrIgnoredInEachStage) {
  const Event messages[] = {
      event::Armed{1},
      event::Failed{1, "failed"},
      event::NotStarted{1, "late"},
      event::ResultStored{1, ""},
      event::Lost{1, "silent"},
      event::Rejoined{2},
      event::Attached{.worker = 1, .state = event::Attached::State::kRunning},
      event::Attached{.worker = 1, .state = event::Attached::State::kIdle, .this_phase = true},
      event::Idle{.worker = 1, .this_phase = true, .stopped = true},
      event::Doing{1, "reading"},
      event::EndLoad{},
      event::Deadline{0},
      event::Stop{RunState::kAborted, "stop"},
  };
  for (auto& [stage, driver] : InEachStage()) {
    SCOPED_TRACE(stage);
    for (const Event& message : messages) {
      Driver copy = driver;
      copy.Do(message);
      copy.Do(message);
      EXPECT_TRUE(stage != "over" || copy.last().empty());
    }
  }
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
    EXPECT_TRUE(machine_.Handle(event::Failed{0, "late"}).empty());
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

// Random events in random order, some of them absurd: nothing starts before its time, and every run
// ends.
TEST(RunMachineTest, RandomHistoriesKeepTheInvariantsAndEnd) {
  const uint64_t seeds = getenv("LOCKSTEP_LONG") != nullptr ? 200000 : 3000;
  for (uint64_t seed = 0; seed < seeds && !testing::Test::HasFailure(); ++seed) {
    RandomHistory(seed).Run();
  }
}

}  // namespace
}  // namespace lockstep::controller
