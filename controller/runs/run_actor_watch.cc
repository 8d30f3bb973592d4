// The state of a run's phase for watchers: its stage, its hosts, and the hosts that it waits for.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "common/units.h"
#include "controller/analysis/expectations.h"
#include "controller/plan/loads.h"
#include "controller/runs/run_actor.h"
#include "controller/runs/run_plan.h"

namespace lockstep::controller {
namespace {

// The period at which the awaited hosts are looked up, and how many of them are named.
constexpr absl::Duration kProgressPoll = absl::Seconds(2);
constexpr size_t kMaxBehind = 5;
// Lost hosts and phases to come that watchers are told by name.
constexpr size_t kMaxNamed = 5;

}  // namespace

void RunActor::PublishPhase(PhaseState state) {
  state_ = state;
  waiting_for_.clear();
  PublishPhase();
  if (!IsOver(state)) CheckProgress(++look_);
}

// Tells the watchers whenever other hosts are waited for than before.
void RunActor::CheckProgress(uint64_t look) {
  services_.loop->After(kProgressPoll, [weak = weak_from_this(), look] {
    const auto self = weak.lock();
    if (!self || self->look_ != look) return;
    std::vector<std::string> behind;
    if (self->state_ == PhaseState::kRunning) {
      behind = self->services_.ingest->Behind(self->Phase());
    } else {
      for (const uint32_t worker : self->machine_.Awaited()) {
        behind.push_back(self->run_.workers[worker].hello.host().name());
      }
    }
    if (behind.size() > kMaxBehind) behind.resize(kMaxBehind);
    if (behind != self->waiting_for_) {
      self->waiting_for_ = behind;
      self->PublishPhase();
    }
    self->CheckProgress(look);
  });
}

void RunActor::PublishPhase() {
  v1::WatchEvent event;
  v1::PhaseChange* change = event.mutable_phase();
  change->set_index(machine_.phase());
  change->set_count(std::max(phases_, machine_.phase() + 1));
  change->set_name(Spec().name());
  change->set_kind(KindName(Spec()));
  change->set_state(Text(state_));
  // While the hosts arm, T may still be chosen anew.
  if (go_wall_ns_ != 0 && state_ != PhaseState::kArming) {
    change->set_started_at(common::FormatInstant(go_wall_ns_));
  }
  for (const std::string& host : waiting_for_) change->add_waiting_for(host);
  DescribeLost(run_, machine_.lost(), kMaxNamed, change);
  for (std::string& name : PhasesAfter(run_.job, step_.job_phase, kMaxNamed)) {
    change->add_next(std::move(name));
  }
  const v1::RunPhase load = LoadOf(run_.job, Spec());
  change->set_expected_seconds(static_cast<double>(load.ramp_ns() + load.duration_ns()) / 1e9);
  if (IsLoad(Spec())) {
    *change->mutable_limits() = LimitsOf(load);
    if (state_ != PhaseState::kArming) {
      for (const std::string& host : services_.ingest->Hosts(Phase())) change->add_hosts(host);
    }
  }
  last_change_ = event;
  services_.watchers->Publish(run_.run_id, event);
}

// Tells the watchers which hosts are lost now. Before the first phase there is nothing to tell it
// with, and a phase that is over stays as it was told.
void RunActor::PublishHosts() {
  if (state_ != PhaseState::kNone && !IsOver(state_)) PublishPhase();
}

}  // namespace lockstep::controller
