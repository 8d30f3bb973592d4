#include "controller/service/coordinator.h"

#include <algorithm>
#include <chrono>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/ids.h"
#include "controller/analysis/report_builder.h"
#include "controller/plan/validate.h"
#include "spdlog/spdlog.h"

namespace lockstep::controller {
namespace {

constexpr int64_t kInspectNs = 30000000000;
// A worker ends its I/O at the latest so long after its controller has fallen silent, and then drains.
constexpr int64_t kWorkerLeaseNs = 15000000000;
constexpr auto kShutdownWait = std::chrono::seconds(8);

// Places that the job writes, of this worker.
std::vector<std::string> WrittenPlaces(const v1::JobSpec& job, const PlanWorker& worker) {
  std::vector<std::string> places;
  for (const v1::TargetInspection& found : worker.inspection.targets()) {
    const int target = static_cast<int>(found.target());
    if (!IsWritten(job, target) && !IsPrepared(job, target)) continue;
    places.insert(places.end(), found.place_keys().begin(), found.place_keys().end());
  }
  return places;
}

}  // namespace

Coordinator::Coordinator(Options options) : options_(std::move(options)) {}

Coordinator::~Coordinator() { Shutdown(); }

void Coordinator::Start(Fleet* fleet, IngestPipeline* ingest, std::vector<storage::RunRecord> queue) {
  fleet_ = fleet;
  ingest_ = ingest;
  for (storage::RunRecord& run : queue) queue_.push_back(std::move(run));
  store_thread_ = std::thread([this] { StoreMain(); });
  thread_ = std::thread([this] { Main(); });
}

void Coordinator::Shutdown() {
  if (!thread_.joinable()) return;
  auto left = std::make_shared<common::Queue<int>>();
  Post([this, left] {
    for (auto& [id, actor] : active_) actor->Stop("aborted", "the controller was shut down", true);
    After(0, [left] { left->Push(0); });
  });
  left->Pop(kShutdownWait);
  const auto deadline = std::chrono::steady_clock::now() + kShutdownWait;
  while (std::chrono::steady_clock::now() < deadline) {
    common::Queue<size_t> count;
    Post([this, &count] { count.Push(active_.size()); });
    const auto active = count.Pop();
    if (active && *active == 0) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
  store_stopping_ = true;
  store_queue_.Close();
  store_thread_.join();
  active_.clear();
}

void Coordinator::Post(std::function<void()> call) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    calls_.push_back(std::move(call));
  }
  changed_.notify_all();
}

void Coordinator::After(int64_t after_ns, std::function<void()> call) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    timers_.emplace(options_.clock->MonotonicNs() + after_ns, std::move(call));
  }
  changed_.notify_all();
}

void Coordinator::Persist(std::function<absl::Status()> work, std::function<void(const absl::Status&)> then) {
  store_queue_.Push({std::move(work), std::move(then)});
}

void Coordinator::StoreMain() {
  while (auto work = store_queue_.Pop()) {
    absl::Status status = work->work();
    for (int tries = 0; absl::IsUnavailable(status) && !store_stopping_; ++tries) {
      if (tries == 0) spdlog::error("the store is out of reach, trying again: {}", std::string(status.message()));
      std::this_thread::sleep_for(std::chrono::milliseconds(500));
      status = work->work();
    }
    Post([then = std::move(work->then), status] { then(status); });
  }
}

void Coordinator::Main() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!stopping_) {
    std::function<void()> call;
    const int64_t now = options_.clock->MonotonicNs();
    if (!calls_.empty()) {
      call = std::move(calls_.front());
      calls_.pop_front();
    } else if (!timers_.empty() && timers_.begin()->first <= now) {
      call = std::move(timers_.begin()->second);
      timers_.erase(timers_.begin());
    } else if (timers_.empty()) {
      changed_.wait(lock);
      continue;
    } else {
      changed_.wait_for(lock, std::chrono::nanoseconds(timers_.begin()->first - now));
      continue;
    }
    lock.unlock();
    call();
    call = nullptr;
    lock.lock();
  }
}

// ------------------------------------------------------------------------------------------------------ the fleet

