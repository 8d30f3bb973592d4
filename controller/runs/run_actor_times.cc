// Chooses when a run's workers begin, and when their load ends: instants that lie far enough ahead
// for every worker to be told in time.

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/timing.h"
#include "controller/plan/loads.h"
#include "controller/runs/run_actor.h"
#include "controller/runs/run_plan.h"

namespace lockstep::controller {
namespace {

// T lies so far ahead that the message reaches the slowest worker: this, several of the longest
// recent round trips, and what sending to so many takes.
constexpr int64_t kMinLeadNs = 250 * timing::kMs;
constexpr int64_t kRoundTripsAhead = 4;
constexpr uint32_t kMaxLeadDoublings = 5;
constexpr int64_t kMaxLeadNs = 10 * timing::kSecond;
constexpr int64_t kPerWorkerNs = 200 * timing::kUs;
// The share of the lead that must be left when T is on disk; else another T is chosen.
constexpr int64_t kLatestShare = 2;
// A store that was unavailable for long, or a program that stood still while a reply came, does not
// make the next T lie far ahead.
constexpr int64_t kMaxCommitNs = timing::kSecond;
constexpr int64_t kMaxRoundTripNs = 2 * timing::kSecond;
constexpr absl::Duration kClockRetry = absl::Milliseconds(50);
// So many callers may wait at once until the end of a load is stored.
constexpr size_t kMaxEndLoadCallers = 100;
// So often another interval is chosen because the store took too long.
constexpr int kMaxEndTries = 3;
// A burst of pings goes before each go; its replies are waited for.
constexpr absl::Duration kBurst = absl::Milliseconds(60);

}  // namespace

void RunActor::Execute(const action::CommitGo& a) {
  std::vector<std::string> ids;
  for (uint32_t worker : a.workers) ids.push_back(run_.workers[worker].hello.worker_id());
  // An offset is as good as the shortest round trip that it rests on, and clocks drift after it.
  // Replies from just before T bound the start skew best.
  services_.fleet->PingBurst(ids);
  services_.loop->After(kBurst, [self = shared_from_this(), a] {
    if (self->IsCommitting(a)) self->ChooseGo(a);
  });
}

bool RunActor::IsCommitting(const action::CommitGo& a) const {
  return machine_.committing() && machine_.phase() == a.phase && machine_.attempt() == a.attempt;
}

void RunActor::ChooseGo(const action::CommitGo& a) {
  const int64_t now = services_.clock->MonotonicNs();
  int64_t slowest = 0;
  // not a.workers: one may have been lost while this waited
  for (uint32_t worker : machine_.members()) {
    const auto clock = services_.fleet->ClockAt(run_.workers[worker].hello.worker_id(), now);
    if (!clock.known) {  // attached a moment ago: the first replies are on their way
      services_.loop->After(kClockRetry, [self = shared_from_this(), a] {
        if (self->IsCommitting(a)) self->ChooseGo(a);
      });
      return;
    }
    slowest = std::max(slowest, clock.slowest_ns);
  }
  const int64_t needed = kMinLeadNs + kRoundTripsAhead * std::min(slowest, kMaxRoundTripNs) +
                         kPerWorkerNs * static_cast<int64_t>(machine_.members().size());
  // The cause of the last late go, such as a machine that stands still from time to time, is
  // probably still there. Each further attempt doubles the lead.
  const int64_t lead = std::max(
      needed, std::min(kMaxLeadNs,
                       needed << std::min<uint32_t>(machine_.attempt() - 1, kMaxLeadDoublings)));
  // Twice the last commit's time: T must still lie ahead when the store has answered.
  const int64_t go = now + lead + 2 * commit_ns_;
  const int64_t wall = services_.clock->WallNs() + (go - now);
  std::vector<measure::WorkerClock> clocks;
  go_ns_ = go;
  go_wall_ns_ = wall;
  go_at_.clear();
  for (uint32_t worker : machine_.members()) {
    const auto clock = services_.fleet->ClockAt(run_.workers[worker].hello.worker_id(), go);
    clocks.push_back({worker, clock.offset_ns, clock.bound_ns});
    go_at_[worker] = go + clock.offset_ns;
  }
  // Before T is sent: samples may arrive before the store's answer does, and need the wall time of
  // T.
  services_.ingest->SetGo(Phase(), wall);
  Persist([store = services_.store, id = run_.run_id, a, go, wall,
           clocks] { return store->CommitGo(id, a.phase, a.attempt, go, wall, clocks); },
          [self = shared_from_this(), a, go, lead, now] {
            self->commit_ns_ = std::min(kMaxCommitNs, self->services_.clock->MonotonicNs() - now);
            if (!self->IsCommitting(a)) return;
            // the store took too long
            if (go - self->services_.clock->MonotonicNs() < lead / kLatestShare) {
              return self->ChooseGo(a);
            }
            self->Handle(event::GoCommitted{});
          });
  // Without this safeguard it is sent before it is known to be on disk.
  if (services_.safeguards.Lacks(common::Safeguard::kGoOnDisk)) Handle(event::GoCommitted{});
}

void RunActor::EndLoad(Severity severity, const std::string& reason,
                       std::function<void(const absl::Status&)> done) {
  if (!machine_.running() || !IsLoad(Spec())) {
    return done(absl::FailedPreconditionError(
        absl::StrCat("no load is running in run ", run_.run_id.substr(0, 8), ": phase ",
                     Spec().name(), " is ", machine_.stage())));
  }
  if (machine_.end_of_load()) return done(absl::OkStatus());
  if (const auto began = Began(); began && EndsByItself(ChooseEnd(*began).interval)) {
    return done(EndsItself());
  }
  if (end_load_callers_.size() >= kMaxEndLoadCallers) {
    return done(absl::ResourceExhaustedError("too many callers wait for the end of this phase"));
  }
  const auto caller = std::make_shared<std::function<void(const absl::Status&)>>(std::move(done));
  end_load_callers_.push_back(caller);
  services_.loop->After(kEndLoadAnswerTime, [self = shared_from_this(), caller] {
    if (std::erase(self->end_load_callers_, caller) == 0) return;
    (*caller)(absl::UnavailableError(
        "the end of the load is not in the store yet (the store is unavailable, or no worker is "
        "back); the load ends once it is, or by itself"));
  });
  if (end_load_callers_.size() == 1) {
    end_load_severity_ = severity;
    end_load_reason_ = reason;
  }
  Handle(event::EndLoad{});
}

void RunActor::AnswerEndLoad(const absl::Status& status) {
  for (const auto& caller : std::exchange(end_load_callers_, {})) (*caller)(status);
}

std::optional<int64_t> RunActor::Began() const {
  if (go_ns_ != 0) return go_ns_;
  const int64_t now = services_.clock->MonotonicNs();
  for (uint32_t worker : machine_.members()) {
    const auto at = go_at_.find(worker);
    const auto clock = services_.fleet->ClockAt(run_.workers[worker].hello.worker_id(), now);
    if (at != go_at_.end() && clock.known) return at->second - clock.offset_ns;
  }
  return std::nullopt;
}

// The first interval whose end every worker can hear of before it comes.
RunActor::EndOfLoad RunActor::ChooseEnd(int64_t began) const {
  const int64_t now = services_.clock->MonotonicNs();
  int64_t slowest = 0;
  for (uint32_t worker : machine_.members()) {
    const auto clock = services_.fleet->ClockAt(run_.workers[worker].hello.worker_id(), now);
    if (clock.known) slowest = std::max(slowest, clock.round_trip_ns);
  }
  const int64_t lead = kMinLeadNs + kRoundTripsAhead * std::min(slowest, kMaxRoundTripNs) +
                       kPerWorkerNs * static_cast<int64_t>(machine_.members().size());
  // All hosts end with the same interval, so that they measured the same time. An end that some
  // host hears of too late would end later there.
  const int64_t earliest = std::max<int64_t>(0, now + commit_ns_ + lead - began);
  return {static_cast<uint32_t>(earliest / run_.job.interval_ns()), lead};
}

bool RunActor::EndsByItself(uint32_t interval) const {
  const v1::RunPhase load = LoadOf(run_.job, Spec());
  return load.duration_ns() != 0 &&
         (int64_t{interval} + 1) * run_.job.interval_ns() >= load.ramp_ns() + load.duration_ns();
}

absl::Status RunActor::EndsItself() const {
  return absl::FailedPreconditionError(absl::StrCat(
      "phase ", Spec().name(), " ends by itself before all hosts could be told to end it"));
}

void RunActor::Execute(const action::CommitEndOfLoad& a) { CommitEnd(a, 0); }

void RunActor::CommitEnd(const action::CommitEndOfLoad& a, int tries) {
  if (!machine_.running() || machine_.phase() != a.phase || machine_.attempt() != a.attempt) {
    return AnswerEndLoad(absl::FailedPreconditionError("the phase has ended already"));
  }
  const std::optional<int64_t> began = Began();
  if (!began) {  // a controller before this one chose T, and no worker has come back yet
    services_.loop->After(kClockRetry,
                          [self = shared_from_this(), a, tries] { self->CommitEnd(a, tries); });
    return;
  }
  const EndOfLoad end = ChooseEnd(*began);
  if (EndsByItself(end.interval)) return AnswerEndLoad(EndsItself());
  const int64_t asked = services_.clock->MonotonicNs();
  Persist([store = services_.store, id = run_.run_id, a,
           end] { return store->CommitEndOfLoad(id, a.phase, a.attempt, end.interval); },
          [self = shared_from_this(), a, tries, end, asked, began] {
            const int64_t now = self->services_.clock->MonotonicNs();
            self->commit_ns_ = std::min(kMaxCommitNs, now - asked);
            const int64_t at = *began + (int64_t{end.interval} + 1) * self->run_.job.interval_ns();
            // The store took too long. A worker that hears of the end too late ends with the
            // interval that it is in.
            if (at - now < end.lead_ns / kLatestShare && tries < kMaxEndTries) {
              return self->CommitEnd(a, tries + 1);
            }
            self->FinishEndLoad(a, end.interval);
          });
}

void RunActor::FinishEndLoad(const action::CommitEndOfLoad& a, uint32_t interval) {
  if (!machine_.running() || machine_.phase() != a.phase || machine_.attempt() != a.attempt) {
    return AnswerEndLoad(absl::FailedPreconditionError("the phase has ended already"));
  }
  Execute(
      action::Note{end_load_severity_, "",
                   absl::StrCat(end_load_reason_, "; its load ends after interval ", interval)});
  Handle(event::EndOfLoadCommitted{interval});
  // Persist() works in order. After this empty work the store also has the event that says who
  // ended the load.
  Persist([] { return absl::OkStatus(); },
          [self = shared_from_this()] { self->AnswerEndLoad(absl::OkStatus()); });
}

void RunActor::Execute(const action::SendEndOfLoad& a) {
  for (uint32_t worker : a.workers) {
    v1::ControllerMessage message;
    *message.mutable_stop_at()->mutable_phase() = Phase();
    message.mutable_stop_at()->set_interval(a.interval);
    Send(worker, std::move(message));
  }
}

// How long the worker may still be doing I/O: to its hard stop, if it may have heard the go.
int64_t RunActor::QuarantineNs(uint32_t worker) const {
  if (!machine_.start_committed()) return QuarantineBeforeGoNs(run_.job);
  const auto clock = services_.fleet->ClockAt(run_.workers[worker].hello.worker_id(),
                                              services_.clock->MonotonicNs());
  // If another controller chose T, this one cannot tell how long ago that was. The quarantine then
  // counts in full.
  const int64_t begun = go_ns_ == 0 ? 0 : services_.clock->MonotonicNs() - go_ns_;
  return std::max<int64_t>(0, LongestQuarantineNs(run_.job, Spec()) - begun) +
         (clock.known ? clock.bound_ns : 0);
}

}  // namespace lockstep::controller
