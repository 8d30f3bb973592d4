#include "controller/runs/admission.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/ids.h"
#include "common/log.h"
#include "controller/plan/fleet_uses.h"
#include "controller/plan/next_phase.h"
#include "controller/plan/observes.h"
#include "controller/plan/plan_token.h"

namespace lockstep::controller {
namespace {

std::vector<measure::RunWorker> MembersOf(const std::vector<PlanWorker>& workers) {
  std::vector<measure::RunWorker> members;
  for (uint32_t i = 0; i < workers.size(); ++i) {
    const v1::Hello& hello = workers[i].hello;
    members.push_back({i, hello.worker_id(), hello.host().host_id(), hello.host().name(),
                       hello.host().boot_id(), workers[i].inspection, hello});
  }
  return members;
}

// Foreign content is overwritten only with the token of exactly this plan. A token of an earlier
// plan confirms what was on the targets then.
void CheckConfirmed(const PlanTokens& tokens, const measure::RunRecord& run,
                    const std::vector<PlanWorker>& workers, FleetCheck* check) {
  // A refusal already says why the run cannot start. To ask for a token would send the user to a
  // plan that is refused as well, and a refused plan has no token.
  if (!check->refusals.empty()) return;
  const std::vector<std::string> overwrites = OverwritesOf(run.job, workers);
  if (overwrites.empty() || tokens.IsOf(run.confirm, run.job, workers)) return;
  check->refusals.push_back(absl::StrCat(
      run.confirm.empty() ? "nobody has confirmed what would be overwritten: "
                          : "the confirmed plan is out of date: the job, its hosts or the "
                            "contents of their targets have changed since then: ",
      overwrites[0],
      overwrites.size() > 1 ? absl::StrCat(" (and ", overwrites.size() - 1, " more)") : "",
      "; look at `lockstep plan`, and give its token: --confirm"));
}

// Adds the devices that the worker sees in the job's observe phases.
void AddObserves(const v1::JobSpec& job, const v1::Inspection& inspection,
                 v1::PlannedWorker* worker) {
  const std::vector<Observe> observes = ObservesOf(job);
  for (int i = 0; i < inspection.observed_size() && i < static_cast<int>(observes.size()); ++i) {
    v1::PlannedObserve* planned = worker->add_observes();
    planned->set_phase(observes[static_cast<size_t>(i)].phase);
    *planned->mutable_observed() = inspection.observed(i);
  }
}

// Whether the inspection says what is on a target that would be overwritten.
bool HasContent(const std::vector<PlanWorker>& workers) {
  return std::any_of(workers.begin(), workers.end(), [](const PlanWorker& worker) {
    const auto& targets = worker.inspection.targets();
    return std::any_of(targets.begin(), targets.end(), [](const v1::TargetInspection& found) {
      return !found.content_fingerprint().empty() || !found.foreign_files().empty();
    });
  });
}

}  // namespace

Admission::Admission(Options options, Callbacks callbacks, TargetLocks* locks,
                     Inspections* inspections, DeviceQueries* kernels)
    : options_(std::move(options)),
      callbacks_(std::move(callbacks)),
      locks_(locks),
      inspections_(inspections),
      kernels_(kernels) {}

void Admission::Inspect(const std::string& id, const std::shared_ptr<const v1::JobSpec>& job,
                        std::vector<PlanWorker> workers, std::function<void(Found)> done) {
  inspections_->Inspect(id, *job, std::move(workers),
                        [this, job, done = std::move(done)](std::vector<PlanWorker> inspected,
                                                            const std::string& missing) {
                          Found found{std::move(inspected), missing, {}};
                          for (PlanWorker& worker : found.workers)
                            options_.stamps->Judge(&worker.inspection);
                          // A host that takes no part in the run may have a shared device mounted.
                          // Only the kernel of that host knows, so every attached worker is
                          // queried.
                          if (!missing.empty() || !WritesDevices(*job))
                            return done(std::move(found));
                          const bool asked = kernels_->Query(
                              [job, found, done](const v1::DevicesReply& kernels) mutable {
                                found.uses = UsesInFleet(*job, found.workers, kernels);
                                done(std::move(found));
                              });
                          if (asked) return;
                          found.missing = "too many queries of the fleet's kernels wait; try again";
                          done(std::move(found));
                        });
}

void Admission::Begin(measure::RunRecord run, std::vector<PlanWorker> workers) {
  Starting& starting = starting_[run.run_id];
  for (const PlanWorker& worker : workers) starting.worker_ids.push_back(worker.hello.worker_id());
  // Both counters are read before the workers are asked. Decide() compares them: whatever ended
  // since then may have changed what the workers saw.
  starting.grants_ended = locks_->grants_ended();
  starting.writers_ended = locks_->writers_ended();
  const std::string id = run.run_id;
  const auto job = std::make_shared<const v1::JobSpec>(run.job);
  Inspect(id, job, std::move(workers),
          [this, run = std::move(run)](Found found) { Decide(run, std::move(found)); });
}

void Admission::Decide(measure::RunRecord run, Found found) {
  std::vector<PlanWorker>& workers = found.workers;
  const std::string& missing = found.missing;
  const std::shared_ptr<void> working = options_.working(run.run_id);
  const Starting& starting = starting_[run.run_id];
  // Cancel() only marks the run, because its workers still have the inspection to answer. The
  // cancelled run ends here.
  if (starting.cancelled)
    return Refuse(run, workers, RunState::kCancelled, starting.cancel_reason, {});
  if (!missing.empty()) return Refuse(run, workers, RunState::kFailed, missing, {missing});
  // While another run writes to the targets, their inspection means nothing yet: it shows that
  // run's exclusive claims and half-written files.
  if (const auto taken = locks_->FindWritten(run.run_id, run.job, workers)) {
    return Wait(std::move(run), *taken);
  }
  FleetCheck check = CheckFleet(run.job, workers, options_.store_location);
  check.refusals.insert(check.refusals.end(), found.uses.begin(), found.uses.end());
  CheckConfirmed(*options_.tokens, run, workers, &check);
  // A run that has ended since the workers were asked may have held what they could not open, or
  // written to what they read.
  const bool depends_on_content = !check.refusals.empty() || HasContent(workers);
  if (depends_on_content && starting.writers_ended != locks_->writers_ended()) {
    starting_.erase(run.run_id);
    return callbacks_.waits(std::move(run));
  }
  if (!check.refusals.empty()) {
    const std::string more = check.refusals.size() > 1
                                 ? absl::StrCat(" (and ", check.refusals.size() - 1, " more)")
                                 : "";
    return Refuse(run, workers, RunState::kFailed,
                  absl::StrCat("refused before anything was written: ", check.refusals[0], more),
                  check.refusals);
  }
  if (const auto filled = locks_->FindFilled(run.run_id, check)) {
    return Wait(std::move(run), *filled);
  }
  // A run that has laid out its files during that time may have used the space that the inspection
  // found free.
  if (!check.spaces.empty() && starting.grants_ended != locks_->grants_ended()) {
    starting_.erase(run.run_id);
    return callbacks_.waits(std::move(run));
  }
  // The targets are locked before the start is stored. The loop decides about other runs while the
  // store writes, and these must find the targets taken.
  locks_->Take(run.run_id, run.job, workers);
  locks_->TakeSpace(run.run_id, check);
  Start(run, std::move(workers), check.warnings);
}

void Admission::Wait(measure::RunRecord run, const TargetLocks::Conflict& conflict) {
  const std::string other = conflict.run_id.substr(0, 8);
  log::Info("run {} waits until {} {}", run.run_id, conflict.run_id, conflict.until);
  v1::WatchEvent waits;
  waits.mutable_event()->set_severity(Text(Severity::kWarning));
  waits.mutable_event()->set_message(
      absl::StrCat("waiting until run ", other, " ", conflict.until));
  options_.watchers->Publish(run.run_id, waits);
  // The run gives its workers back while it waits. A third run that needs other targets can use
  // them.
  starting_.erase(run.run_id);
  callbacks_.waits(std::move(run));
}

void Admission::Start(const measure::RunRecord& run, std::vector<PlanWorker> workers,
                      const std::vector<std::string>& warnings) {
  const std::string id = run.run_id;
  const std::vector<measure::RunWorker> members = MembersOf(workers);
  Admitted admitted{{run.run_id, run.job, run.seed, std::move(workers)}, warnings};
  options_.loop->Persist(
      [store = options_.store, id, members] { return store->StartRun(id, members); },
      [this, id, admitted = std::move(admitted)](const absl::Status& status) mutable {
        // A cancel or a loss that came while the store wrote is handed to the run's actor. Until
        // now there was no actor to receive it.
        const Starting current = starting_[id];
        starting_.erase(id);
        if (!status.ok()) {
          log::Error("run {} could not be started: {}", id, std::string(status.message()));
          measure::RunRecord refused;
          refused.run_id = id;
          return Refuse(refused, admitted.run.workers, RunState::kFailed,
                        absl::StrCat("the store: ", std::string(status.message())), {});
        }
        admitted.cancelled = current.cancelled;
        admitted.cancel_reason = current.cancel_reason;
        admitted.lost = current.lost;
        callbacks_.admitted(std::move(admitted));
      });
}

void Admission::Refuse(const measure::RunRecord& run, const std::vector<PlanWorker>& workers,
                       RunState state, const std::string& reason,
                       const std::vector<std::string>& notes) {
  const std::vector<measure::RunWorker> members = MembersOf(workers);
  options_.loop->Persist(
      [store = options_.store, id = run.run_id, members, notes, state, reason,
       at = options_.clock->WallNs()]() -> absl::Status {
        // The end is stored first: a controller that finds the run started must not resume it.
        if (absl::Status status = store->SetEnding(id, state, reason, measure::Cleanup::kSkip);
            !status.ok()) {
          return status;
        }
        // A refused run is started as well, so that the store keeps its workers and their
        // inspections. Only an unavailable store is tried again: the run can be ended without these
        // rows.
        if (absl::Status status = store->StartRun(id, members); absl::IsUnavailable(status)) {
          return status;
        }
        for (const std::string& note : notes)
          (void)store->AddEvent(id, Severity::kError, "", note, at);
        return absl::OkStatus();
      },
      [this, id = run.run_id, state, reason](const absl::Status&) {
        options_.ends->Record(id, {.state = state, .outcome = reason}, [this, id] {
          starting_.erase(id);
          callbacks_.refused(id);
        });
      });
}

bool Admission::Cancel(const std::string& run_id, const std::string& reason) {
  const auto starting = starting_.find(run_id);
  if (starting == starting_.end()) return false;
  starting->second.cancelled = true;
  starting->second.cancel_reason = reason;
  return true;
}

void Admission::OnLost(const std::string& worker_id, const std::string& reason) {
  for (auto& [id, starting] : starting_) {
    if (std::count(starting.worker_ids.begin(), starting.worker_ids.end(), worker_id) != 0) {
      starting.lost[worker_id] = reason;
    }
  }
}

bool Admission::Uses(const std::string& worker_id) const {
  return std::any_of(starting_.begin(), starting_.end(), [&](const auto& starting) {
    const std::vector<std::string>& ids = starting.second.worker_ids;
    return std::find(ids.begin(), ids.end(), worker_id) != ids.end();
  });
}

std::map<std::string, std::string> Admission::Leases() const {
  std::map<std::string, std::string> leases;
  for (const auto& [id, starting] : starting_) {
    for (const std::string& worker : starting.worker_ids) leases[worker] = id;
  }
  return leases;
}

void Admission::Plan(const std::shared_ptr<const v1::JobSpec>& shared,
                     std::vector<PlanWorker> workers, std::function<void(v1::PlanReply)> done) {
  // Inspections are kept by id. Two plans of one job may be under way at once, so each has an id of
  // its own.
  Inspect("plan-" + common::NewUuid(), shared, std::move(workers),
          [this, shared, done = std::move(done)](const Found& found) {
            const v1::JobSpec& job = *shared;
            const std::vector<PlanWorker>& inspected = found.workers;
            v1::PlanReply reply;
            const FleetCheck check = CheckFleet(job, inspected, options_.store_location);
            for (const std::string& refusal : check.refusals) {
              reply.add_problems()->set_message(refusal);
            }
            for (const std::string& use : found.uses) reply.add_problems()->set_message(use);
            if (!found.missing.empty()) reply.add_problems()->set_message(found.missing);
            if (reply.problems().empty()) {
              reply.set_token(options_.tokens->Make(job, inspected, options_.clock->WallNs()));
              for (const std::string& what : OverwritesOf(job, inspected))
                reply.add_overwrites(what);
              for (const std::string& what : ApprovedOverwritesOf(job, inspected)) {
                reply.add_approved_overwrites(what);
              }
            }
            for (const std::string& warning : check.warnings) reply.add_warnings(warning);
            reply.set_prepared_bytes(PreparedBytes(job, inspected.size()));
            for (const auto& [id, space] : check.spaces) {
              v1::PlannedSpace* planned = reply.add_spaces();
              planned->set_path(space.path);
              planned->set_needed_bytes(space.needed_bytes);
              planned->set_usable_bytes(space.usable_bytes);
            }
            // A plan is not a run: with an empty id, every run in progress counts as another one.
            auto conflict = locks_->FindWritten("", job, inspected);
            if (!conflict) conflict = locks_->FindFilled("", check);
            if (conflict) {
              reply.add_warnings(absl::StrCat("the job would wait now, until run ",
                                              conflict->run_id.substr(0, 8), " ", conflict->until));
            }
            for (uint32_t i = 0; i < inspected.size(); ++i) {
              v1::PlannedWorker* worker = reply.add_workers();
              worker->set_host(inspected[i].hello.host().name());
              worker->set_worker_index(i);
              *worker->mutable_targets() = inspected[i].inspection.targets();
              for (v1::TargetInspection& target : *worker->mutable_targets()) {
                // The byte ranges of a worker can take 8 MiB (limits::kInspectionBytes), and mean
                // nothing to a person.
                target.clear_file_ranges();
                target.clear_ranges();
                target.clear_settings_ranges();
                const auto refused = check.refused.find({i, target.target()});
                if (refused != check.refused.end()) target.set_refused(refused->second);
              }
              AddObserves(job, inspected[i].inspection, worker);
            }
            done(std::move(reply));
          });
}

}  // namespace lockstep::controller