void Coordinator::OnAttached(const v1::Hello& hello) {
  Persist([store = options_.store, hello] { return store->RegisterWorker(hello); },
          [hello](const absl::Status& status) {
            if (!status.ok()) spdlog::error("worker on {} could not be recorded: {}", hello.host().name(), std::string(status.message()));
          });
  Post([this, hello] {
    spdlog::info("worker on {} attached ({} devices)", hello.host().name(), hello.devices_size());
    Schedule();
  });
}

void Coordinator::OnMessage(const std::string& worker_id, const v1::WorkerMessage& message) {
  Post([this, worker_id, message] {
    if (message.has_inspection()) {
      const auto found = inspections_.find(message.inspection().run_id());
      if (found == inspections_.end()) return;
      for (PlanWorker& worker : found->second.workers) {
        if (worker.hello.worker_id() != worker_id || !worker.inspection.run_id().empty()) continue;
        worker.inspection = message.inspection();
        if (--found->second.missing > 0) continue;
        PendingInspection complete = std::move(found->second);
        inspections_.erase(found);
        return complete.done(std::move(complete.workers), "");
      }
      return;
    }
    for (auto& [id, actor] : active_) {
      if (actor->Uses(worker_id)) return actor->OnMessage(worker_id, message);
    }
  });
}

void Coordinator::OnLost(const std::string& worker_id, const std::string& reason) {
  Post([this, worker_id, reason] {
    spdlog::info("worker {} is gone: {}", worker_id, reason);
    const auto active = active_;
    for (const auto& [id, actor] : active) {
      if (!actor->Uses(worker_id)) continue;
      lost_[id].insert(worker_id);
      actor->OnLost(worker_id, reason);
    }
    for (auto i = inspections_.begin(); i != inspections_.end(); ++i) {
      for (const PlanWorker& worker : i->second.workers) {
        if (worker.hello.worker_id() != worker_id) continue;
        PendingInspection broken = std::move(i->second);
        inspections_.erase(i);
        return broken.done(std::move(broken.workers), absl::StrCat("the worker on ", worker.hello.host().name(), " was lost: ", reason));
      }
    }
  });
}

std::vector<PlanWorker> Coordinator::Attached() const {
  std::vector<PlanWorker> workers;
  for (v1::Hello& hello : fleet_->Hellos()) workers.push_back({std::move(hello), {}});
  return workers;
}

absl::Status Coordinator::CanEverRun(const v1::JobSpec& job) const {
  const auto chosen = Select(job.hosts(), Attached());
  return chosen.status();
}

bool Coordinator::IsBusy(const std::string& worker_id) const {
  for (const auto& [id, starting] : starting_) {
    if (std::count(starting.worker_ids.begin(), starting.worker_ids.end(), worker_id) != 0) return true;
  }
  return std::any_of(active_.begin(), active_.end(), [&](const auto& active) { return active.second->Uses(worker_id); });
}

void Coordinator::Inspect(const std::string& id, const v1::JobSpec& job, std::vector<PlanWorker> workers, Inspected done) {
  PendingInspection& pending = inspections_[id];
  pending.missing = workers.size();
  pending.workers = std::move(workers);
  pending.done = std::move(done);
  const std::vector<PlanWorker> asked = pending.workers;
  for (uint32_t i = 0; i < asked.size(); ++i) {
    v1::ControllerMessage message;
    v1::Inspect* inspect = message.mutable_inspect();
    inspect->set_run_id(id);
    inspect->set_worker_index(i);
    *inspect->mutable_targets() = job.targets();
    *inspect->mutable_expendable() = job.expendable();
    for (int t = 0; t < job.targets_size(); ++t) {
      if (IsWritten(job, t)) inspect->add_written_targets(t);
      if (IsPrepared(job, t)) inspect->add_prepared_targets(t);
    }
    fleet_->Send(asked[i].hello.worker_id(), std::move(message));
  }
  After(kInspectNs, [this, id] {
    const auto found = inspections_.find(id);
    if (found == inspections_.end()) return;
    PendingInspection late = std::move(found->second);
    inspections_.erase(found);
    std::vector<std::string> silent;
    for (const PlanWorker& worker : late.workers) {
      if (worker.inspection.run_id().empty()) silent.push_back(worker.hello.host().name());
    }
    late.done(std::move(late.workers), absl::StrCat("no answer about the targets within 30 s from ", absl::StrJoin(silent, ", ")));
  });
}

