#include "controller/service/run_actor.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "controller/plan/loads.h"
#include "spdlog/spdlog.h"

namespace lockstep::controller {
namespace {

// T lies so far ahead that the message reaches the slowest worker: this, and many of its round trips.
constexpr int64_t kLeastLeadNs = 250000000;
constexpr int64_t kRoundTripsAhead = 20;
// A T nearer than this when it is on disk is too near; another one is chosen.
constexpr int64_t kLatestNs = 100000000;
constexpr int64_t kClockRetryNs = 50000000;

RunPlan MakePlan(const SettledRun& run) {
  RunPlan plan;
  for (const v1::PhaseSpec& phase : run.job.phases()) {
    const PhaseKind kind = phase.has_prepare() ? PhaseKind::kPrepare : phase.has_cleanup() ? PhaseKind::kCleanup : PhaseKind::kRun;
    plan.phases.push_back({phase.name(), kind, PhaseDeadlineNs(run.job, phase)});
  }
  for (const PlanWorker& worker : run.workers) plan.hosts.push_back(worker.hello.host().name());
  plan.on_worker_loss = run.job.on_worker_loss() == v1::LOSS_POLICY_CONTINUE ? LossPolicy::kContinue : LossPolicy::kAbort;
  plan.min_hosts = run.job.min_hosts();
  plan.arm_deadline_ns = run.job.deadlines().arm_ns();
  plan.stop_deadline_ns = run.job.deadlines().drain_ns() + 10000000000;
  return plan;
}

}  // namespace

RunActor::RunActor(SettledRun run, ActorServices services, std::function<void()> ended)
    : run_(std::move(run)), services_(std::move(services)), ended_(std::move(ended)), machine_(MakePlan(run_)) {
  for (uint32_t i = 0; i < run_.workers.size(); ++i) index_[run_.workers[i].hello.worker_id()] = i;
}

v1::PhaseId RunActor::Phase() const {
  v1::PhaseId id;
  id.set_run_id(run_.run_id);
  id.set_phase(machine_.phase());
  id.set_attempt(machine_.attempt());
  return id;
}

void RunActor::Begin() { Handle(event::Begin{}); }

void RunActor::Stop(const std::string& state, const std::string& reason, bool now) { Handle(event::Stop{state, reason, now}); }

void RunActor::OnLost(const std::string& worker_id, const std::string& reason) {
  const auto found = index_.find(worker_id);
  if (found == index_.end()) return;
  services_.ingest->WorkerLost(Phase(), found->second);
  Handle(event::Lost{found->second, reason});
}

void RunActor::OnMessage(const std::string& worker_id, const v1::WorkerMessage& message) {
  const auto found = index_.find(worker_id);
  if (found == index_.end()) return;
  const uint32_t worker = found->second;
  const v1::PhaseId phase = Phase();
  const auto current = [&](const v1::PhaseId& id) {
    return id.run_id() == phase.run_id() && id.phase() == phase.phase() && id.attempt() == phase.attempt();
  };
  if (message.has_armed() && current(message.armed().phase())) {
    for (const std::string& note : message.armed().notes()) Carry(action::Note{"info", run_.workers[worker].hello.host().name(), note});
    Handle(event::Armed{worker});
  } else if (message.has_phase_failed() && current(message.phase_failed().phase())) {
    Handle(event::Failed{worker, message.phase_failed().reason()});
  } else if (message.has_progress() && current(message.progress().phase())) {
    progress_[worker] = {static_cast<double>(message.progress().done_bytes()), static_cast<double>(message.progress().total_bytes())};
    v1::WatchEvent event;
    event.mutable_progress()->set_phase(machine_.phase());
    for (const auto& [index, bytes] : progress_) {
      event.mutable_progress()->set_done_bytes(event.progress().done_bytes() + bytes.first);
      event.mutable_progress()->set_total_bytes(event.progress().total_bytes() + bytes.second);
    }
    services_.watchers->Publish(run_.run_id, event);
  } else if (message.has_event()) {
    Carry(action::Note{message.event().severity() == "error" ? "error" : "warning", run_.workers[worker].hello.host().name(), message.event().message()});
  }
}

void RunActor::Handle(const Event& event) {
  for (const Action& action : machine_.Handle(event)) {
    std::visit([this](const auto& a) { Carry(a); }, action);
  }
}

void RunActor::Send(uint32_t worker, v1::ControllerMessage message) {
  services_.fleet->Send(run_.workers[worker].hello.worker_id(), std::move(message));
}

void RunActor::Persist(std::function<absl::Status()> work, std::function<void()> then) {
  services_.persist(std::move(work), [self = shared_from_this(), then = std::move(then)](const absl::Status& status) {
    if (!status.ok()) self->Handle(event::Stop{"failed", absl::StrCat("the store: ", std::string(status.message())), true});
    then();
  });
}

void RunActor::PublishPhase(const std::string& state) {
  v1::WatchEvent event;
  v1::PhaseChange* change = event.mutable_phase();
  change->set_index(machine_.phase());
  change->set_count(run_.job.phases_size());
  change->set_name(Spec().name());
  change->set_kind(KindName(Spec()));
  change->set_state(state);
  const v1::RunPhase load = LoadOf(run_.job, Spec());
  change->set_expected_seconds(static_cast<double>(load.ramp_ns() + load.duration_ns()) / 1e9);
  last_change_ = event;
  services_.watchers->Publish(run_.run_id, event);
}

void RunActor::Carry(const action::RecordPhase& a) {
  progress_.clear();
  storage::PhaseRecord record;
  record.phase = a.phase;
  record.attempt = a.attempt;
  record.name = Spec().name();
  record.kind = KindName(Spec());
  record.interval_ns = run_.job.interval_ns();
  const v1::RunPhase load = LoadOf(run_.job, Spec());
  record.ramp_ns = load.ramp_ns();
  std::vector<v1::Workload> workloads(load.workloads().begin(), load.workloads().end());
  std::map<std::string, std::pair<uint32_t, std::string>> feeds;
  std::vector<std::string> ids;
  for (uint32_t worker : a.workers) {
    const v1::Hello& hello = run_.workers[worker].hello;
    feeds[hello.worker_id()] = {worker, hello.host().name()};
    ids.push_back(hello.worker_id());
  }
  services_.fleet->PingBurst(ids);
  IngestPipeline::PhaseCallbacks callbacks;
  const std::weak_ptr<RunActor> weak = weak_from_this();
  const auto post = [weak, services = services_](auto call) {
    services.post([weak, call] {
      if (const auto self = weak.lock()) call(self.get());
    });
  };
  callbacks.interval = [run_id = run_.run_id, watchers = services_.watchers](const v1::FleetInterval& interval) {
    v1::WatchEvent event;
    *event.mutable_interval() = interval;
    watchers->Publish(run_id, event);
  };
  callbacks.abort = [post](const std::string& reason) {
    post([reason](RunActor* self) { self->Stop("aborted", reason, false); });
  };
  callbacks.result = [post](uint32_t worker, const v1::PhaseResult& result, const std::string& integrity) {
    std::string error = result.error();
    if (error.empty() && !integrity.empty()) error = absl::StrCat("integrity: ", integrity);
    post([worker, error](RunActor* self) { self->Handle(event::ResultStored{worker, error}); });
  };
  services_.ingest->Open(Phase(), feeds, Spec().run().abort_if(), std::move(callbacks));
  PublishPhase("arming");
  Persist([store = services_.store, id = run_.run_id, record, workloads, workers = a.workers] { return store->BeginPhase(id, record, workloads, workers); },
          [self = shared_from_this()] { self->Handle(event::PhaseRecorded{}); });
}

void RunActor::Carry(const action::Assign& a) {
  auto assignments = MakeAssignments(run_, a.phase, a.attempt, a.workers);
  if (!assignments.ok()) {
    for (uint32_t worker : a.workers) Handle(event::Failed{worker, std::string(assignments.status().message())});
    return;
  }
  for (size_t i = 0; i < a.workers.size(); ++i) {
    v1::ControllerMessage message;
    *message.mutable_assign() = std::move((*assignments)[i]);
    Send(a.workers[i], std::move(message));
  }
}

void RunActor::Carry(const action::CommitGo& a) {
  std::vector<storage::WorkerClock> clocks;
  int64_t slowest = 0;
  for (uint32_t worker : machine_.members()) {  // not a.workers: one may have been lost while this waited
    const auto clock = services_.fleet->ClockOf(run_.workers[worker].hello.worker_id());
    if (!clock.known) {  // attached a moment ago: the first replies are on their way
      services_.after(kClockRetryNs, [self = shared_from_this(), a] {
        if (std::string(self->machine_.stage()) == "committing") self->Carry(a);
      });
      return;
    }
    clocks.push_back({worker, clock.offset_ns, clock.bound_ns});
    slowest = std::max(slowest, clock.round_trip_ns);
  }
  const int64_t go = services_.clock->MonotonicNs() + std::max(kLeastLeadNs, kRoundTripsAhead * slowest) + 2 * commit_ns_;
  const int64_t wall = services_.clock->WallNs() + (go - services_.clock->MonotonicNs());
  go_at_.clear();
  for (const storage::WorkerClock& clock : clocks) go_at_[clock.worker_index] = go + clock.offset_ns;
  services_.ingest->SetGo(Phase(), wall);
  const int64_t began = services_.clock->MonotonicNs();
  Persist([store = services_.store, id = run_.run_id, a, go, wall, clocks] { return store->CommitGo(id, a.phase, a.attempt, go, wall, clocks); },
          [self = shared_from_this(), a, go, began] {
            self->commit_ns_ = self->services_.clock->MonotonicNs() - began;
            if (std::string(self->machine_.stage()) != "committing") return;
            if (go - self->services_.clock->MonotonicNs() < kLatestNs) return self->Carry(a);  // the store took too long
            self->Handle(event::GoCommitted{});
          });
}

void RunActor::Carry(const action::SendGo& a) {
  for (uint32_t worker : a.workers) {
    v1::ControllerMessage message;
    *message.mutable_go()->mutable_phase() = Phase();
    message.mutable_go()->set_at_ns(go_at_[worker]);
    Send(worker, std::move(message));
  }
  PublishPhase("running");
}

void RunActor::Carry(const action::StopNow& a) {
  for (uint32_t worker : a.workers) {
    v1::ControllerMessage message;
    message.mutable_stop_now()->set_run_id(run_.run_id);
    message.mutable_stop_now()->set_reason(a.reason);
    Send(worker, std::move(message));
  }
  PublishPhase("draining");
}

void RunActor::Carry(const action::SetDeadline& a) {
  services_.after(a.after_ns, [weak = weak_from_this(), token = a.token] {
    if (const auto self = weak.lock()) self->Handle(event::Deadline{token});
  });
}

void RunActor::Carry(const action::ClosePhase& a) {
  if (a.state == "done") run_.measured_iops[Spec().name()] = services_.ingest->MeasuredIops(Phase());
  const std::vector<storage::Rollup> rollups = services_.ingest->Close(Phase());
  PublishPhase(a.state == "done" ? "done" : "failed");
  Persist([store = services_.store, id = run_.run_id, a, rollups] { return store->EndPhase(id, a.phase, a.attempt, a.state, a.reason, rollups); },
          [self = shared_from_this()] { self->Handle(event::PhaseClosed{}); });
}

void RunActor::Carry(const action::Note& a) {
  spdlog::info("run {}: {}{}{}", run_.run_id.substr(0, 8), a.host, a.host.empty() ? "" : ": ", a.message);
  v1::WatchEvent event;
  event.mutable_event()->set_at(absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", absl::FromUnixNanos(services_.clock->WallNs()), absl::UTCTimeZone()));
  event.mutable_event()->set_severity(a.severity);
  event.mutable_event()->set_host(a.host);
  event.mutable_event()->set_message(a.message);
  services_.watchers->Publish(run_.run_id, event);
  services_.persist([store = services_.store, id = run_.run_id, a] { return store->AddEvent(id, a.severity, a.host, a.message); },
                    [](const absl::Status&) {});
}

void RunActor::Carry(const action::EndRun& a) {
  for (const auto& [id, index] : index_) {
    v1::ControllerMessage message;
    message.mutable_release()->set_run_id(run_.run_id);
    services_.fleet->Send(id, std::move(message));
  }
  services_.persist([store = services_.store, id = run_.run_id, a] { return store->EndRun(id, a.state, a.outcome, a.degraded); },
                    [self = shared_from_this()](const absl::Status& status) {
                      if (!status.ok()) spdlog::error("the end of run {} could not be stored: {}", self->run_.run_id, std::string(status.message()));
                      self->ended_();
                    });
}

}  // namespace lockstep::controller
