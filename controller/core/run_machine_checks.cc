// The invariants of a run after each event.

#include <algorithm>

#include "common/check.h"
#include "controller/core/run_machine.h"

namespace lockstep::controller {

bool RunMachine::MayFollow(Stage from, Stage to) {
  switch (from) {
    case Stage::kIdle:  // a resumed run begins in the stage that its controller had left it in
      return to == Stage::kPlanning || to == Stage::kRecording || to == Stage::kRejoining ||
             to == Stage::kRunning || to == Stage::kStopping || to == Stage::kOver;
    case Stage::kPlanning:
      return to == Stage::kPlanning || to == Stage::kRecording || to == Stage::kRejoining ||
             to == Stage::kOver;
    case Stage::kRecording:
      return to == Stage::kArming || to == Stage::kClosing;
    case Stage::kArming:
      return to == Stage::kCommitting || to == Stage::kStopping || to == Stage::kClosing;
    case Stage::kCommitting:
      return to == Stage::kRunning || to == Stage::kStopping || to == Stage::kClosing;
    case Stage::kRunning:
      return to == Stage::kStopping || to == Stage::kClosing;
    case Stage::kStopping:
      return to == Stage::kClosing;
    case Stage::kClosing:
      return to == Stage::kPlanning || to == Stage::kRecording || to == Stage::kRejoining ||
             to == Stage::kOver;
    case Stage::kRejoining:
      return to == Stage::kPlanning || to == Stage::kRecording || to == Stage::kOver;
    case Stage::kOver:
      return false;
  }
  return false;
}

void RunMachine::Enter(Stage stage) {
  LOCKSTEP_CHECK(MayFollow(stage_, stage), "a run enters a stage that cannot follow its own");
  stage_ = stage;
}

// A worker is in the run or lost, and only a worker in the run is armed or waited for. Code that
// breaks this waits for an answer that cannot come, or takes a lost worker's silence for consent.
void RunMachine::CheckSets() const {
  const auto within = [](const std::set<uint32_t>& some, const std::set<uint32_t>& all) {
    return std::includes(all.begin(), all.end(), some.begin(), some.end());
  };
  LOCKSTEP_CHECK(members_.size() + lost_.size() == plan_.hosts.size(), "a worker is counted twice");
  LOCKSTEP_CHECK(std::none_of(lost_.begin(), lost_.end(),
                              [this](uint32_t worker) { return members_.contains(worker); }),
                 "a lost worker takes part");
  LOCKSTEP_CHECK(within(armed_, members_), "a lost worker is armed");
  LOCKSTEP_CHECK(within(outstanding_, members_), "a lost worker is waited for");
  LOCKSTEP_CHECK(within(delivered_, members_), "a lost worker is to say that it is idle");
  LOCKSTEP_CHECK(within(unassigned_, members_), "a lost worker is to get the assignment");
  LOCKSTEP_CHECK(within(returned_, lost_), "a worker is back that was not lost");
  LOCKSTEP_CHECK(std::none_of(delivered_.begin(), delivered_.end(),
                              [this](uint32_t worker) { return outstanding_.contains(worker); }),
                 "a worker whose result is stored is waited for");
  LOCKSTEP_CHECK(within(written_off_, lost_), "a worker that takes part is written off");
}

// A successor and the quarantine of a lost worker go by whether T was committed. Code that breaks
// this frees the targets of a worker that may still do I/O.
void RunMachine::CheckStage() const {
  switch (stage_) {
    case Stage::kRecording:
    case Stage::kArming:
    case Stage::kCommitting:
      LOCKSTEP_CHECK(!start_committed_, "a phase has its go before all are armed");
      LOCKSTEP_CHECK(!end_of_load_, "the end of another phase's load ends this one");
      break;
    case Stage::kRunning:
      LOCKSTEP_CHECK(start_committed_, "a phase runs without a go");
      break;
    case Stage::kRejoining:
      LOCKSTEP_CHECK(!start_committed_ && !lost_.empty(), "a run waits for workers that are there");
      break;
    default:
      break;
  }
}

}  // namespace lockstep::controller