// ----------------------------------------------------------------------------------------------------- the queue

void Coordinator::Enqueue(storage::RunRecord run, std::function<void(uint32_t)> done) {
  Post([this, run = std::move(run), done = std::move(done)]() mutable {
    done(static_cast<uint32_t>(queue_.size()));
    queue_.push_back(std::move(run));
    Schedule();
  });
}

// Starts every queued run whose workers are attached and free, oldest first.
void Coordinator::Schedule() {
  std::vector<PlanWorker> free;
  for (PlanWorker& worker : Attached()) {
    if (!IsBusy(worker.hello.worker_id())) free.push_back(std::move(worker));
  }
  for (auto run = queue_.begin(); run != queue_.end();) {
    const auto chosen = Select(run->job.hosts(), free);
    // With all workers asked for, those that are busy are waited for.
    const auto of_all = Select(run->job.hosts(), Attached());
    if (!chosen.ok() || !of_all.ok() || chosen->size() != of_all->size()) {
      ++run;
      continue;
    }
    std::vector<PlanWorker> workers;
    for (uint32_t index : *chosen) workers.push_back(free[index]);
    for (const PlanWorker& taken : workers) {
      free.erase(std::find_if(free.begin(), free.end(), [&](const PlanWorker& w) { return w.hello.worker_id() == taken.hello.worker_id(); }));
    }
    storage::RunRecord next = std::move(*run);
    run = queue_.erase(run);
    StartRun(std::move(next), workers);
  }
}

void Coordinator::StartRun(storage::RunRecord run, const std::vector<PlanWorker>& workers) {
  Starting& starting = starting_[run.run_id];
  for (const PlanWorker& worker : workers) starting.worker_ids.push_back(worker.hello.worker_id());
  const std::string id = run.run_id;
  const v1::JobSpec job = run.job;
  Inspect(id, job, workers, [this, run = std::move(run)](std::vector<PlanWorker> inspected, const std::string& missing) mutable {
    Launch(std::move(run), std::move(inspected), missing);
  });
}

void Coordinator::Launch(storage::RunRecord run, std::vector<PlanWorker> workers, const std::string& missing) {
  const Starting starting = starting_[run.run_id];
  if (starting.cancelled) return FailBeforeStart(run, workers, "cancelled", starting.cancel_reason, {});
  if (!missing.empty()) return FailBeforeStart(run, workers, "failed", missing, {missing});
  const FleetCheck check = CheckFleet(run.job, workers, options_.store_device);
  if (!check.refusals.empty()) {
    const std::string more = check.refusals.size() > 1 ? absl::StrCat(" (and ", check.refusals.size() - 1, " more)") : "";
    return FailBeforeStart(run, workers, "failed", absl::StrCat("refused before anything was opened: ", check.refusals[0], more), check.refusals);
  }
  for (const PlanWorker& worker : workers) {
    for (const std::string& place : WrittenPlaces(run.job, worker)) {
      const auto taken = places_.find(place);
      if (taken == places_.end() || taken->second.run_id == run.run_id) continue;
      // Another run writes there: this one waits for its end, in its old place.
      spdlog::info("run {} waits for {} to leave {}", run.run_id, taken->second.run_id, place);
      v1::WatchEvent waits;
      waits.mutable_event()->set_severity("warning");
      waits.mutable_event()->set_message(absl::StrCat("waiting until run ", taken->second.run_id.substr(0, 8), " or its lost workers have left ", place));
      options_.watchers->Publish(run.run_id, waits);
      starting_.erase(run.run_id);
      queue_.push_front(std::move(run));
      After(1000000000, [this] { Schedule(); });
      return;
    }
  }
  for (const PlanWorker& worker : workers) {
    for (const std::string& place : WrittenPlaces(run.job, worker)) places_[place] = {run.run_id, worker.hello.worker_id()};
  }
  std::vector<storage::RunWorker> members;
  for (uint32_t i = 0; i < workers.size(); ++i) {
    const v1::Hello& hello = workers[i].hello;
    members.push_back({i, hello.worker_id(), hello.host().host_id(), hello.host().name(), hello.host().boot_id(), workers[i].inspection});
  }
  const std::string id = run.run_id;
  SettledRun settled{run.run_id, run.job, run.seed, std::move(workers)};
  Persist([store = options_.store, id, members] { return store->StartRun(id, members); },
          [this, id, settled = std::move(settled), warnings = check.warnings](const absl::Status& status) mutable {
            const Starting ended = starting_[id];
            starting_.erase(id);
            if (!status.ok()) {
              spdlog::error("run {} could not be started: {}", id, std::string(status.message()));
              return Finish(id);
            }
            auto actor = std::make_shared<RunActor>(std::move(settled), Services(), [this, id] { Finish(id); });
            active_[id] = actor;
            v1::WatchEvent started;
            started.mutable_run()->set_run_id(id);
            started.mutable_run()->set_job_name(actor->run().job.name());
            started.mutable_run()->set_state("running");
            started.mutable_run()->set_hosts(static_cast<uint32_t>(actor->run().workers.size()));
            options_.watchers->Publish(id, started);
            for (const std::string& warning : warnings) {
              v1::WatchEvent event;
              event.mutable_event()->set_severity("warning");
              event.mutable_event()->set_message(warning);
              options_.watchers->Publish(id, event);
              Persist([store = options_.store, id, warning] { return store->AddEvent(id, "warning", "", warning); }, [](const absl::Status&) {});
            }
            if (ended.cancelled) return actor->Stop("cancelled", ended.cancel_reason, true);
            actor->Begin();
          });
}

