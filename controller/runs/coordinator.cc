#include "controller/runs/coordinator.h"

#include <algorithm>
#include <chrono>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/log.h"
#include "common/timing.h"
#include "controller/plan/fleet_uses.h"
#include "controller/plan/loads.h"
#include "controller/plan/validate.h"
#include "controller/runs/missing_figures.h"
#include "controller/runs/reports.h"

namespace lockstep::controller {
Coordinator::Coordinator(Options options)
    : options_(std::move(options)),
      tokens_(options_.secret),
      ends_(options_.loop, options_.store),
      queue_(options_.working),
      inspections_(options_.loop),
      devices_(options_.loop, DeviceQueries::Kind::kInspect),
      kernels_(options_.loop, DeviceQueries::Kind::kKernelOnly),
      locks_(options_.store, options_.clock, options_.loop, options_.safeguards,
             [this] { Post([this] { Schedule(); }); }),
      admission_({options_.store, options_.watchers, options_.clock, options_.loop, &ends_,
                  options_.store_location, &tokens_, &stamps_, options_.working},
                 {[this](Admission::Admitted admitted) { Launch(std::move(admitted)); },
                  [this](measure::RunRecord run) { Requeue(std::move(run)); },
                  [this](const std::string& run_id) { Finish(run_id); }},
                 &locks_, &inspections_, &kernels_),
      enrolments_(options_.loop, options_.clock, options_.store, &stamps_, options_.secret,
                  {[this] { return DevicesInUse(); }, [this] { return !admission_.empty(); },
                   [this] {
                     devices_.Renew();
                     Schedule();
                   }}) {}

void Coordinator::Start(FleetLink* fleet, IngestPipeline* ingest, RecoveredState recovered) {
  fleet_ = fleet;
  ingest_ = ingest;
  stamps_ = StampRegistry(recovered.stamps);
  // These start before any worker can attach, because its answers come to them.
  inspections_.Start(fleet);
  devices_.Start(fleet);
  kernels_.Start(fleet);
  enrolments_.Start(fleet);
  for (measure::RunRecord& run : recovered.queue) {
    Remember(run);
    if (run.outcome.empty()) {
      queue_.Add(std::move(run));
      continue;
    }
    // It was stopped while the controller before this one was about to start it.
    ends_.Record(run.run_id, {.state = RunState::kCancelled, .outcome = run.outcome},
                 [this, id = run.run_id] { Finish(id); });
  }
  for (const storage::Quarantine& held : recovered.quarantines) {
    locks_.Restore(
        held, std::any_of(recovered.active.begin(), recovered.active.end(),
                          [&](const auto& active) { return active.run.run_id == held.run_id; }));
  }
  for (const storage::ActiveRun& active : recovered.active) {
    TakeOver(active, recovered.live[active.run.run_id]);
  }
  MakeMissingFigures(options_.loop, options_.store);
  settling_ = !queue_.empty();
  if (active_.empty() && !settling_) return;
  // Workers whose controller has ended notice it after the lease, and then need some time to find
  // this one. Those that come later are lost.
  After(absl::Nanoseconds(fleet_->lease_ns() + timing::kReturnNs), [this] {
    const std::set<std::string> missing = std::move(awaited_);
    awaited_.clear();
    for (const std::string& worker : missing) {
      OnLost(worker, "it did not come back after the controller was replaced");
    }
    settling_ = false;
    Schedule();
  });
}

void Coordinator::TakeOver(const storage::ActiveRun& active, std::shared_ptr<LivePhase> live) {
  const std::shared_ptr<void> working = options_.working(active.run.run_id);
  Remember(active.run);
  SettledRun settled{active.run.run_id, active.run.job, active.run.seed, {}};
  for (const measure::RunWorker& worker : active.workers) {
    settled.workers.push_back({worker.hello, worker.inspection});
    // The roster knows nothing of workers that have never attached to this controller, and cannot
    // say that they are lost.
    if (!worker.lost) awaited_.insert(worker.worker_id);
  }
  locks_.Take(settled.run_id, settled.job, settled.workers);
  if (StillLaysOut(settled.job, active.phase.job_phase)) {
    locks_.TakeSpace(settled.run_id, CheckFleet(settled.job, settled.workers, {}));
  }
  TakenOver from;
  from.point = PointOf(active);
  from.written = WrittenBy(active, settled);
  from.step.spec = active.phase.spec;
  from.step.job_phase = active.phase.job_phase;
  from.step.step = active.phase.step;
  for (const measure::PhaseRecord& ended : active.ended) {
    if (ended.state == PhaseState::kVoid) continue;
    from.results.push_back(
        {ended.job_phase, ended.step, ended.name, ended.state == PhaseState::kDone, ended.figures});
  }
  from.go_ns = active.phase.go_ns;
  for (const measure::WorkerClock& clock : active.clocks) {
    from.clock_offsets[clock.worker_index] = clock.offset_ns;
  }
  from.earlier.cursors = active.cursors;
  from.earlier.live = std::move(live);
  for (const auto& [worker, error] : active.results) from.earlier.ended.insert(worker);
  from.earlier.go_wall_ns = active.go_wall_ns;
  const std::string id = active.run.run_id;
  const auto actor = RunActor::TakeOver(std::move(settled), std::move(from), Services(id),
                                        [this, id] { Finish(id); });
  active_[id] = actor;
  log::Info("run {} is taken over in phase {} (attempt {}, {})", id, active.phase.name,
            active.phase.attempt, Text(active.phase.state));
  // The run begins later, from the loop: the feeds and watchers of all recovered runs come first.
  Post([this, id, actor] {
    AddEvent(id, Severity::kWarning, "the controller was replaced; this one goes on with the run");
    actor->Begin();
  });
}

void Coordinator::Shutdown(std::function<void()> done) {
  Post([this, done = std::move(done)] {
    shutting_down_ = true;
    drained_ = done;
    // A store that refuses an end must not keep this program from ending. The next controller takes
    // over such a run.
    ends_.StopTrying();
    // A copy: an actor that ends removes itself from the map.
    const auto active = active_;
    for (const auto& [id, actor] : active) {
      actor->Stop(RunState::kAborted, "the controller was shut down", Cleanup::kSkip);
    }
    CheckDrained();
  });
}

void Coordinator::CheckDrained() {
  if (drained_ && active_.empty() && finishing_ == 0) drained_();
}

// Tells the watchers of the run, and stores the event.
void Coordinator::AddEvent(const std::string& run_id, Severity severity, const std::string& text) {
  v1::WatchEvent event;
  event.mutable_event()->set_severity(Text(severity));
  event.mutable_event()->set_message(text);
  options_.watchers->Publish(run_id, event);
  Persist(
      [store = options_.store, run_id, severity, text, at = options_.clock->WallNs()] {
        return store->AddEvent(run_id, severity, "", text, at);
      },
      [](const absl::Status&) {});
}

void Coordinator::OnStoreState(const absl::Status& state) {
  Post([this, state] {
    if (!state.ok()) store_is_slow_ = absl::IsResourceExhausted(state);
    const auto [problem, end] = store_is_slow_ ? std::pair("is too slow", "keeps up")
                                               : std::pair("is unavailable", "is back");
    const std::string text =
        state.ok() ? absl::StrCat("the store ", end, ", and all spooled samples are committed")
                   : absl::StrCat("the store ", problem,
                                  ": samples go to the spool, and no new phase starts until it ",
                                  end, " (", std::string(state.message()), ")");
    for (const auto& [id, actor] : active_) AddEvent(id, Severity::kWarning, text);
  });
}

void Coordinator::OnSpoolFull(const std::string& reason) {
  Post([this, reason] {
    const std::string text =
        absl::StrCat("the store was ", store_is_slow_ ? "too slow" : "unavailable", " and ", reason,
                     "; the workers keep their samples until it is back");
    const auto active = active_;
    for (const auto& [id, actor] : active) actor->Stop(RunState::kAborted, text, Cleanup::kRun);
  });
}

// -------------------------------------------------------------------------------------------------
// the fleet

void Coordinator::OnAttached(const v1::Hello& hello) {
  Persist([store = options_.store, hello] { return store->RegisterWorker(hello); },
          [hello](const absl::Status& status) {
            if (!status.ok()) {
              log::Error("worker on {} could not be recorded: {}", hello.host().name(),
                         std::string(status.message()));
            }
          });
  Post([this, hello] {
    const std::string& id = hello.worker_id();
    log::Info("worker on {} attached ({} devices)", hello.host().name(), hello.devices_size());
    awaited_.erase(id);
    stale_workers_.erase(id);
    // The worker's own word that nothing does I/O any more frees the targets. The time that has
    // passed does not.
    if (hello.status().state() == v1::WorkerStatus::STATE_IDLE) Confirm(id);
    const auto active = active_;
    bool known = false;
    for (const auto& [run_id, actor] : active) {
      if (!actor->Uses(id)) continue;
      known = known || (hello.status().phase().run_id() == run_id && !actor->IsLost(id));
      actor->OnAttached(id, hello.status());
    }
    if (!known && hello.status().state() != v1::WorkerStatus::STATE_IDLE) {
      StopStaleWorker(id, hello.status().phase().run_id());
    }
    inspections_.OnAttached(id);
    Schedule();
  });
}

// Stops a worker that is busy with a run that is over or goes on without it. The worker gets
// nothing else to do until it says that it is idle.
void Coordinator::StopStaleWorker(const std::string& worker_id, const std::string& run_id) {
  stale_workers_.insert(worker_id);
  v1::ControllerMessage message;
  message.mutable_stop_now()->set_run_id(run_id);
  message.mutable_stop_now()->set_reason("the run is over, or goes on without this worker");
  fleet_->Send(worker_id, std::move(message));
}

// The worker is idle: frees what it held because it was lost.
void Coordinator::Confirm(const std::string& worker_id) {
  stale_workers_.erase(worker_id);
  locks_.Confirm(worker_id);
}

void Coordinator::OnMessage(const std::string& worker_id, const v1::WorkerMessage& message) {
  Post([this, worker_id, message] {
    if (message.has_inspection()) return inspections_.OnAnswer(worker_id, message.inspection());
    if (message.has_devices()) {
      // Each kind of query has numbers of its own (DeviceQueries::NextId()), so that only one of
      // the three takes the answer.
      devices_.OnAnswer(worker_id, message.devices());
      enrolments_.OnDevices(worker_id, message.devices());
      return kernels_.OnAnswer(worker_id, message.devices());
    }
    if (message.has_stamps()) return enrolments_.OnStamps(worker_id, message.stamps());
    // The locks come before the actor hears of it. With the last worker armed, the actor commits T,
    // and a stop for a conflict would come too late.
    if (message.has_armed()) LockOpened(worker_id, message.armed());
    const bool idle =
        message.has_status() && message.status().state() == v1::WorkerStatus::STATE_IDLE;
    if (idle) Confirm(worker_id);
    const auto active = active_;
    for (const auto& [id, actor] : active) {
      if (actor->Uses(worker_id)) actor->OnMessage(worker_id, message);
    }
    if (idle) Schedule();
  });
}

void Coordinator::LockOpened(const std::string& worker_id, const v1::Armed& armed) {
  const auto active = active_.find(armed.phase().run_id());
  if (active == active_.end() || !active->second->Uses(worker_id) ||
      !active->second->IsAt(armed.phase())) {
    return;
  }
  const std::string other = locks_.TakeOpened(worker_id, armed);
  if (other.empty()) return;
  const auto actor = active->second;
  actor->Stop(RunState::kAborted,
              absl::StrCat("a target has the same bytes as one of run ", other.substr(0, 8),
                           ", under another name"),
              Cleanup::kRun);
}

void Coordinator::OnDetached(const std::string& worker_id) {
  Post([this, worker_id] {
    const auto active = active_;
    for (const auto& [id, actor] : active) {
      if (actor->Uses(worker_id)) actor->OnDetached(worker_id);
    }
  });
}

void Coordinator::OnLost(const std::string& worker_id, const std::string& reason) {
  Post([this, worker_id, reason] {
    log::Info("worker {} is lost: {}", worker_id, reason);
    stale_workers_.erase(worker_id);
    const auto active = active_;
    for (const auto& [id, actor] : active) {
      if (actor->Uses(worker_id)) actor->OnLost(worker_id, reason);
    }
    admission_.OnLost(worker_id, reason);
    inspections_.OnLost(worker_id, reason);
    devices_.OnLost(worker_id);
    kernels_.OnLost(worker_id);
    enrolments_.OnLost(worker_id);
  });
}

void Coordinator::OnIntruder(const std::string& text) {
  Post([this, text] {
    // Anybody who reaches the port can cause these events, and each is a row in the store.
    constexpr size_t kMaxRemembered = 1000;
    if (intruders_.size() >= kMaxRemembered || !intruders_.insert(text).second) return;
    OnFleetEvent("a worker is refused: " + text);
  });
}

void Coordinator::OnFleetEvent(const std::string& text) {
  Post([this, text] {
    log::Warn("{}", text);
    // The event goes to every run in progress, because it may concern each of them.
    std::vector<std::string> runs;
    for (const auto& [id, actor] : active_) runs.push_back(id);
    // Without a run it is an event of the fleet.
    if (runs.empty()) runs.emplace_back();
    for (const std::string& run_id : runs) AddEvent(run_id, Severity::kWarning, text);
  });
}

std::vector<PlanWorker> Coordinator::Attached() const {
  std::vector<PlanWorker> workers;
  for (v1::Hello& hello : fleet_->Hellos()) workers.push_back({std::move(hello), {}});
  return workers;
}

std::map<std::string, std::string> Coordinator::DevicesInUse() const {
  std::map<std::string, std::string> used;
  for (const auto& [id, actor] : active_) {
    for (const PlanWorker& worker : actor->run().workers) {
      for (const v1::TargetInspection& found : worker.inspection.targets()) {
        if (found.device_identity().empty()) continue;
        used.emplace(DeviceKey(found.device_identity(), worker.hello.host().boot_id()), id);
      }
    }
  }
  return used;
}

absl::Status Coordinator::CanEverRun(const v1::JobSpec& job) const {
  const auto chosen = Select(job.hosts(), Attached());
  return chosen.status();
}

bool Coordinator::IsBusy(const std::string& worker_id) const {
  if (stale_workers_.contains(worker_id) || admission_.Uses(worker_id)) return true;
  return std::any_of(active_.begin(), active_.end(),
                     [&](const auto& active) { return active.second->Uses(worker_id); });
}

// -------------------------------------------------------------------------------------------------
// the queue

void Coordinator::Enqueue(measure::RunRecord run, std::function<void(uint32_t)> done) {
  Post([this, run = std::move(run), done = std::move(done)]() mutable {
    done(static_cast<uint32_t>(queue_.size()));
    if (queue_.Has(run.run_id) || admission_.Has(run.run_id) || active_.contains(run.run_id))
      return;
    Remember(run);
    queue_.Add(std::move(run));
    Schedule();
  });
}

void Coordinator::Remember(const measure::RunRecord& run) {
  v1::RunSummary& known = known_[run.run_id];
  known.set_run_id(run.run_id);
  known.set_job_name(run.job.name());
  known.set_owner(run.owner);
  *known.mutable_labels() = run.job.labels();
  known.set_submitted_at(run.submitted_at);
}

void Coordinator::Abandon(const measure::RunRecord& run, std::shared_ptr<void> until_ended) {
  Persist(
      [store = options_.store, run]() -> absl::Status {
        // The store may still commit the first try. A second one waits for its end, so that the
        // cancel below comes after it.
        return store->Enqueue(run);
      },
      [this, id = run.run_id, until_ended = std::move(until_ended)](const absl::Status& status) {
        if (!status.ok()) return;
        ends_.Record(id, {RunState::kCancelled, "the store did not answer when it was submitted"},
                     [until_ended] {});
      });
}

// Starts every queued run whose workers are attached and free, oldest first.
void Coordinator::Schedule() {
  // While stamps are written, an inspection would see contents that change under it. The end of the
  // enrolment calls this again.
  if (shutting_down_ || queue_.empty() || enrolments_.is_writing()) return;
  const std::vector<PlanWorker> attached = Attached();
  std::vector<PlanWorker> free;
  for (const PlanWorker& worker : attached) {
    if (!IsBusy(worker.hello.worker_id())) free.push_back(worker);
  }
  for (RunQueue::Ready& ready : queue_.TakeReady(attached, std::move(free), settling_)) {
    admission_.Begin(std::move(ready.run), std::move(ready.workers));
  }
}

// Another run has what this one needs: it waits for that run's end, at its old place in the queue.
void Coordinator::Requeue(measure::RunRecord run) {
  queue_.AddFirst(std::move(run));
  // The pause bounds how often the workers inspect again while the conflict lasts. The end of the
  // other run calls Schedule() as well.
  After(absl::Seconds(1), [this] { Schedule(); });
}

void Coordinator::Launch(Admission::Admitted admitted) {
  const std::string id = admitted.run.run_id;
  const std::shared_ptr<void> working = options_.working(id);
  auto actor =
      std::make_shared<RunActor>(std::move(admitted.run), Services(id), [this, id] { Finish(id); });
  active_[id] = actor;
  v1::WatchEvent started;
  started.mutable_run()->set_run_id(id);
  started.mutable_run()->set_job_name(actor->run().job.name());
  started.mutable_run()->set_owner(known_[id].owner());
  started.mutable_run()->set_state(Text(RunState::kRunning));
  started.mutable_run()->set_hosts(static_cast<uint32_t>(actor->run().workers.size()));
  const auto& workers = actor->run().workers;
  const bool synthetic = std::any_of(workers.begin(), workers.end(), [](const auto& worker) {
    return worker.inspection.synthetic();
  });
  started.mutable_run()->set_synthetic(synthetic);
  options_.watchers->Publish(id, started);
  for (const std::string& warning : admitted.warnings) AddEvent(id, Severity::kWarning, warning);
  if (shutting_down_)
    return actor->Stop(RunState::kAborted, "the controller was shut down", Cleanup::kSkip);
  if (admitted.cancelled)
    return actor->Stop(RunState::kCancelled, admitted.cancel_reason, Cleanup::kSkip);
  actor->Begin();
  for (const auto& [worker, reason] : admitted.lost) actor->OnLost(worker, reason);
}

// The run's end is in the store: makes its summary, tells those who watch, and gives its workers to
// the next.
void Coordinator::Finish(const std::string& run_id) {
  active_.erase(run_id);
  known_.erase(run_id);
  ++finishing_;
  // A worker that was lost ends its I/O by its own hard stop: until then nobody else gets its
  // targets.
  locks_.End(run_id);
  auto summary = std::make_shared<v1::RunSummary>();
  options_.loop->RunInBackground(
      [store = options_.store, run_id, summary, working = options_.working,
       at = options_.clock->WallNs()]() -> absl::Status {
        const std::shared_ptr<void> mark = working(run_id);
        const auto report = ReportOf(store, run_id);
        if (!report.ok()) return report.status();
        *summary = report->run();
        if (absl::Status status = SaveTimelines(store, run_id); !status.ok()) return status;
        if (absl::Status status = store->SaveReport(run_id, *report); !status.ok()) return status;
        for (const v1::PhaseReport& phase : report->phases()) {
          if (phase.invalid()) {
            (void)store->AddEvent(
                run_id, Severity::kError, "",
                absl::StrCat("phase ", phase.name(),
                             " is invalid: the start skew was beyond the job's limit"),
                at);
          }
        }
        return absl::OkStatus();
      },
      [this, run_id, summary](const absl::Status& status) {
        --finishing_;
        if (!status.ok()) {
          log::Error("no summary of run {}: {}", run_id, std::string(status.message()));
        }
        options_.watchers->Close(run_id, *summary);
        CheckDrained();
      });
  Schedule();
}

ActorServices Coordinator::Services(const std::string& run_id) {
  ActorServices services;
  services.store = options_.store;
  services.fleet = fleet_;
  services.ingest = ingest_;
  services.watchers = options_.watchers;
  services.clock = options_.clock;
  services.loop = options_.loop;
  services.ends = &ends_;
  services.safeguards = options_.safeguards;
  services.working = [working = options_.working, run_id] { return working(run_id); };
  services.laid_out = [this, run_id] { locks_.SettleSpace(run_id); };
  services.lost = [this, run_id](const std::string& worker_id, int64_t quarantine_ns) {
    locks_.Lose(run_id, worker_id, quarantine_ns);
    StopStaleWorker(worker_id,
                    run_id);  // until it says that it does nothing, comes back, or is lost
  };
  return services;
}

}  // namespace lockstep::controller
