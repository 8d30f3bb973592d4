// How a run, or an attempt of a phase, ends before its time.

#include "absl/strings/str_cat.h"
#include "controller/core/run_machine.h"

namespace lockstep::controller {

void RunMachine::Stop(const event::Stop& e) {
  // A second stop does not change how the run ends, but it can still skip the cleanup.
  if (e.now && !skip_cleanup_) {
    skip_cleanup_ = true;
    if (end_state_.has_value()) Do(action::RecordEnding{*end_state_, end_reason_, skip_cleanup_});
  }
  Do(action::Note{Severity::kWarning, "", e.reason});
  EndAs(e.state, e.reason);
  CheckComplete();
}

void RunMachine::Remember(RunState state, const std::string& reason) {
  if (end_state_.has_value()) return;
  end_state_ = state;
  end_reason_ = reason;
  Do(action::RecordEnding{*end_state_, end_reason_, skip_cleanup_});
}

void RunMachine::StopAll(const std::string& reason) {
  // Members that have not been told to start may still be arming: all are told to stop, and all
  // answer.
  Enter(Stage::kStopping);
  Do(action::StopNow{Members(), reason, Order()});
  SetDeadline(plan_.stop_deadline_ns);
}

StopOrder RunMachine::Order() const {
  if (end_state_.has_value()) {
    return {.kind = StopOrder::Kind::kEndRun,
            .state = *end_state_,
            .reason = end_reason_,
            .skip_cleanup = skip_cleanup_};
  }
  return {.kind = StopOrder::Kind::kRepeat, .reason = repeat_reason_};
}

// Without this, what a stop cut short would pass for a phase that ran to its end.
void RunMachine::Adopt(const StopOrder& order) {
  if (end_state_.has_value() || safeguards_.Lacks(common::Safeguard::kOrdersRepeated)) return;
  if (order.kind == StopOrder::Kind::kEndRun) {
    Take(event::Stop{.state = order.state, .reason = order.reason, .now = order.skip_cleanup});
  } else if (repeat_reason_.empty()) {
    Decide(Repeat{order.reason});
  }
}

void RunMachine::EndAs(RunState state, const std::string& reason) {
  Remember(state, reason);
  Decide(EndEarly{reason});
}

// Nothing of the run is in progress.
void RunMachine::EndAtOnce(const EndEarly&) { EndRun(); }

void RunMachine::EndInsteadOfRejoining(const EndEarly&) { AfterPhase(); }

void RunMachine::EndByStopping(const EndEarly& d) { StopAll(d.reason); }

void RunMachine::RepeatAttempt(const Repeat& d) {
  const std::string& reason = d.reason;
  if (attempt_ >= kMaxAttempts) {
    return EndAs(RunState::kAborted,
                 absl::StrCat(reason, " (attempt ", attempt_, " of ", kMaxAttempts, ")"));
  }
  repeat_reason_ = reason;
  Do(action::Note{Severity::kWarning, "",
                  absl::StrCat("phase ", current_.name, " is begun again",
                               ends_load_ ? ", to its own end: " : ": ", reason)});
  StopAll(reason);
}

}  // namespace lockstep::controller
