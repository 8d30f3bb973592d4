// The calls of clients to the coordinator.

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "controller/runs/coordinator.h"
#include "measure/states.h"

namespace lockstep::controller {

void Coordinator::StopRun(const std::string& run_id, Cleanup cleanup, const std::string& reason,
                          StopDone done) {
  Post([this, run_id, cleanup, reason, done = std::move(done)] {
    if (queue_.Remove(run_id)) {
      ends_.Record(run_id, {.state = RunState::kCancelled, .outcome = reason},
                   [this, run_id] { Finish(run_id); });
      return AnswerStop(run_id, v1::StopReply::OUTCOME_CANCELLED, WorkersStop::kNo, done);
    }
    // The store may already have the run as started. In either case a successor reads the ending,
    // and does not go on with the run.
    if (admission_.Cancel(run_id, reason)) {
      Persist(
          [store = options_.store, run_id, reason] {
            return store->SetEnding(run_id, RunState::kCancelled, reason, Cleanup::kRun);
          },
          [](const absl::Status&) {});
      return AnswerStop(run_id, v1::StopReply::OUTCOME_STOPPING, WorkersStop::kNo, done);
    }
    const auto active = active_.find(run_id);
    if (active == active_.end() || active->second->over()) {
      return done(
          absl::FailedPreconditionError(absl::StrCat("run ", run_id, " has ended already")));
    }
    active->second->Stop(RunState::kCancelled, reason, cleanup);
    AnswerStop(run_id, v1::StopReply::OUTCOME_STOPPING,
               active->second->stopping() ? WorkersStop::kYes : WorkersStop::kNo, done);
  });
}

void Coordinator::AnswerStop(const std::string& run_id, v1::StopReply::Outcome outcome,
                             WorkersStop workers, StopDone done) {
  v1::StopReply stored;
  stored.set_outcome(outcome);
  absl::StatusOr<v1::StopReply> late = absl::UnavailableError(absl::StrCat(
      "the store is unavailable and does not have the stop of run ", run_id,
      " yet; if the controller ends before the store is back, the stop is lost: then stop the run "
      "again"));
  if (workers == WorkersStop::kYes) {
    stored.set_warning("the store is unavailable and does not have this yet; the workers do");
    late = stored;
    stored.clear_warning();
  }
  // Each caller costs a timer and an entry in the queue of the store's thread, for as long as the
  // store is unavailable.
  int& callers = stop_callers_[run_id];
  if (callers >= limits::kStopCallersPerRun) return done(late);
  ++callers;
  const auto waiting = std::make_shared<StopDone>(std::move(done));
  const auto answer = [this, run_id, waiting](const absl::StatusOr<v1::StopReply>& reply) {
    // The timer and the store both call this. The first of them answers.
    const StopDone call = std::exchange(*waiting, nullptr);
    if (call == nullptr) return;
    if (--stop_callers_[run_id] == 0) stop_callers_.erase(run_id);
    call(reply);
  };
  After(kStopAnswerTime, [answer, late] { answer(late); });
  // Persist() works in order. When this empty work is done, the store also has what the stop wrote
  // before it.
  Persist([] { return absl::OkStatus(); },
          [answer, stored](const absl::Status&) { answer(stored); });
}

void Coordinator::EndLoad(const std::string& run_id, const std::string& reason,
                          std::function<void(absl::Status)> done) {
  Post([this, run_id, reason, done = std::move(done)] {
    const auto active = active_.find(run_id);
    if (active == active_.end()) {
      const bool waits = queue_.Has(run_id) || admission_.Has(run_id);
      return done(absl::FailedPreconditionError(
          absl::StrCat("run ", run_id, waits ? " has not started yet" : " has ended already")));
    }
    active->second->EndLoad(Severity::kWarning, reason, done);
  });
}

void Coordinator::Plan(std::shared_ptr<const v1::JobSpec> job,
                       std::function<void(v1::PlanReply)> done) {
  Post([this, job = std::move(job), done = std::move(done)] {
    const std::vector<PlanWorker> attached = Attached();
    const auto chosen = Select(job->hosts(), attached);
    if (!chosen.ok()) {
      v1::PlanReply reply;
      v1::Problem* problem = reply.add_problems();
      problem->set_path("hosts");
      problem->set_message(std::string(chosen.status().message()));
      return done(reply);
    }
    std::vector<PlanWorker> workers;
    // Workers that are busy with a run take part as well, since a plan starts nothing.
    for (uint32_t index : *chosen) workers.push_back(attached[index]);
    admission_.Plan(job, std::move(workers), done);
  });
}

absl::Status Coordinator::CheckTokenAge(const std::string& token) const {
  return tokens_.CheckAge(token, options_.clock->WallNs());
}

void Coordinator::Devices(std::function<void(const v1::DevicesReply*)> done) {
  Post([this, done = std::move(done)] {
    const bool asked = devices_.Query([this, done](v1::DevicesReply reply) {
      // A worker sees a stamp. Only the registry knows whether it still counts.
      stamps_.Judge(&reply);
      done(&reply);
    });
    if (!asked) done(nullptr);
  });
}

void Coordinator::Enroll(const v1::EnrollRequest& request, const std::string& by,
                         Enrolments::Done done) {
  Post([this, request, by, done = std::move(done)] { enrolments_.Enroll(request, by, done); });
}

void Coordinator::DropQueries() {
  enrolments_.Drop();
  inspections_.Drop();
  devices_.Drop();
  kernels_.Drop();
}

void Coordinator::Watch(const std::string& run_id, const std::shared_ptr<WatchStream>& stream,
                        const v1::RunSummary& summary) {
  Post([this, run_id, stream, summary] {
    v1::WatchEvent first;
    *first.mutable_run() = summary;
    const auto active = active_.find(run_id);
    // The summary was read from the store on another thread. The run may have started since then.
    const bool queued = queue_.Has(run_id);
    if (active != active_.end()) first.mutable_run()->set_state(Text(RunState::kRunning));
    stream->Send(std::make_shared<const v1::WatchEvent>(first));
    if (active != active_.end() && active->second->last_change().has_phase()) {
      stream->Send(std::make_shared<const v1::WatchEvent>(active->second->last_change()));
    }
    // A summary that was read before the run's end still says that it is in progress.
    // Watchers::Close() then ends the stream, once the final summary is made.
    if (active == active_.end() && !queued && !admission_.Has(run_id) &&
        !measure::IsInProgress(summary)) {
      return stream->End(grpc::Status::OK);
    }
  });
}

void Coordinator::Runs(std::function<void(std::vector<v1::RunSummary>)> done) {
  Post([this, done = std::move(done)] {
    // From memory, so that `status` has an answer while the store is unavailable.
    std::vector<v1::RunSummary> runs;
    for (const auto& [id, known] : known_) {
      runs.push_back(known);
      const auto active = active_.find(id);
      runs.back().set_state(Text(active == active_.end() ? RunState::kQueued : RunState::kRunning));
      runs.back().set_end_problem(ends_.ProblemOf(id));
      if (active != active_.end()) {
        runs.back().set_hosts(static_cast<uint32_t>(active->second->run().workers.size()));
      }
    }
    done(std::move(runs));
  });
}

void Coordinator::Leases(std::function<void(std::map<std::string, std::string>)> done) {
  Post([this, done = std::move(done)] {
    std::map<std::string, std::string> leases = admission_.Leases();
    for (const auto& [id, actor] : active_) {
      for (const PlanWorker& worker : actor->run().workers) leases[worker.hello.worker_id()] = id;
    }
    done(leases);
  });
}

}  // namespace lockstep::controller
