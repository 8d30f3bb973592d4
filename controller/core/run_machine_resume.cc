// Resuming a run that another controller began.

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "controller/core/run_machine.h"

namespace lockstep::controller {

// The stored state of the last attempt says where to go on.
void RunMachine::Resume() {
  // The loss of a worker may be stored, and its consequences not.
  const bool enough = members_.size() >= std::max<size_t>(1, plan_.min_hosts);
  const bool nothing_missing =
      from_.reached == ResumePoint::Reached::kClosed && !from_.must_be_repeated && current_.last;
  const bool goes_on = plan_.on_worker_loss == LossPolicy::kRetry ||
                       (plan_.on_worker_loss == LossPolicy::kContinue && enough);
  if (!lost_.empty() && !goes_on && !nothing_missing) {
    Remember(RunState::kAborted, absl::StrCat("lost: ", NamesOf(lost_)));
  }
  switch (from_.reached) {
    case ResumePoint::Reached::kNothing:
      return;
    case ResumePoint::Reached::kClosed:
      // AfterPhase() begins another attempt if there is a reason. Nobody reads this one: the store
      // has the attempt's own.
      if (from_.must_be_repeated) repeat_reason_ = "repeated";
      return AfterPhase();
    case ResumePoint::Reached::kRecorded:
      // No T is in the store, so that no worker has begun: armed workers are stopped.
      outstanding_ = members_;
      for (const auto& [worker, error] : from_.stored) outstanding_.erase(worker);
      repeat_reason_ = "the controller was replaced before the start";
      StopAll(repeat_reason_);
      return CheckComplete();
    case ResumePoint::Reached::kStartCommitted:
      return ResumeStarted();
  }
}

void RunMachine::ResumeStarted() {
  start_committed_ = true;
  outstanding_ = members_;
  for (const auto& [worker, error] : from_.stored) {
    outstanding_.erase(worker);
    if (members_.contains(worker)) delivered_.insert(worker);
  }
  // The stage comes first. In kIdle, a stored failure would end the run instead of stopping its
  // phase.
  Enter(Stage::kRunning);
  for (const auto& [worker, error] : from_.stored) {
    if (!error.empty()) WorkerFailed(worker, "", error);
  }
  for (const StopOrder& order : from_.orders) Adopt(order);
  Decide(Resumed{});
  CheckComplete();
}

void RunMachine::ResumeRunning(const Resumed&) {
  if (end_state_.has_value()) return StopAll(end_reason_);
  for (uint32_t worker : from_.members) {
    const bool missing = lost_.contains(worker) && !from_.stored.contains(worker);
    if (missing && plan_.on_worker_loss == LossPolicy::kRetry) {
      return Decide(Repeat{absl::StrCat("worker on ", plan_.hosts[worker], " was lost")});
    }
  }
  // The deadline begins again in full: how much of it has passed is not known on this controller's
  // clock.
  SetDeadline(current_.run_deadline_ns);
}

}  // namespace lockstep::controller