void Coordinator::FailBeforeStart(const storage::RunRecord& run, const std::vector<PlanWorker>& workers, const std::string& state,
                                  const std::string& reason, const std::vector<std::string>& notes) {
  std::vector<storage::RunWorker> members;
  for (uint32_t i = 0; i < workers.size(); ++i) {
    const v1::Hello& hello = workers[i].hello;
    members.push_back({i, hello.worker_id(), hello.host().host_id(), hello.host().name(), hello.host().boot_id(), workers[i].inspection});
  }
  Persist(
      [store = options_.store, id = run.run_id, members, state, reason, notes]() -> absl::Status {
        if (absl::Status status = store->StartRun(id, members); absl::IsUnavailable(status)) return status;
        for (const std::string& note : notes) (void)store->AddEvent(id, "error", "", note);
        return store->EndRun(id, state, reason, false);
      },
      [this, id = run.run_id](const absl::Status&) { Finish(id); });
}

void Coordinator::ReleasePlaces(const std::string& run_id, const std::set<std::string>& keep) {
  for (auto place = places_.begin(); place != places_.end();) {
    const bool released = place->second.run_id == run_id && keep.count(place->second.worker_id) == 0;
    place = released ? places_.erase(place) : std::next(place);
  }
}

// The run's end is in the store: makes its summary, tells those who watch, and gives its workers to the next.
void Coordinator::Finish(const std::string& run_id) {
  starting_.erase(run_id);
  // A worker that was lost ends its I/O by its own lease and drain: until then nobody else gets its targets.
  const auto active = active_.find(run_id);
  const int64_t drain_ns = active == active_.end() ? 0 : active->second->run().job.deadlines().drain_ns();
  ReleasePlaces(run_id, lost_[run_id]);
  if (!lost_[run_id].empty()) {
    After(kWorkerLeaseNs + drain_ns, [this, run_id] {
      ReleasePlaces(run_id, {});
      Schedule();
    });
  }
  lost_.erase(run_id);
  active_.erase(run_id);
  auto summary = std::make_shared<v1::RunSummary>();
  Persist(
      [store = options_.store, run_id, summary]() -> absl::Status {
        auto data = store->LoadRun(run_id);
        if (!data.ok()) return data.status();
        *summary = BuildReport(*data).run();
        return store->SaveSummary(run_id, *summary);
      },
      [this, run_id, summary](const absl::Status& status) {
        if (!status.ok()) spdlog::error("no summary of run {}: {}", run_id, std::string(status.message()));
        options_.watchers->Close(run_id, *summary);
      });
  Schedule();
}

