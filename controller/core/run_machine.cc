#include "controller/core/run_machine.h"

#include "absl/strings/str_cat.h"

namespace lockstep::controller {

RunMachine::RunMachine(RunPlan plan) : plan_(std::move(plan)) {
  for (uint32_t i = 0; i < plan_.hosts.size(); ++i) members_.insert(i);
}

const char* RunMachine::stage() const {
  static constexpr const char* kNames[] = {"idle", "recording", "arming", "committing", "running", "stopping", "closing", "over"};
  return kNames[static_cast<int>(stage_)];
}

std::vector<Action> RunMachine::Handle(const Event& event) {
  actions_.clear();
  if (stage_ != Stage::kOver) std::visit([this](const auto& e) { On(e); }, event);
  return std::move(actions_);
}

void RunMachine::SetDeadline(int64_t after_ns) { Do(action::SetDeadline{++token_, after_ns}); }

std::string RunMachine::NamesOf(const std::set<uint32_t>& workers) const {
  std::string names;
  int listed = 0;
  for (uint32_t worker : workers) {
    if (++listed > 8) return absl::StrCat(names, " and ", workers.size() - 8, " more");
    absl::StrAppend(&names, names.empty() ? "" : ", ", plan_.hosts[worker]);
  }
  return names;
}

void RunMachine::On(const event::Begin&) {
  if (stage_ == Stage::kIdle) StartPhase(0);
}

void RunMachine::StartPhase(uint32_t phase) {
  phase_ = phase;
  attempt_ = 1;
  armed_.clear();
  outstanding_ = members_;
  stage_ = Stage::kRecording;
  Do(action::RecordPhase{phase_, attempt_, Members()});
}

void RunMachine::On(const event::PhaseRecorded&) {
  if (stage_ != Stage::kRecording) return;
  if (!end_state_.empty() && plan_.phases[phase_].kind != PhaseKind::kCleanup) {
    outstanding_.clear();
    return Close();
  }
  stage_ = Stage::kArming;
  Do(action::Assign{phase_, attempt_, Members()});
  SetDeadline(plan_.arm_deadline_ns);
  if (members_.empty()) CheckComplete();
}

void RunMachine::On(const event::Armed& e) {
  if (stage_ != Stage::kArming || members_.count(e.worker) == 0) return;
  armed_.insert(e.worker);
  CheckArmed();
}

void RunMachine::CheckArmed() {
  if (stage_ != Stage::kArming || members_.empty() || armed_ != members_) return;
  stage_ = Stage::kCommitting;
  Do(action::CommitGo{phase_, attempt_, Members()});
}

void RunMachine::On(const event::GoCommitted&) {
  if (stage_ != Stage::kCommitting) return;
  stage_ = Stage::kRunning;
  Do(action::SendGo{Members()});
  SetDeadline(plan_.phases[phase_].run_deadline_ns);
  CheckComplete();
}

void RunMachine::On(const event::Failed& e) {
  if (outstanding_.erase(e.worker) == 0) return;
  Do(action::Note{"error", plan_.hosts[e.worker], absl::StrCat("phase ", plan_.phases[phase_].name, " failed: ", e.reason)});
  const std::string reason = absl::StrCat("phase ", plan_.phases[phase_].name, " failed on ", plan_.hosts[e.worker], ": ", e.reason);
  if (CleansAlone()) {
    Remember("failed", reason);
  } else {
    EndAs("failed", reason);
  }
  CheckComplete();
}

void RunMachine::On(const event::ResultStored& e) {
  if (outstanding_.erase(e.worker) == 0) return;
  if (!e.error.empty()) {
    Do(action::Note{"error", plan_.hosts[e.worker], absl::StrCat("phase ", plan_.phases[phase_].name, ": ", e.error)});
    const std::string reason = absl::StrCat("phase ", plan_.phases[phase_].name, " on ", plan_.hosts[e.worker], ": ", e.error);
    if (CleansAlone()) {
      Remember("failed", reason);
    } else {
      EndAs("failed", reason);
    }
  }
  CheckComplete();
}

void RunMachine::On(const event::Lost& e) {
  if (members_.erase(e.worker) == 0) return;
  const bool owed = outstanding_.erase(e.worker) != 0;
  armed_.erase(e.worker);
  degraded_ = true;
  const std::string reason = absl::StrCat("worker on ", plan_.hosts[e.worker], " was lost in phase ", plan_.phases[phase_].name, ": ", e.reason);
  Do(action::Note{"error", plan_.hosts[e.worker], reason});
  const bool go_on = plan_.on_worker_loss == LossPolicy::kContinue && members_.size() >= std::max<size_t>(1, plan_.min_hosts);
  // Lost after the last phase's result was stored: nothing is missing.
  const bool owes_nothing = !owed && stage_ == Stage::kClosing && phase_ + 1 == plan_.phases.size();
  if (!go_on && !owes_nothing) EndAs("aborted", reason);
  CheckArmed();
  CheckComplete();
}

void RunMachine::On(const event::Stop& e) {
  skip_cleanup_ = skip_cleanup_ || e.now;
  Do(action::Note{"warning", "", e.reason});
  EndAs(e.state, e.reason);
  CheckComplete();
}

bool RunMachine::CleansAlone() const { return stage_ == Stage::kRunning && plan_.phases[phase_].kind == PhaseKind::kCleanup; }

void RunMachine::Remember(const std::string& state, const std::string& reason) {
  if (!end_state_.empty()) return;
  end_state_ = state;
  end_reason_ = reason;
}

void RunMachine::EndAs(const std::string& state, const std::string& reason) {
  Remember(state, reason);
  if (stage_ == Stage::kStopping || stage_ == Stage::kClosing || stage_ == Stage::kRecording) return;
  if (stage_ == Stage::kIdle) {
    stage_ = Stage::kOver;
    Do(action::EndRun{end_state_, end_reason_, degraded_});
    return;
  }
  // Members that have not been told to start may still be arming: all are told to stop, and all answer.
  stage_ = Stage::kStopping;
  Do(action::StopNow{Members(), reason});
  SetDeadline(plan_.stop_deadline_ns);
}

void RunMachine::On(const event::Deadline& e) {
  if (e.token != token_ || outstanding_.empty()) return;
  std::set<uint32_t> missing = outstanding_;
  if (stage_ == Stage::kArming || stage_ == Stage::kCommitting) {
    for (uint32_t worker : armed_) missing.erase(worker);
    EndAs("failed", absl::StrCat("phase ", plan_.phases[phase_].name, ": ", missing.empty() ? "no start could be agreed on before the deadline" : "not armed before the deadline: ", NamesOf(missing)));
  } else if (stage_ == Stage::kRunning) {
    EndAs("failed", absl::StrCat("phase ", plan_.phases[phase_].name, ": no result before the deadline from ", NamesOf(missing)));
  } else if (stage_ == Stage::kStopping) {
    Do(action::Note{"error", "", absl::StrCat("no answer to the stop from ", NamesOf(missing))});
    for (uint32_t worker : missing) members_.erase(worker);
    degraded_ = true;
    outstanding_.clear();
  }
  CheckComplete();
}

void RunMachine::CheckComplete() {
  if (!outstanding_.empty()) return;
  if (stage_ == Stage::kRunning || stage_ == Stage::kStopping || stage_ == Stage::kArming || stage_ == Stage::kCommitting) Close();
}

void RunMachine::Close() {
  const bool broken = !end_state_.empty() && (stage_ == Stage::kStopping || stage_ == Stage::kRecording);
  stage_ = Stage::kClosing;
  ++token_;  // deadlines set so far mean nothing any more
  Do(action::ClosePhase{phase_, attempt_, broken ? end_state_ : "done", broken ? end_reason_ : ""});
}

void RunMachine::On(const event::PhaseClosed&) {
  if (stage_ != Stage::kClosing) return;
  uint32_t next = phase_ + 1;
  if (!end_state_.empty()) {
    // What prepare made is removed also when the run did not go well, unless everything was to stop at once.
    while (next < plan_.phases.size() && (skip_cleanup_ || plan_.phases[next].kind != PhaseKind::kCleanup)) ++next;
  }
  if (next < plan_.phases.size() && !members_.empty()) return StartPhase(next);
  stage_ = Stage::kOver;
  Do(action::EndRun{end_state_.empty() ? "done" : end_state_, end_reason_, degraded_});
}

}  // namespace lockstep::controller
