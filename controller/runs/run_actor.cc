#include "controller/runs/run_actor.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/limits.h"
#include "common/log.h"
#include "common/text.h"
#include "common/timing.h"
#include "common/units.h"
#include "controller/plan/loads.h"
#include "controller/plan/reservation.h"
#include "controller/plan/sweep.h"
#include "controller/runs/run_plan.h"
#include "controller/runs/stop_order.h"

namespace lockstep::controller {
namespace {

// A go sent to a load less than this before T may come too late.
constexpr int64_t kLateNs = 20 * timing::kMs;
// The period at which the actor polls whether the store is back, and the time that late results
// then have to arrive.
constexpr absl::Duration kUnavailablePoll = absl::Seconds(1);
constexpr absl::Duration kLateResults = absl::Seconds(20);
// A worker's texts are stored and shown. They are cut after so many columns.
constexpr size_t kMessageColumns = 2000;

}  // namespace

RunActor::RunActor(SettledRun run, const ResumePoint& point, ActorServices services,
                   std::function<void()> ended)
    : run_(std::move(run)),
      services_(std::move(services)),
      ended_(std::move(ended)),
      phases_(CountSteps(run_.job)),
      machine_(PlanOf(run_), point, services_.safeguards),
      claims_(std::make_shared<BlockClaims>(run_, BlockClaims::Writers::kNamed)),
      written_(run_) {
  for (uint32_t i = 0; i < run_.workers.size(); ++i) index_[run_.workers[i].hello.worker_id()] = i;
}

RunActor::RunActor(SettledRun run, ActorServices services, std::function<void()> ended)
    : RunActor(std::move(run), ResumePoint(), std::move(services), std::move(ended)) {}

std::shared_ptr<RunActor> RunActor::TakeOver(SettledRun run, TakenOver from, ActorServices services,
                                             std::function<void()> ended) {
  std::shared_ptr<RunActor> actor(
      new RunActor(std::move(run), from.point, std::move(services), std::move(ended)));
  // The earlier controller's phases may have had other writers.
  actor->claims_ = std::make_shared<BlockClaims>(actor->run_, BlockClaims::Writers::kAny);
  actor->step_ = std::move(from.step);
  actor->results_ = std::move(from.results);
  actor->written_ = std::move(from.written);
  actor->go_wall_ns_ = from.earlier.go_wall_ns;
  for (const auto& [worker, offset] : from.clock_offsets) {
    actor->go_at_[worker] = from.go_ns + offset;
  }
  if (from.point.reached == ResumePoint::Reached::kRecorded ||
      from.point.reached == ResumePoint::Reached::kStartCommitted) {
    actor->OpenFeeds({actor->machine_.members().begin(), actor->machine_.members().end()},
                     from.earlier);
    const bool start_committed = from.point.reached == ResumePoint::Reached::kStartCommitted;
    actor->PublishPhase(start_committed ? PhaseState::kRunning : PhaseState::kArming);
    for (const v1::FleetInterval& interval :
         actor->services_.ingest->DrainHistory(actor->Phase())) {
      v1::WatchEvent event;
      *event.mutable_interval() = interval;
      actor->services_.watchers->Publish(actor->run_.run_id, event);
    }
  }
  return actor;
}

v1::PhaseId RunActor::Phase() const {
  v1::PhaseId id;
  id.set_run_id(run_.run_id);
  id.set_phase(machine_.phase());
  id.set_attempt(machine_.attempt());
  return id;
}

void RunActor::Begin() { Handle(event::Begin{}); }

void RunActor::Stop(RunState state, const std::string& reason, Cleanup cleanup) {
  const bool now = cleanup == Cleanup::kSkip;
  // A run that is ending keeps its first reason. Only a stop without clean-up still counts.
  if (machine_.ending(now)) return;
  Handle(event::Stop{.state = state, .reason = reason, .now = now});
}

void RunActor::OnDetached(const std::string& worker_id) {
  const auto found = index_.find(worker_id);
  constexpr int64_t kMaxNotes = 50;  // each is a row; the first ones say what a bad link does
  if (found == index_.end() || IsLost(worker_id) || ++detached_notes_ > kMaxNotes) return;
  Execute(action::Note{
      Severity::kWarning, run_.workers[found->second].hello.host().name(),
      absl::StrCat("the connection is lost; waiting up to ",
                   common::FormatDuration(static_cast<double>(services_.fleet->lease_ns())),
                   " for it")});
}

void RunActor::OnLost(const std::string& worker_id, const std::string& reason) {
  const auto found = index_.find(worker_id);
  if (found == index_.end()) return;
  Handle(event::Lost{found->second, reason});
}

bool RunActor::IsCurrent(const v1::PhaseId& id) const {
  const v1::PhaseId phase = Phase();
  return id.run_id() == phase.run_id() && id.phase() == phase.phase() &&
         id.attempt() == phase.attempt();
}

void RunActor::OnAttached(const std::string& worker_id, const v1::WorkerStatus& status) {
  const auto found = index_.find(worker_id);
  if (found == index_.end()) return;
  const uint32_t worker = found->second;
  if (machine_.lost().contains(worker)) {
    // Only when it is idle: the targets of a worker that still does I/O are not its own any more.
    if (status.state() == v1::WorkerStatus::STATE_IDLE) return Handle(event::Rejoined{worker});
    return Execute(action::StopNow{{worker}, "this worker was given up"});
  }
  event::Attached attached{};
  attached.worker = worker;
  attached.state =
      status.state() == v1::WorkerStatus::STATE_ARMING    ? event::Attached::State::kArming
      : status.state() == v1::WorkerStatus::STATE_ARMED   ? event::Attached::State::kArmed
      : status.state() == v1::WorkerStatus::STATE_RUNNING ? event::Attached::State::kRunning
                                                          : event::Attached::State::kIdle;
  attached.this_phase = IsCurrent(status.phase());
  attached.failed = status.failed();
  attached.not_started = status.not_started();
  const auto clock = services_.fleet->ClockAt(worker_id, services_.clock->MonotonicNs());
  // The offset is the one that is known now. The one with which T was chosen may be minutes old.
  const int64_t left = go_at_[worker] - clock.offset_ns - services_.clock->MonotonicNs();
  const bool repeats = status.last_order().kind() == v1::StopOrder::KIND_REPEAT;
  // The controller before this one may have given an order and not stored it. The worker remembers
  // it.
  if (status.ordered_phase().run_id() == run_.run_id &&
      (!repeats || IsCurrent(status.ordered_phase()))) {
    attached.last_order = DecodeStopOrder(status.last_order());
  }
  // A prepare or a cleanup may begin late, since its hosts need no common start.
  attached.go_is_late = IsLoad(Spec()) && (!clock.known || left < kLateNs);
  Handle(attached);
}

void RunActor::OnMessage(const std::string& worker_id, const v1::WorkerMessage& message) {
  const auto found = index_.find(worker_id);
  if (found == index_.end()) return;
  const uint32_t worker = found->second;
  if (message.has_armed() && IsCurrent(message.armed().phase())) {
    for (const std::string& note : message.armed().notes()) {
      Execute(action::Note{Severity::kInfo, run_.workers[worker].hello.host().name(),
                           common::Printable(note, kMessageColumns)});
    }
    Handle(event::Armed{worker});
  } else if (message.has_phase_failed() && IsCurrent(message.phase_failed().phase())) {
    const std::string reason = common::Printable(message.phase_failed().reason(), kMessageColumns);
    if (message.phase_failed().not_started()) {
      return Handle(event::NotStarted{worker, reason});
    }
    Handle(event::Failed{worker, reason});
  } else if (message.has_status() && message.status().state() == v1::WorkerStatus::STATE_IDLE) {
    if (machine_.lost().contains(worker)) return Handle(event::Rejoined{worker});
    Handle(event::Idle{.worker = worker,
                       .this_phase = IsCurrent(message.status().phase()),
                       .stopped = IsCurrent(message.status().answers())});
  } else if (message.has_status()) {
    OnAttached(worker_id, message.status());
  } else if (message.has_heartbeat()) {
    Handle(event::Doing{worker, message.heartbeat().activity()});
  } else if (message.has_progress() && IsCurrent(message.progress().phase())) {
    progress_[worker] = {static_cast<double>(message.progress().done_bytes()),
                         static_cast<double>(message.progress().total_bytes())};
    v1::WatchEvent event;
    event.mutable_progress()->set_phase(machine_.phase());
    for (const auto& [index, bytes] : progress_) {
      event.mutable_progress()->set_done_bytes(event.progress().done_bytes() + bytes.first);
      event.mutable_progress()->set_total_bytes(event.progress().total_bytes() + bytes.second);
    }
    services_.watchers->Publish(run_.run_id, event);
  } else if (message.has_event()) {
    // A worker that is broken may report without end, and each event is a row.
    if (++events_ > limits::kEventsOfAPhase) return;
    if (events_ == limits::kEventsOfAPhase) {
      return Execute(action::Note{Severity::kWarning, run_.workers[worker].hello.host().name(),
                                  "more events in this phase are not kept"});
    }
    Execute(action::Note{
        message.event().severity() == v1::SEVERITY_ERROR ? Severity::kError : Severity::kWarning,
        run_.workers[worker].hello.host().name(),
        common::Printable(message.event().message(), kMessageColumns)});
  }
}

void RunActor::Handle(const Event& event) {
  // Marks the run as what this process worked on, in case it ends here: a run that does so twice is
  // quarantined (crash_loop.h).
  const std::shared_ptr<void> working = services_.working();
  for (const Action& action : machine_.Handle(event)) {
    std::visit([this](const auto& a) { Execute(a); }, action);
  }
}

void RunActor::Send(uint32_t worker, v1::ControllerMessage message) {
  services_.fleet->Send(run_.workers[worker].hello.worker_id(), std::move(message));
}

void RunActor::Persist(std::function<absl::Status()> work, std::function<void()> then) {
  services_.loop->Persist(std::move(work), [self = shared_from_this(),
                                            then = std::move(then)](const absl::Status& status) {
    // A store that is unavailable does not come here: Persist() tries again. This is a refusal, and
    // going on would decide what no successor could know.
    if (!status.ok()) {
      const std::string why = absl::StrCat("the store: ", std::string(status.message()));
      self->Handle(event::Stop{.state = RunState::kFailed, .reason = why, .now = true});
    }
    then();
  });
}

// Samples of the current attempt are taken from now on.
void RunActor::OpenFeeds(const std::vector<uint32_t>& workers,
                         const IngestPipeline::Earlier& earlier) {
  std::map<std::string, std::pair<uint32_t, std::string>> feeds;
  for (uint32_t worker : workers) {
    feeds[run_.workers[worker].hello.worker_id()] = {worker,
                                                     run_.workers[worker].hello.host().name()};
  }
  IngestPipeline::PhaseCallbacks callbacks;
  // The pipeline's threads outlive a run: weak, so that they do not keep its actor alive.
  const auto post = [weak = weak_from_this(), loop = services_.loop](auto call) {
    loop->Post([weak, call] {
      if (const auto self = weak.lock()) call(self.get());
    });
  };
  callbacks.interval = [run_id = run_.run_id,
                        watchers = services_.watchers](const v1::FleetInterval& interval) {
    v1::WatchEvent event;
    *event.mutable_interval() = interval;
    watchers->Publish(run_id, event);
  };
  callbacks.abort = [post](const std::string& reason) {
    post([reason](RunActor* self) { self->Stop(RunState::kAborted, reason, Cleanup::kRun); });
  };
  callbacks.end = [post, phase = Phase()](const std::string& reason) {
    post([reason, phase](RunActor* self) {
      if (self->IsCurrent(phase))
        self->EndLoad(Severity::kInfo, reason, [](const absl::Status&) {});
    });
  };
  callbacks.result = [post, phase = Phase()](uint32_t worker, const v1::PhaseResult& result,
                                             const std::string& integrity) {
    std::string error = result.error();
    if (error.empty() && !integrity.empty()) error = absl::StrCat("integrity: ", integrity);
    // A result has a histogram for each interval class; only what the deciding thread needs is
    // copied.
    v1::PhaseResult left;
    *left.mutable_left_contents() = result.left_contents();
    post([worker, error, phase, left = std::move(left),
          order = DecodeStopOrder(result.order())](RunActor* self) {
      // A result of an attempt that is over still says what it left on the devices.
      self->written_.TakeResult({phase.phase(), phase.attempt()}, worker, left);
      if (self->IsCurrent(phase)) self->Handle(event::ResultStored{worker, error, order});
    });
  };
  // The pipeline calls this on the thread that delivers, so it may not touch the actor. The claims
  // have a lock of their own.
  callbacks.check_blocks = [claims = claims_](uint32_t worker, const v1::BlockWrites& writes) {
    return claims->Check(worker, writes);
  };
  callbacks.contradicted = [post](uint32_t worker, const std::string& reason) {
    post([worker, reason](RunActor* self) {
      self->Execute(action::Note{Severity::kError, self->run_.workers[worker].hello.host().name(),
                                 reason + ": nothing of that is taken"});
    });
  };
  services_.ingest->Open(Phase(), feeds, LoadOf(run_.job, Spec()), run_.job.interval_ns(),
                         std::move(callbacks), earlier);
}

// The next step follows from the job and from the steps that have ended.
void RunActor::Execute(const action::PlanNext& a) {
  auto next = NextPhase(run_.job, results_, a.cleanup_only ? Remaining::kCleanup : Remaining::kAll);
  if (!next.ok()) {
    return Handle(event::Planned{std::nullopt, std::string(next.status().message())});
  }
  if (!next->has_value()) return Handle(event::Planned{});
  step_ = **std::move(next);
  for (const std::string& note : step_.notes) Execute(action::Note{Severity::kInfo, "", note});
  Handle(event::Planned{PlanOf(run_.job, step_), ""});
}

void RunActor::Execute(const action::RecordPhase& a) {
  progress_.clear();
  events_ = 0;
  go_wall_ns_ = 0;
  if (!StillLaysOut(run_.job, step_.job_phase)) services_.laid_out();
  measure::PhaseRecord record;
  record.phase = a.phase;
  record.attempt = a.attempt;
  record.name = Spec().name();
  record.kind = KindName(Spec());
  record.spec = Spec();
  record.job_phase = step_.job_phase;
  record.step = step_.step;
  const v1::PhaseSpec& of = run_.job.phases(static_cast<int>(step_.job_phase));
  if (of.run().has_sweep()) {
    const auto [kind, point] = StepAt(of.run().sweep(), step_.step);
    if (kind == StepKind::kRun) record.point = {point.values.begin(), point.values.end()};
  }
  record.interval_ns = run_.job.interval_ns();
  const v1::RunPhase load = LoadOf(run_.job, Spec());
  record.ramp_ns = load.ramp_ns();
  std::vector<v1::Workload> workloads(load.workloads().begin(), load.workloads().end());
  OpenFeeds(a.workers, {});
  PublishPhase(PhaseState::kArming);
  Persist([store = services_.store, id = run_.run_id, record, workloads,
           workers = a.workers] { return store->BeginPhase(id, record, workloads, workers); },
          [self = shared_from_this()] { self->Handle(event::PhaseRecorded{}); });
}

void RunActor::Execute(const action::SendGo& a) {
  // From the first go on, a worker may have written, whether it answers or not.
  written_.Start();
  for (uint32_t worker : a.workers) {
    v1::ControllerMessage message;
    *message.mutable_go()->mutable_phase() = Phase();
    message.mutable_go()->set_at_ns(go_at_[worker]);
    Send(worker, std::move(message));
  }
  PublishPhase(PhaseState::kRunning);
}

void RunActor::Execute(const action::StopNow& a) {
  for (uint32_t worker : a.workers) {
    v1::ControllerMessage message;
    message.mutable_stop_now()->set_run_id(run_.run_id);
    message.mutable_stop_now()->set_reason(a.reason);
    *message.mutable_stop_now()->mutable_phase() = Phase();
    if (a.order) *message.mutable_stop_now()->mutable_order() = EncodeStopOrder(*a.order);
    Send(worker, std::move(message));
  }
  // One that was given up is told too, while the others go on.
  if (machine_.stopping()) PublishPhase(PhaseState::kDraining);
}

void RunActor::Execute(const action::SetDeadline& a) {
  services_.loop->After(absl::Nanoseconds(a.after_ns), [weak = weak_from_this(), token = a.token] {
    if (const auto self = weak.lock()) self->OnDeadline(token, StoreWas::kAvailable);
  });
}

// While the store is unavailable nobody is late: results lie in the spool, or at the workers when
// that is full. When it is back they have time to arrive.
void RunActor::OnDeadline(uint64_t token, StoreWas before) {
  const bool unavailable = machine_.awaits_results() && services_.ingest->state().unavailable();
  if (!unavailable && before == StoreWas::kAvailable) return Handle(event::Deadline{token});
  services_.loop->After(
      unavailable ? kUnavailablePoll : kLateResults, [weak = weak_from_this(), token, unavailable] {
        const StoreWas now = unavailable ? StoreWas::kUnavailable : StoreWas::kAvailable;
        if (const auto self = weak.lock()) self->OnDeadline(token, now);
      });
}

void RunActor::Execute(const action::ClosePhase& a) {
  // Close() gives the series up, so the figures are read before it.
  const v1::PhaseFigures figures = services_.ingest->Figures(Phase());
  // A void attempt is repeated. NextPhase() must not see it as a result.
  if (a.state != PhaseState::kVoid) {
    results_.push_back(
        {step_.job_phase, step_.step, Spec().name(), a.state == PhaseState::kDone, figures});
  }
  const auto recording =
      std::make_shared<const measure::Recording>(services_.ingest->Close(Phase()));
  PublishPhase(a.state);
  Persist(
      [store = services_.store, id = run_.run_id, a, recording, figures] {
        return store->EndPhase(id, a.phase, a.attempt, a.state, a.reason, *recording, figures);
      },
      [self = shared_from_this()] { self->Handle(event::PhaseClosed{}); });
}

void RunActor::Execute(const action::RecordLost& a) {
  const int64_t quarantine_ns = QuarantineNs(a.worker);
  services_.ingest->WorkerLost(Phase(), a.worker);
  services_.lost(run_.workers[a.worker].hello.worker_id(), quarantine_ns);
  FenceOff(a.worker);
  services_.loop->Persist(
      [store = services_.store, id = run_.run_id, a, quarantine_ns] {
        return store->SetLost(id, a.worker, a.reason, quarantine_ns);
      },
      [](const absl::Status&) {});
  PublishHosts();
}

void RunActor::Execute(const action::RecordBack& a) {
  services_.loop->Persist(
      [store = services_.store, id = run_.run_id, a] { return store->SetBack(id, a.worker); },
      [](const absl::Status&) {});
  PublishHosts();
}

void RunActor::Execute(const action::RecordEnding& a) {
  services_.loop->Persist(
      [store = services_.store, id = run_.run_id, a] {
        return store->SetEnding(id, a.state, a.reason,
                                a.skip_cleanup ? Cleanup::kSkip : Cleanup::kRun);
      },
      [](const absl::Status&) {});
}

void RunActor::Execute(const action::Note& a) {
  log::Info("run {}: {}{}{}", run_.run_id.substr(0, 8), a.host, a.host.empty() ? "" : ": ",
            a.message);
  // Read once, so that watchers and the store have the same moment.
  const int64_t at = services_.clock->WallNs();
  v1::WatchEvent event;
  event.mutable_event()->set_at(common::FormatInstant(at));
  event.mutable_event()->set_severity(Text(a.severity));
  event.mutable_event()->set_host(a.host);
  event.mutable_event()->set_message(a.message);
  services_.watchers->Publish(run_.run_id, event);
  services_.loop->Persist([store = services_.store, id = run_.run_id, a,
                           at] { return store->AddEvent(id, a.severity, a.host, a.message, at); },
                          [](const absl::Status&) {});
}

void RunActor::Execute(const action::EndRun& a) {
  // Lost workers are told, too, since one that is back may hold registrations. If the message is
  // lost, the next run's assignment or the end of the worker's process ends them.
  for (uint32_t worker = 0; HasFences(run_.job) && worker < run_.workers.size(); ++worker) {
    v1::ControllerMessage message;
    message.mutable_run_over()->set_run_id(run_.run_id);
    Send(worker, std::move(message));
  }
  // `self` keeps this actor alive: its owner erases it in ended_().
  services_.ends->Record(run_.run_id, {a.state, a.outcome, a.degraded},
                         [self = shared_from_this()] { self->ended_(); });
}

}  // namespace lockstep::controller
