// Tells a run's workers what they are to do in a phase.

#include <algorithm>
#include <utility>

#include "controller/plan/reservation.h"
#include "controller/runs/run_actor.h"

namespace lockstep::controller {

void RunActor::Execute(const action::Assign& a) {
  // Shares, device claims and samplers are computed over all members of the attempt, also when only
  // one of them is told again.
  if (attempt_ != std::pair(a.phase, a.attempt)) {
    attempt_ = {a.phase, a.attempt};
    attempt_workers_ = a.workers;
  }
  auto assignments = MakeAssignments(run_, Spec(), a.phase, a.attempt, attempt_workers_);
  if (!assignments.ok()) {
    for (uint32_t worker : a.workers) {
      Handle(event::Failed{worker, std::string(assignments.status().message())});
    }
    return;
  }
  written_.Assign(attempt_, *assignments);
  for (v1::Assignment& assignment : *assignments) {
    for (v1::TargetAssignment& target : *assignment.mutable_targets()) {
      if (target.written()) claims_->AddWriter(assignment.worker_index(), target.index());
      if (target.reservation().key() != 0) reserving_.insert(assignment.worker_index());
      written_.Describe(attempt_, assignment.worker_index(), &target);
    }
    const uint32_t worker = assignment.worker_index();
    if (std::find(a.workers.begin(), a.workers.end(), worker) == a.workers.end()) continue;
    v1::ControllerMessage message;
    *message.mutable_assign() = std::move(assignment);
    Send(worker, std::move(message));
  }
}

void RunActor::FenceOff(uint32_t worker) {
  if (!HasFences(run_.job)) return;
  // Two of the remaining members are told, in case that one of them is about to be lost.
  constexpr int kFencing = 2;
  int asked = 0;
  for (const uint32_t member : machine_.members()) {
    if (!reserving_.contains(member)) continue;  // it has reserved nothing
    if (asked++ == kFencing) break;
    v1::ControllerMessage message;
    *message.mutable_preempt()->mutable_phase() = Phase();
    message.mutable_preempt()->set_key(ReservationKey(run_.run_id, worker));
    message.mutable_preempt()->set_host(run_.workers[worker].hello.host().name());
    Send(member, std::move(message));
  }
}

}  // namespace lockstep::controller