ActorServices Coordinator::Services() {
  ActorServices services;
  services.store = options_.store;
  services.fleet = fleet_;
  services.ingest = ingest_;
  services.watchers = options_.watchers;
  services.clock = options_.clock;
  services.persist = [this](auto work, auto then) { Persist(std::move(work), std::move(then)); };
  services.post = [this](auto call) { Post(std::move(call)); };
  services.after = [this](int64_t after_ns, auto call) { After(after_ns, std::move(call)); };
  return services;
}

// --------------------------------------------------------------------------------------------------- the callers

void Coordinator::StopRun(const std::string& run_id, bool now, const std::string& reason, std::function<void(absl::StatusOr<std::string>)> done) {
  Post([this, run_id, now, reason, done = std::move(done)] {
    const auto queued = std::find_if(queue_.begin(), queue_.end(), [&](const auto& run) { return run.run_id == run_id; });
    if (queued != queue_.end()) {
      queue_.erase(queued);
      Persist([store = options_.store, run_id, reason] { return store->EndRun(run_id, "cancelled", reason, false); },
              [this, run_id](const absl::Status&) { Finish(run_id); });
      return done("cancelled");
    }
    const auto starting = starting_.find(run_id);
    if (starting != starting_.end()) {
      starting->second.cancelled = true;
      starting->second.cancel_reason = reason;
      return done("stopping");
    }
    const auto active = active_.find(run_id);
    if (active == active_.end()) return done(absl::FailedPreconditionError(absl::StrCat("run ", run_id, " has ended already")));
    active->second->Stop("cancelled", reason, now);
    done("stopping");
  });
}

void Coordinator::Plan(v1::JobSpec job, std::function<void(v1::PlanReply)> done) {
  Post([this, job = std::move(job), done = std::move(done)] {
    v1::PlanReply reply;
    const std::vector<PlanWorker> attached = Attached();
    const auto chosen = Select(job.hosts(), attached);
    if (!chosen.ok()) {
      v1::Problem* problem = reply.add_problems();
      problem->set_path("hosts");
      problem->set_message(std::string(chosen.status().message()));
      return done(reply);
    }
    std::vector<PlanWorker> workers;
    for (uint32_t index : *chosen) workers.push_back(attached[index]);
    Inspect("plan-" + common::NewUuid(), job, std::move(workers), [this, job, done, reply](std::vector<PlanWorker> inspected, const std::string& missing) mutable {
      const FleetCheck check = CheckFleet(job, inspected, options_.store_device);
      for (const std::string& refusal : check.refusals) reply.add_problems()->set_message(refusal);
      if (!missing.empty()) reply.add_problems()->set_message(missing);
      for (const std::string& warning : check.warnings) reply.add_warnings(warning);
      for (uint32_t i = 0; i < inspected.size(); ++i) {
        v1::PlannedWorker* worker = reply.add_workers();
        worker->set_host(inspected[i].hello.host().name());
        worker->set_worker_id(inspected[i].hello.worker_id());
        worker->set_worker_index(i);
        *worker->mutable_targets() = inspected[i].inspection.targets();
      }
      done(reply);
    });
  });
}

void Coordinator::Watch(const std::string& run_id, std::shared_ptr<WatchStream> stream, v1::RunSummary summary) {
  Post([this, run_id, stream, summary] {
    v1::WatchEvent first;
    *first.mutable_run() = summary;
    const auto active = active_.find(run_id);
    const bool queued = std::any_of(queue_.begin(), queue_.end(), [&](const auto& run) { return run.run_id == run_id; });
    if (active != active_.end()) first.mutable_run()->set_state("running");
    stream->Send(first);
    if (active != active_.end() && active->second->last_change().has_phase()) stream->Send(active->second->last_change());
    if (active == active_.end() && !queued && starting_.count(run_id) == 0 && summary.state() != "queued" && summary.state() != "running") {
      return stream->End(grpc::Status::OK);
    }
  });
}

void Coordinator::Leases(std::function<void(std::map<std::string, std::string>)> done) {
  Post([this, done = std::move(done)] {
    std::map<std::string, std::string> leases;
    for (const auto& [id, starting] : starting_) {
      for (const std::string& worker : starting.worker_ids) leases[worker] = id;
    }
    for (const auto& [id, actor] : active_) {
      for (const PlanWorker& worker : actor->run().workers) leases[worker.hello.worker_id()] = id;
    }
    done(leases);
  });
}

}  // namespace lockstep::controller
