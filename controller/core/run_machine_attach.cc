// A worker that has attached again: what it says it is doing, against what it should do.

#include "absl/strings/str_cat.h"
#include "controller/core/run_machine.h"

namespace lockstep::controller {

void RunMachine::On(const event::Attached& e) {
  using State = event::Attached::State;
  if (!members_.contains(e.worker)) return;
  // The order comes first. What the worker says it is doing may be the effect of an order that this
  // controller does not know. An order to repeat an attempt says nothing about later attempts. One
  // that ends the run always counts.
  if (e.last_order && (e.this_phase || e.last_order->kind == StopOrder::Kind::kEndRun)) {
    Adopt(*e.last_order);
  }
  const bool busy = e.state != State::kIdle;
  // An idle worker that has delivered its result is done with the phase, even if it was restarted
  // and no longer knows the phase.
  if (!busy && (e.this_phase || delivered_.contains(e.worker))) {
    said_idle_.insert(e.worker);
    if (delivered_.contains(e.worker)) return CheckComplete();
  }
  const bool is_at_work = AtWork() || stage_ == Stage::kStopping;
  if (busy && !e.this_phase) {
    // A busy worker refuses an assignment. It gets this one once it says that it is idle.
    if (stage_ == Stage::kArming) unassigned_.insert(e.worker);
    return Do(action::StopNow{{e.worker}, "this phase is not in progress"});
  }
  if (!is_at_work) return;
  if (!busy && e.this_phase && e.not_started) return On(event::NotStarted{e.worker, e.failed});
  if (!busy && e.this_phase && !e.failed.empty()) return On(event::Failed{e.worker, e.failed});
  switch (stage_) {
    case Stage::kArming:
    case Stage::kCommitting:
      return AttachedBeforeStart(e);
    case Stage::kRunning:
      return AttachedWhileRunning(e);
    case Stage::kStopping:
      return AttachedWhileStopping(e);
    default:
      return;
  }
}

void RunMachine::AttachedBeforeStart(const event::Attached& e) {
  if (e.state == event::Attached::State::kArmed) return On(event::Armed{e.worker});
  // The assignment was lost with the old connection. If it was not, the worker ignores the second
  // one.
  if (e.state == event::Attached::State::kIdle && !e.this_phase) {
    Do(action::Assign{phase_, attempt_, {e.worker}});
  }
}

void RunMachine::AttachedWhileRunning(const event::Attached& e) {
  using State = event::Attached::State;
  if (e.state == State::kArmed && e.go_is_late) {
    return RepeatAttempt(absl::StrCat("worker on ", plan_.hosts[e.worker],
                                      " did not start: the go was lost with its connection"));
  }
  if (e.state == State::kArmed) {
    Do(action::SendGo{{e.worker}});
  } else if (e.state == State::kIdle && !e.this_phase) {
    return On(event::NotStarted{e.worker, "it no longer has the assignment"});
  }
  if (end_of_load_) Do(action::SendEndOfLoad{{e.worker}, *end_of_load_});
}

void RunMachine::AttachedWhileStopping(const event::Attached& e) {
  if (e.state != event::Attached::State::kIdle) {
    const StopOrder order = Order();
    return Do(action::StopNow{{e.worker}, order.reason, order});
  }
  // A worker that is idle in this phase has done its part, and its result is on the way.
  if (!e.this_phase) return On(event::Idle{.worker = e.worker, .stopped = true});
}

}  // namespace lockstep::controller
