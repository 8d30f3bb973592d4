#include "controller/runs/inspections.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/limits.h"
#include "common/timing.h"
#include "controller/plan/environments.h"
#include "controller/plan/observes.h"
#include "controller/plan/validate.h"

namespace lockstep::controller {
namespace {

// Every answer carries the id of its request, so an empty id means that the worker has not
// answered.
bool IsMissing(const PlanWorker& worker) { return worker.inspection.run_id().empty(); }

v1::Inspect RequestAbout(const std::string& id, const v1::JobSpec& job) {
  v1::Inspect inspect;
  inspect.set_run_id(id);
  *inspect.mutable_targets() = job.targets();
  *inspect.mutable_expendable() = job.expendable();
  const std::vector<TargetUse> use = UseOfTargets(job);
  for (uint32_t t = 0; t < use.size(); ++t) {
    if (use[t].written) inspect.add_written_targets(t);
    if (use[t].prepared) inspect.add_prepared_targets(t);
  }
  for (v1::EnvironmentUse& use : EnvironmentsOf(job)) {
    *inspect.add_environments() = std::move(use);
  }
  for (Observe& observe : ObservesOf(job)) {
    *inspect.add_observes() = std::move(observe.request);
  }
  *inspect.mutable_labels() = job.labels();
  return inspect;
}

}  // namespace

void Inspections::Send(const v1::Inspect& request, uint32_t worker_index,
                       const std::string& worker_id) {
  v1::ControllerMessage message;
  *message.mutable_inspect() = request;
  message.mutable_inspect()->set_worker_index(worker_index);
  // A worker without a connection gets the request when it attaches again, and if it does not,
  // OnLost() ends the inspection.
  fleet_->Send(worker_id, std::move(message));
}

void Inspections::Inspect(const std::string& id, const v1::JobSpec& job,
                          std::vector<PlanWorker> workers, Done done) {
  Pending& pending = pending_[id];
  pending.request = RequestAbout(id, job);
  pending.missing = workers.size();
  pending.workers = std::move(workers);
  pending.done = std::move(done);
  // A run that waits is inspected again under the same id. The timer of the earlier inspection must
  // not end this one.
  pending.serial = ++made_;
  for (uint32_t i = 0; i < pending.workers.size(); ++i) {
    Send(pending.request, i, pending.workers[i].hello.worker_id());
  }
  loop_->After(absl::Nanoseconds(timing::kInspectAnswerNs), [this, id, serial = pending.serial] {
    const auto found = pending_.find(id);
    if (found == pending_.end() || found->second.serial != serial) return;
    std::vector<std::string> silent;
    for (const PlanWorker& worker : found->second.workers) {
      if (IsMissing(worker)) silent.push_back(worker.hello.host().name());
    }
    Finish(found, absl::StrCat("no answer about the targets within 30 s from ",
                               absl::StrJoin(silent, ", ")));
  });
}

void Inspections::Finish(PendingMap::iterator found, const std::string& missing) {
  // The entry is erased before the callback, which may begin another inspection under the same id.
  Pending ended = std::move(found->second);
  pending_.erase(found);
  ended.done(std::move(ended.workers), missing);
}

void Inspections::OnAttached(const std::string& worker_id) {
  for (const auto& [id, pending] : pending_) {
    for (uint32_t i = 0; i < pending.workers.size(); ++i) {
      // The worker may have received the request twice. OnAnswer() counts its first answer only.
      if (pending.workers[i].hello.worker_id() == worker_id && IsMissing(pending.workers[i])) {
        Send(pending.request, i, worker_id);
      }
    }
  }
}

void Inspections::OnAnswer(const std::string& worker_id, const v1::Inspection& inspection) {
  const auto found = pending_.find(inspection.run_id());
  if (found == pending_.end()) return;
  Pending& pending = found->second;
  const auto worker = std::find_if(
      pending.workers.begin(), pending.workers.end(),
      [&](const PlanWorker& w) { return w.hello.worker_id() == worker_id && IsMissing(w); });
  if (worker == pending.workers.end()) return;
  // The planner uses these numbers as indices into the job's targets.
  const auto targets = static_cast<uint32_t>(pending.request.targets_size());
  // The layers underneath each are walked.
  if (static_cast<uint32_t>(inspection.targets_size()) > targets) {
    return Finish(
        found, absl::StrCat("the worker on ", worker->hello.host().name(), " named ",
                            inspection.targets_size(), " targets, but the job has only ", targets));
  }
  for (const v1::TargetInspection& target : inspection.targets()) {
    if (target.target() < targets) continue;
    return Finish(found, absl::StrCat("the worker on ", worker->hello.host().name(),
                                      " answered about target ", target.target(),
                                      ", but the job has only ", targets, " targets"));
  }
  worker->inspection = inspection;
  // They are kept with the run. Without the rest a target has its topmost device alone.
  if (inspection.layers_size() > limits::kStorageLayers) worker->inspection.clear_layers();
  (*worker->inspection.mutable_facts())["wall_clock.difference_ms"] =
      absl::StrCat(fleet_->WallDifferenceNs(worker_id) / timing::kMs);
  if (--pending.missing == 0) Finish(found, "");
}

void Inspections::Drop() {
  while (!pending_.empty()) Finish(pending_.begin(), "the controller is shutting down");
}

void Inspections::OnLost(const std::string& worker_id, const std::string& reason) {
  std::map<std::string, std::string> broken;  // id → host: answering may begin other inspections
  for (const auto& [id, pending] : pending_) {
    for (const PlanWorker& worker : pending.workers) {
      if (worker.hello.worker_id() == worker_id) broken[id] = worker.hello.host().name();
    }
  }
  for (const auto& [id, host] : broken) {
    const auto found = pending_.find(id);
    if (found != pending_.end()) {
      Finish(found, absl::StrCat("the worker on ", host, " was lost: ", reason));
    }
  }
}

}  // namespace lockstep::controller
