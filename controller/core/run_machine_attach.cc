// A worker that has attached again: what it says it is doing, against what it should do.

#include "absl/strings/str_cat.h"
#include "controller/core/run_machine.h"

namespace lockstep::controller {

using AttachedState = event::Attached::State;

// A run that is to be resumed does not know its attempt's orders and results yet.
void RunMachine::AttachedBeforeBegin(const event::Attached& e) {
  if (!members_.contains(e.worker)) return;
  const bool busy = e.state != AttachedState::kIdle;
  if (!busy && e.this_phase) said_idle_.insert(e.worker);
  if (busy && !e.this_phase) Decide(BusyElsewhere{e.worker});
}

void RunMachine::Attached(const event::Attached& e) {
  if (!members_.contains(e.worker)) return;
  // The order comes first. The worker's report of what it is doing may be the effect of an order
  // that this controller does not know. An order to repeat an attempt says nothing about later
  // attempts. One that ends the run always counts.
  if (e.last_order && (e.this_phase || e.last_order->kind == StopOrder::Kind::kEndRun)) {
    Adopt(*e.last_order);
  }
  const bool busy = e.state != AttachedState::kIdle;
  // An idle worker that has delivered its result is done with the phase, even if it was restarted
  // and no longer knows the phase.
  if (!busy && (e.this_phase || delivered_.contains(e.worker))) {
    said_idle_.insert(e.worker);
    if (delivered_.contains(e.worker)) return CheckComplete();
  }
  if (busy && !e.this_phase) return Decide(BusyElsewhere{e.worker});
  Decide(Reattached{e});
}

// A busy worker refuses an assignment. It gets this one once it says that it is idle.
void RunMachine::StopBeforeAssigning(const BusyElsewhere& d) {
  unassigned_.insert(d.worker);
  StopElsewhere(d);
}

void RunMachine::StopElsewhere(const BusyElsewhere& d) {
  Do(action::StopNow{{d.worker}, "this phase is not in progress"});
}

// Its failure was lost with the old connection, or is on the way still: then it counts once.
bool RunMachine::SaysItFailed(const event::Attached& e) {
  if (e.state != AttachedState::kIdle || !e.this_phase) return false;
  if (e.not_started) {
    Take(event::NotStarted{e.worker, e.failed});
  } else if (!e.failed.empty()) {
    Take(event::Failed{e.worker, e.failed});
  }
  return e.not_started || !e.failed.empty();
}

void RunMachine::ReattachedBeforeStart(const Reattached& d) {
  const event::Attached& e = d.attached;
  if (SaysItFailed(e)) return;
  if (e.state == AttachedState::kArmed) return Take(event::Armed{e.worker});
  // The assignment was lost with the old connection. If it was not, the worker ignores the second
  // one.
  if (e.state == AttachedState::kIdle && !e.this_phase) {
    Do(action::Assign{phase_, attempt_, {e.worker}});
  }
}

void RunMachine::ReattachedWhileRunning(const Reattached& d) {
  const event::Attached& e = d.attached;
  if (SaysItFailed(e)) return;
  if (e.state == AttachedState::kArmed && e.go_is_late) {
    return Decide(Repeat{absl::StrCat("worker on ", plan_.hosts[e.worker],
                                      " did not start: the go was lost with its connection")});
  }
  if (e.state == AttachedState::kArmed) {
    Do(action::SendGo{{e.worker}});
  } else if (e.state == AttachedState::kIdle && !e.this_phase) {
    return Take(event::NotStarted{e.worker, "it no longer has the assignment"});
  }
  if (end_of_load_) Do(action::SendEndOfLoad{{e.worker}, *end_of_load_});
}

void RunMachine::ReattachedWhileStopping(const Reattached& d) {
  const event::Attached& e = d.attached;
  if (SaysItFailed(e)) return;
  if (e.state != AttachedState::kIdle) {
    const StopOrder order = Order();
    return Do(action::StopNow{{e.worker}, order.reason, order});
  }
  // A worker that is idle in this phase has done its part, and its result is on the way.
  if (!e.this_phase) Take(event::Idle{.worker = e.worker, .stopped = true});
}

}  // namespace lockstep::controller
