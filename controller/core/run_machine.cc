#include "controller/core/run_machine.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/check.h"

namespace lockstep::controller {

using common::Safeguard;

RunMachine::RunMachine(RunPlan plan, common::Safeguards safeguards)
    : RunMachine(std::move(plan), ResumePoint(), safeguards) {}

RunMachine::RunMachine(RunPlan plan, ResumePoint from, common::Safeguards safeguards)
    : plan_(std::move(plan)),
      safeguards_(safeguards),
      from_(std::move(from)),
      phase_(from_.phase),
      attempt_(from_.attempt),
      current_(from_.plan),
      next_phase_(from_.reached == ResumePoint::Reached::kNothing ? 0 : from_.phase + 1),
      end_of_load_(from_.end_of_load),
      lost_(from_.lost),
      degraded_(from_.degraded),
      skip_cleanup_(from_.skip_cleanup),
      end_state_(from_.end_state),
      end_reason_(from_.end_reason) {
  for (uint32_t i = 0; i < plan_.hosts.size(); ++i) {
    if (!lost_.contains(i)) members_.insert(i);
  }
}

const char* RunMachine::stage() const {
  // The names stand in the order of Stage.
  static constexpr const char* kNames[] = {"idle",       "planning", "recording", "arming",
                                           "committing", "running",  "stopping",  "closing",
                                           "rejoining",  "over"};
  return kNames[static_cast<int>(stage_)];
}

std::vector<Action> RunMachine::Handle(const Event& event) {
  actions_.clear();
  // Messages of workers may still arrive after the run's end.
  if (stage_ == Stage::kOver) return {};
  std::visit(
      [this](const auto& e) {
        if constexpr (requires { e.worker; }) {
          LOCKSTEP_CHECK(e.worker < plan_.hosts.size(), "an event is of a worker of another run");
        }
        On(e);
      },
      event);
  CheckSets();
  CheckStage();
  return std::move(actions_);
}

void RunMachine::SetDeadline(int64_t after_ns) { Do(action::SetDeadline{++token_, after_ns}); }

std::string RunMachine::NamesOf(const std::set<uint32_t>& workers) const {
  std::string names;
  int listed = 0;
  for (uint32_t worker : workers) {
    if (++listed > 8) return absl::StrCat(names, " and ", workers.size() - 8, " more");
    const auto doing = doing_.find(worker);
    absl::StrAppend(&names, names.empty() ? "" : ", ", plan_.hosts[worker]);
    if (doing != doing_.end() && !doing->second.empty()) {
      absl::StrAppend(&names, " (", doing->second, ")");
    }
  }
  return names;
}

void RunMachine::On(const event::Begin&) {
  LOCKSTEP_CHECK(stage_ == Stage::kIdle, "a run begins twice");
  if (from_.reached == ResumePoint::Reached::kNothing && end_state_.has_value()) {
    return EndAs(*end_state_, end_reason_);
  }
  if (from_.reached == ResumePoint::Reached::kNothing) return PlanNext();
  Resume();
}

void RunMachine::PlanNext() {
  Enter(Stage::kPlanning);
  Do(action::PlanNext{end_state_.has_value()});
}

void RunMachine::On(const event::Planned& e) {
  LOCKSTEP_CHECK(stage_ == Stage::kPlanning, "a plan came that nobody had asked for");
  if (!e.error.empty()) {
    Do(action::Note{Severity::kError, "", e.error});
    Remember(RunState::kFailed, e.error);
    // What earlier phases have laid out is still cleaned up.
    return skip_cleanup_ ? EndRun() : PlanNext();
  }
  const bool may_return =
      plan_.on_worker_loss == LossPolicy::kRetry && !lost_.empty() && !end_state_.has_value();
  if (!e.next.has_value() || (members_.empty() && !may_return)) return EndRun();
  // The run was told to end while this was being planned.
  if (end_state_.has_value() && e.next->kind != PhaseKind::kCleanup) return AfterPhase();
  current_ = *e.next;
  StartOrRejoin(next_phase_, 1);
}

void RunMachine::EndRun() {
  LOCKSTEP_CHECK(stage_ != Stage::kOver, "a run ends twice");
  Enter(Stage::kOver);
  Do(action::EndRun{end_state_.value_or(RunState::kDone), end_reason_, degraded_});
}

void RunMachine::StartPhase(uint32_t phase, uint32_t attempt) {
  phase_ = phase;
  attempt_ = attempt;
  next_phase_ = phase + 1;
  start_committed_ = ends_load_ = false;
  end_of_load_.reset();
  lost_since_start_ = false;
  repeat_reason_.clear();
  armed_.clear();
  unassigned_.clear();
  doing_.clear();
  delivered_.clear();
  said_idle_.clear();
  outstanding_ = members_;
  degraded_ = degraded_ || members_.size() < plan_.hosts.size();
  Enter(Stage::kRecording);
  Do(action::RecordPhase{phase_, attempt_, Members()});
}

// With the policy `retry`, lost workers are waited for first.
void RunMachine::StartOrRejoin(uint32_t phase, uint32_t attempt) {
  if (plan_.on_worker_loss == LossPolicy::kRetry && !end_state_.has_value()) {
    for (uint32_t worker : returned_) TakeBack(worker);
  }
  returned_.clear();
  // A worker that did not come back in time once is not waited for again.
  const bool missing = std::any_of(lost_.begin(), lost_.end(), [this](uint32_t worker) {
    return !written_off_.contains(worker);
  });
  if (plan_.on_worker_loss != LossPolicy::kRetry || !missing || end_state_.has_value()) {
    return StartPhase(phase, attempt);
  }
  phase_ = phase;
  attempt_ = attempt;
  start_committed_ = false;
  Enter(Stage::kRejoining);
  Do(action::Note{
      Severity::kWarning, "",
      absl::StrCat("waiting for lost workers before phase ", current_.name,
                   attempt_ > 1 ? " is begun again: " : " is begun: ", NamesOf(lost_))});
  SetDeadline(plan_.rejoin_ns);
}

void RunMachine::On(const event::PhaseRecorded&) {
  LOCKSTEP_CHECK(stage_ == Stage::kRecording, "another phase was recorded than was to be");
  // Nobody has been assigned the phase yet, so that nobody has to answer before it closes.
  if (end_state_.has_value() && current_.kind != PhaseKind::kCleanup) {
    outstanding_.clear();
    return Close();
  }
  if (!end_state_.has_value() && plan_.on_worker_loss == LossPolicy::kRetry && lost_since_start_) {
    repeat_reason_ = "a worker was lost before the phase was assigned";
    outstanding_.clear();
    return Close();
  }
  Enter(Stage::kArming);
  Do(action::Assign{phase_, attempt_, Members()});
  SetDeadline(plan_.arm_deadline_ns);
  // A cleanup has lost its last member while it was being recorded. Nobody is left to answer, and
  // no deadline would end it.
  if (members_.empty()) CheckComplete();
}

void RunMachine::On(const event::Armed& e) {
  if (stage_ != Stage::kArming || !members_.contains(e.worker)) return;
  armed_.insert(e.worker);
  CheckArmed();
}

void RunMachine::CheckArmed() {
  if (stage_ != Stage::kArming || members_.empty() || armed_.empty() ||
      !safeguards_.Pass(Safeguard::kAllArmed, armed_ == members_)) {
    return;
  }
  // T is stored before any worker hears of it. A controller that takes over then either finds T, or
  // knows that no worker has begun.
  Enter(Stage::kCommitting);
  Do(action::CommitGo{phase_, attempt_, Members()});
}

void RunMachine::On(const event::GoCommitted&) {
  // A stop may have come while T was being committed: then nobody is told to go.
  LOCKSTEP_CHECK(
      stage_ == Stage::kCommitting || stage_ == Stage::kStopping || stage_ == Stage::kClosing,
      "a go was committed of a phase that was not to begin");
  if (stage_ != Stage::kCommitting) return;
  Enter(Stage::kRunning);
  // From here on a lost worker may do I/O until its hard stop, and its quarantine lasts as long.
  start_committed_ = true;
  Do(action::SendGo{Members()});
  SetDeadline(current_.run_deadline_ns);
  CheckComplete();
}

// A worker's part of the phase failed.
void RunMachine::WorkerFailed(uint32_t worker, const std::string& how, const std::string& error) {
  Do(action::Note{Severity::kError, plan_.hosts[worker],
                  absl::StrCat("phase ", current_.name, how, ": ", error)});
  const std::string reason =
      absl::StrCat("phase ", current_.name, how, " on ", plan_.hosts[worker], ": ", error);
  if (CleansAlone()) {
    Remember(RunState::kFailed, reason);
  } else {
    EndAs(RunState::kFailed, reason);
  }
}

void RunMachine::On(const event::Failed& e) {
  if (outstanding_.erase(e.worker) == 0) return;
  // The attempt is being given up already: a failure of a worker is then no failure of the job.
  if (repeat_reason_.empty()) WorkerFailed(e.worker, " failed", e.reason);
  CheckComplete();
}

void RunMachine::On(const event::NotStarted& e) {
  if (outstanding_.erase(e.worker) == 0) return;
  if (AtWork()) {
    RepeatAttempt(absl::StrCat("worker on ", plan_.hosts[e.worker], " did not start: ", e.reason));
  }
  CheckComplete();
}

void RunMachine::On(const event::ResultStored& e) {
  if (outstanding_.erase(e.worker) == 0) return;
  delivered_.insert(e.worker);
  // The order comes before the error. A part that an order cut short may have an error as well, and
  // the run must end as the order says.
  if (e.order) Adopt(*e.order);
  if (!e.error.empty() && repeat_reason_.empty()) WorkerFailed(e.worker, "", e.error);
  CheckComplete();
}

void RunMachine::On(const event::Lost& e) {
  returned_.erase(e.worker);
  if (members_.erase(e.worker) == 0) return;
  const bool owed = outstanding_.erase(e.worker) != 0;
  delivered_.erase(e.worker);
  armed_.erase(e.worker);
  unassigned_.erase(e.worker);
  lost_.insert(e.worker);
  lost_since_start_ = true;
  std::string reason = absl::StrCat("worker on ", plan_.hosts[e.worker], " was lost in phase ",
                                    current_.name, ": ", e.reason);
  Do(action::Note{Severity::kError, plan_.hosts[e.worker], reason});
  Do(action::RecordLost{e.worker, e.reason});
  const bool retry = plan_.on_worker_loss == LossPolicy::kRetry;
  // With `retry` the worker may be back for the next attempt. StartPhase() sees who is missing.
  degraded_ = degraded_ || !retry;
  const bool enough = members_.size() >= std::max<size_t>(1, plan_.min_hosts);
  // Lost after the last phase's result was stored: nothing is missing.
  const bool all_delivered =
      stage_ == Stage::kClosing || (stage_ == Stage::kRunning && outstanding_.empty());
  const bool owes_nothing = !owed && repeat_reason_.empty() && all_delivered && current_.last;
  if (retry && !end_state_.has_value()) {
    // A worker whose result is stored is missing only in the next phase, which waits for it.
    if (AtWork() && owed) RepeatAttempt(reason);
  } else if (!(plan_.on_worker_loss == LossPolicy::kContinue && enough) && !owes_nothing) {
    if (plan_.on_worker_loss == LossPolicy::kContinue) {
      absl::StrAppend(&reason, "; ", members_.size(), " are left, min_hosts is ",
                      std::max<size_t>(1, plan_.min_hosts));
    }
    // The others still clean up what they can.
    if (Cleans()) {
      Remember(RunState::kAborted, reason);
    } else {
      EndAs(RunState::kAborted, reason);
    }
  }
  CheckArmed();
  CheckComplete();
}

void RunMachine::On(const event::Rejoined& e) {
  if (plan_.on_worker_loss != LossPolicy::kRetry || !lost_.contains(e.worker) ||
      end_state_.has_value()) {
    return;
  }
  // The attempt in progress was divided among its members. The worker takes part again from the
  // next attempt or phase on.
  if (stage_ != Stage::kRejoining) return void(returned_.insert(e.worker));
  TakeBack(e.worker);
  if (lost_.empty()) StartPhase(phase_, attempt_);
}

void RunMachine::TakeBack(uint32_t worker) {
  lost_.erase(worker);
  written_off_.erase(worker);
  members_.insert(worker);
  Do(action::RecordBack{worker});
  Do(action::Note{Severity::kInfo, plan_.hosts[worker], "the worker is back"});
}

void RunMachine::On(const event::Idle& e) {
  if (unassigned_.erase(e.worker) != 0 && stage_ == Stage::kArming) {
    return Do(action::Assign{phase_, attempt_, {e.worker}});
  }
  if (e.this_phase) {
    said_idle_.insert(e.worker);
    CheckComplete();
  }
  // Otherwise the worker was in this phase, and its result or failure is still to come.
  if (stage_ != Stage::kStopping || e.this_phase || !e.stopped) return;
  outstanding_.erase(e.worker);
  CheckComplete();
}

void RunMachine::On(const event::EndLoad&) {
  if (stage_ != Stage::kRunning || current_.kind != PhaseKind::kRun || ends_load_) return;
  ends_load_ = true;
  if (!end_of_load_) Do(action::CommitEndOfLoad{phase_, attempt_});
}

void RunMachine::On(const event::EndOfLoadCommitted& e) {
  // A stop may have come while the interval was being committed.
  LOCKSTEP_CHECK(
      stage_ == Stage::kRunning || stage_ == Stage::kStopping || stage_ == Stage::kClosing,
      "the end of a load was committed that does not run");
  if (stage_ != Stage::kRunning || end_of_load_) return;
  end_of_load_ = e.interval;
  Do(action::SendEndOfLoad{Members(), e.interval});
}

bool RunMachine::CleansAlone() const {
  return stage_ == Stage::kRunning && current_.kind == PhaseKind::kCleanup;
}

void RunMachine::On(const event::Deadline& e) {
  // Timers are not cancelled: a deadline that was replaced arrives with an earlier token.
  if (!safeguards_.Pass(Safeguard::kCurrentDeadline, e.token == token_)) return;
  if (stage_ == Stage::kRejoining) return RejoinedInVain();
  // By now the workers have ended by themselves, whether they could say so or not.
  const bool awaits = AwaitsIdle();
  delivered_.clear();
  if (outstanding_.empty()) return awaits ? CheckComplete() : void();
  if (stage_ == Stage::kArming) {
    NotArmedInTime();
  } else if (stage_ == Stage::kRunning) {
    EndAs(RunState::kFailed,
          absl::StrCat("phase ", current_.name, ": no result before the deadline from ",
                       NamesOf(outstanding_)));
  } else if (stage_ == Stage::kStopping) {
    NotStoppedInTime();
  }
  CheckComplete();
}

void RunMachine::RejoinedInVain() {
  written_off_ = lost_;
  if (members_.size() >= std::max<size_t>(1, plan_.min_hosts)) {
    return StartPhase(phase_, attempt_);
  }
  EndAs(RunState::kAborted, absl::StrCat("lost workers did not return: ", NamesOf(lost_)));
}

void RunMachine::NotArmedInTime() {
  std::set<uint32_t> missing = outstanding_;
  for (const uint32_t worker : armed_) missing.erase(worker);
  const std::string reason =
      absl::StrCat("phase ", current_.name, ": not armed before the deadline: ", NamesOf(missing));
  if (!Cleans() || armed_.empty()) return EndAs(RunState::kFailed, reason);
  // The others clean up.
  Do(action::Note{Severity::kError, "", reason});
  Do(action::StopNow{{missing.begin(), missing.end()}, reason});
  Remember(RunState::kFailed, reason);
  for (const uint32_t worker : missing) GiveUp(worker, "not armed before the deadline");
  CheckArmed();
}

void RunMachine::NotStoppedInTime() {
  const std::set<uint32_t> missing = outstanding_;
  const std::string reason = absl::StrCat("no answer to the stop from ", NamesOf(missing));
  Do(action::Note{Severity::kError, "", reason});
  for (const uint32_t worker : missing) GiveUp(worker, "no answer to the stop");
  const bool enough = plan_.on_worker_loss == LossPolicy::kContinue &&
                      members_.size() >= std::max<size_t>(1, plan_.min_hosts);
  if (!enough && plan_.on_worker_loss != LossPolicy::kRetry) {
    Remember(RunState::kAborted, reason);
  }
}

// The worker may be attached all the same, and still do I/O. It is recorded as lost, so that its
// targets stay in quarantine.
void RunMachine::GiveUp(uint32_t worker, const std::string& reason) {
  members_.erase(worker);
  armed_.erase(worker);
  unassigned_.erase(worker);
  outstanding_.erase(worker);
  delivered_.erase(worker);
  lost_.insert(worker);
  degraded_ = true;
  Do(action::RecordLost{worker, reason});
}

void RunMachine::CheckComplete() {
  if (stage_ != Stage::kRunning && stage_ != Stage::kStopping && stage_ != Stage::kArming &&
      stage_ != Stage::kCommitting) {
    return;
  }
  // Only the simulation, without kAllAnswered, closes a phase before everybody has answered.
  const bool some_answered = outstanding_.size() < members_.size() && stage_ == Stage::kRunning;
  if (!outstanding_.empty() && (!some_answered || !safeguards_.Lacks(Safeguard::kAllAnswered))) {
    return;
  }
  if (AwaitsIdle()) return;
  Close();
}

// A result that is stored does not end a worker's part of the phase by itself: it came on Deliver,
// where a forged one could end the load of a worker that still runs. The worker's own word on
// Control is needed, too, or the deadline.
bool RunMachine::AwaitsIdle() const {
  return std::any_of(delivered_.begin(), delivered_.end(),
                     [this](uint32_t worker) { return !said_idle_.contains(worker); });
}

void RunMachine::Close() {
  LOCKSTEP_CHECK(outstanding_.empty() || safeguards_.Lacks(Safeguard::kAllAnswered),
                 "a phase closes for which a worker has not answered");
  PhaseState state = PhaseState::kDone;
  std::string reason;
  // A cleanup that ran to its end is done, although its run has failed. Only a phase that was
  // stopped takes over the state in which the run ends.
  if (end_state_.has_value() && (stage_ == Stage::kStopping || stage_ == Stage::kRecording)) {
    state = measure::EndedBy(*end_state_);
    reason = end_reason_;
  } else if (!repeat_reason_.empty()) {
    state = PhaseState::kVoid;
    reason = repeat_reason_;
  }
  Enter(Stage::kClosing);
  ++token_;  // deadlines set so far mean nothing any more
  Do(action::ClosePhase{phase_, attempt_, state, reason});
}

void RunMachine::On(const event::PhaseClosed&) {
  LOCKSTEP_CHECK(stage_ == Stage::kClosing, "a phase was closed that is in progress");
  AfterPhase();
}

void RunMachine::AfterPhase() {
  ++token_;
  if (!end_state_.has_value() && !repeat_reason_.empty())
    return StartOrRejoin(phase_, attempt_ + 1);
  // Cleanup runs also when the run has failed, unless everything was to stop at once.
  if (end_state_.has_value() && skip_cleanup_) return EndRun();
  PlanNext();
}

}  // namespace lockstep::controller
