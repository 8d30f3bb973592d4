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

std::set<uint32_t> RunMachine::Awaited() const {
  switch (stage_) {
    case Stage::kRecording:  // what is being written waits for the store
    case Stage::kCommitting:
      return {};
    case Stage::kArming:
      break;
    default:
      return outstanding_;
  }
  std::set<uint32_t> awaited = members_;
  for (const uint32_t worker : armed_) awaited.erase(worker);
  return awaited;
}

std::vector<Action> RunMachine::Handle(const Event& event) {
  actions_.clear();
  Take(event);
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

void RunMachine::Begin(const event::Begin&) {
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

void RunMachine::Planned(const event::Planned& e) {
  if (!e.error.empty()) {
    Do(action::Note{Severity::kError, "", e.error});
    Remember(RunState::kFailed, e.error);
    // The files that earlier phases have laid out are still cleaned up.
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

void RunMachine::PhaseRecorded(const event::PhaseRecorded&) {
  // Nobody has been assigned the phase yet, so that nobody has to answer before it closes.
  if (end_state_.has_value() && current_.kind != PhaseKind::kCleanup) {
    outstanding_.clear();
    return Close(Course::kCutShort);
  }
  if (!end_state_.has_value() && plan_.on_worker_loss == LossPolicy::kRetry && lost_since_start_) {
    repeat_reason_ = "a worker was lost before the phase was assigned";
    outstanding_.clear();
    return Close(Course::kCutShort);
  }
  Enter(Stage::kArming);
  Do(action::Assign{phase_, attempt_, Members()});
  SetDeadline(plan_.arm_deadline_ns);
  // A cleanup has lost its last member while it was being recorded. Nobody is left to answer, and
  // no deadline would end it.
  if (members_.empty()) CheckComplete();
}

void RunMachine::Armed(const event::Armed& e) {
  if (!members_.contains(e.worker)) return;
  armed_.insert(e.worker);
  CheckArmed();
}

void RunMachine::CommitOnceArmed(const ArmedChanged&) {
  if (members_.empty() || armed_.empty() ||
      !safeguards_.Pass(Safeguard::kAllArmed, armed_ == members_)) {
    return;
  }
  // T is stored before any worker hears of it. A controller that takes over then either finds T, or
  // knows that no worker has begun.
  Enter(Stage::kCommitting);
  Do(action::CommitGo{phase_, attempt_, Members()});
}

void RunMachine::GoCommitted(const event::GoCommitted&) {
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
  Decide(PartFailed{reason});
}

void RunMachine::PartFailedWhileRunning(const PartFailed& d) {
  // One worker's failure does not keep the others from cleaning up.
  Cleans() ? Remember(RunState::kFailed, d.reason) : EndAs(RunState::kFailed, d.reason);
}

void RunMachine::PartFailedElsewhere(const PartFailed& d) { EndAs(RunState::kFailed, d.reason); }

void RunMachine::Failed(const event::Failed& e) {
  if (outstanding_.erase(e.worker) == 0) return;
  // The attempt is being given up already: a failure of a worker is then no failure of the job.
  if (repeat_reason_.empty()) WorkerFailed(e.worker, " failed", e.reason);
  CheckComplete();
}

void RunMachine::NotStarted(const event::NotStarted& e) {
  if (outstanding_.erase(e.worker) == 0) return;
  Decide(Repeat{absl::StrCat("worker on ", plan_.hosts[e.worker], " did not start: ", e.reason)});
  CheckComplete();
}

void RunMachine::ResultStored(const event::ResultStored& e) {
  if (outstanding_.erase(e.worker) == 0) return;
  delivered_.insert(e.worker);
  // The order comes before the error. A part that an order cut short may have an error as well, and
  // the run must end as the order says.
  if (e.order) Adopt(*e.order);
  if (!e.error.empty() && repeat_reason_.empty()) WorkerFailed(e.worker, "", e.error);
  CheckComplete();
}

void RunMachine::Lost(const event::Lost& e) {
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
  if (retry && !end_state_.has_value()) {
    // A worker whose result is stored is missing only in the next phase, which waits for it.
    if (owed) Decide(Repeat{reason});
  } else if (plan_.on_worker_loss != LossPolicy::kContinue) {
    Decide(LossCounts{reason, owed});
  } else if (!enough) {
    Decide(LossCounts{absl::StrCat(reason, "; ", members_.size(), " are left, min_hosts is ",
                                   std::max<size_t>(1, plan_.min_hosts)),
                      owed});
  }
  CheckArmed();
  CheckComplete();
}

void RunMachine::LossBeforeStart(const LossCounts& d) {
  // The others still clean up what they can.
  Cleans() ? Remember(RunState::kAborted, d.reason) : EndAs(RunState::kAborted, d.reason);
}

void RunMachine::LossWhileRunning(const LossCounts& d) {
  // Nothing is missing of a worker that was lost after the last phase's last result was stored.
  const bool all_delivered = !d.owed && repeat_reason_.empty() && outstanding_.empty();
  if (!all_delivered || !current_.last) LossBeforeStart(d);
}

void RunMachine::LossWhileClosing(const LossCounts& d) {
  if (d.owed || !repeat_reason_.empty() || !current_.last) EndAs(RunState::kAborted, d.reason);
}

void RunMachine::LossElsewhere(const LossCounts& d) { EndAs(RunState::kAborted, d.reason); }

bool RunMachine::MayReturn(uint32_t worker) const {
  return plan_.on_worker_loss == LossPolicy::kRetry && lost_.contains(worker) &&
         !end_state_.has_value();
}

void RunMachine::RejoinedInTime(const event::Rejoined& e) {
  if (!MayReturn(e.worker)) return;
  TakeBack(e.worker);
  if (lost_.empty()) StartPhase(phase_, attempt_);
}

// The attempt in progress was divided among its members. The worker takes part again from the next
// attempt or phase on.
void RunMachine::RejoinedForLater(const event::Rejoined& e) {
  if (MayReturn(e.worker)) returned_.insert(e.worker);
}

void RunMachine::TakeBack(uint32_t worker) {
  lost_.erase(worker);
  written_off_.erase(worker);
  members_.insert(worker);
  Do(action::RecordBack{worker});
  Do(action::Note{Severity::kInfo, plan_.hosts[worker], "the worker is back"});
}

void RunMachine::IdleWhileArming(const event::Idle& e) {
  if (unassigned_.contains(e.worker)) {
    unassigned_.erase(e.worker);
    return Do(action::Assign{phase_, attempt_, {e.worker}});
  }
  IdleElsewhere(e);
}

void RunMachine::IdleWhileStopping(const event::Idle& e) {
  // With `this_phase` the worker was in this phase, and its result or failure is still to come.
  if (e.this_phase || !e.stopped) return IdleElsewhere(e);
  unassigned_.erase(e.worker);
  outstanding_.erase(e.worker);
  CheckComplete();
}

void RunMachine::IdleElsewhere(const event::Idle& e) {
  unassigned_.erase(e.worker);
  if (!e.this_phase) return;
  said_idle_.insert(e.worker);
  CheckComplete();
}

void RunMachine::EndLoad(const event::EndLoad&) {
  if (current_.kind != PhaseKind::kRun || ends_load_) return;
  ends_load_ = true;
  if (!end_of_load_) Do(action::CommitEndOfLoad{phase_, attempt_});
}

void RunMachine::EndOfLoadCommitted(const event::EndOfLoadCommitted& e) {
  if (end_of_load_) return;
  end_of_load_ = e.interval;
  Do(action::SendEndOfLoad{Members(), e.interval});
}

bool RunMachine::HasPassed(const event::Deadline& e) {
  // Timers are not cancelled: a deadline that was replaced arrives with an earlier token.
  if (!safeguards_.Pass(Safeguard::kCurrentDeadline, e.token == token_)) return false;
  // By now the workers have ended by themselves, whether they could say so or not.
  const bool awaits = AwaitsIdle();
  delivered_.clear();
  if (outstanding_.empty() && awaits) CheckComplete();
  return !outstanding_.empty();
}

// The deadline before which all were to be armed, or to rejoin, and they did. The store has no
// deadline.
void RunMachine::DeadlineWhileStoring(const event::Deadline& e) { (void)HasPassed(e); }

void RunMachine::NoResultInTime(const event::Deadline& e) {
  if (!HasPassed(e)) return;
  EndAs(RunState::kFailed,
        absl::StrCat("phase ", current_.name, ": no result before the deadline from ",
                     NamesOf(outstanding_)));
  CheckComplete();
}

void RunMachine::NotRejoinedInTime(const event::Deadline& e) {
  if (!safeguards_.Pass(Safeguard::kCurrentDeadline, e.token == token_)) return;
  written_off_ = lost_;
  if (members_.size() >= std::max<size_t>(1, plan_.min_hosts)) {
    return StartPhase(phase_, attempt_);
  }
  EndAs(RunState::kAborted, absl::StrCat("lost workers did not return: ", NamesOf(lost_)));
}

void RunMachine::NotArmedInTime(const event::Deadline& e) {
  if (!HasPassed(e)) return;
  std::set<uint32_t> missing = outstanding_;
  for (const uint32_t worker : armed_) missing.erase(worker);
  const std::string reason =
      absl::StrCat("phase ", current_.name, ": not armed before the deadline: ", NamesOf(missing));
  if (!Cleans() || armed_.empty()) {
    EndAs(RunState::kFailed, reason);
    return CheckComplete();
  }
  // The others clean up.
  Do(action::Note{Severity::kError, "", reason});
  Do(action::StopNow{{missing.begin(), missing.end()}, reason});
  Remember(RunState::kFailed, reason);
  for (const uint32_t worker : missing) GiveUp(worker, "not armed before the deadline");
  CheckArmed();
  CheckComplete();
}

void RunMachine::NotStoppedInTime(const event::Deadline& e) {
  if (!HasPassed(e)) return;
  const std::set<uint32_t> missing = outstanding_;
  const std::string reason = absl::StrCat("no answer to the stop from ", NamesOf(missing));
  Do(action::Note{Severity::kError, "", reason});
  for (const uint32_t worker : missing) GiveUp(worker, "no answer to the stop");
  const bool enough = plan_.on_worker_loss == LossPolicy::kContinue &&
                      members_.size() >= std::max<size_t>(1, plan_.min_hosts);
  if (!enough && plan_.on_worker_loss != LossPolicy::kRetry) {
    Remember(RunState::kAborted, reason);
  }
  CheckComplete();
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

void RunMachine::CloseOnceAnswered(const AnswersChanged&) {
  if (outstanding_.empty() && !AwaitsIdle()) Close(Course::kWhole);
}

void RunMachine::CloseOnceResultsAreStored(const AnswersChanged&) {
  // Only the simulation, without kAllAnswered, closes a phase before everybody has answered.
  const bool some_answered = outstanding_.size() < members_.size();
  if (!outstanding_.empty() && (!some_answered || !safeguards_.Lacks(Safeguard::kAllAnswered))) {
    return;
  }
  if (!AwaitsIdle()) Close(Course::kWhole);
}

void RunMachine::CloseOnceStopped(const AnswersChanged&) {
  if (outstanding_.empty() && !AwaitsIdle()) Close(Course::kCutShort);
}

// A result that is stored does not end a worker's part of the phase by itself: it came on Deliver,
// where a forged one could end the load of a worker that still runs. The worker's own word on
// Control is needed, too, or the deadline.
bool RunMachine::AwaitsIdle() const {
  return std::any_of(delivered_.begin(), delivered_.end(),
                     [this](uint32_t worker) { return !said_idle_.contains(worker); });
}

void RunMachine::Close(Course course) {
  LOCKSTEP_CHECK(outstanding_.empty() || safeguards_.Lacks(Safeguard::kAllAnswered),
                 "a phase closes for which a worker has not answered");
  PhaseState state = PhaseState::kDone;
  std::string reason;
  // A cleanup that ran to its end is done, although its run has failed. Only a phase that was
  // stopped takes over the state in which the run ends.
  if (end_state_.has_value() && course == Course::kCutShort) {
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

void RunMachine::PhaseClosed(const event::PhaseClosed&) { AfterPhase(); }

void RunMachine::AfterPhase() {
  ++token_;
  if (!end_state_.has_value() && !repeat_reason_.empty())
    return StartOrRejoin(phase_, attempt_ + 1);
  // Cleanup runs also when the run has failed, unless everything was to stop at once.
  if (end_state_.has_value() && skip_cleanup_) return EndRun();
  PlanNext();
}

}  // namespace lockstep::controller
