#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "common/clock.h"
#include "controller/plan/plan_token.h"
#include "controller/runs/admission.h"
#include "controller/runs/device_queries.h"
#include "controller/runs/enrolments.h"
#include "controller/runs/inspections.h"
#include "controller/runs/loop.h"
#include "controller/runs/recovered_state.h"
#include "controller/runs/run_actor.h"
#include "controller/runs/run_queue.h"
#include "controller/runs/target_locks.h"

namespace lockstep::controller {

// Keeps the queue, gives workers and targets to runs, and owns the active ones, on the loop's
// deciding thread. Public methods may be called from any thread; they post to that thread.
class Coordinator {
 public:
  struct Options {
    storage::Store* store = nullptr;  // outlives this, as do the next four
    Watchers* watchers = nullptr;
    const common::Clock* clock = nullptr;
    Loop* loop = nullptr;
    common::Safeguards safeguards = {};
    StoreLocation store_location = {};  // of an embedded store
    // Marks a run as being worked on for as long as the returned object lives (crash_marks.h).
    std::function<std::shared_ptr<void>(const std::string& run_id)> working =
        [](const std::string&) { return nullptr; };
    std::string secret = {};  // the store's
  };

  explicit Coordinator(Options options);

  // Resumes what was inherited. Called once, before any other method and before the loop and the
  // fleet start.
  void Start(FleetLink* fleet, IngestPipeline* ingest, RecoveredState recovered);
  // Called after the loop has ended: answers every caller that still waits.
  void DropQueries();
  // Ends the active runs; `done` once their ends are stored.
  void Shutdown(std::function<void()> done);
  // From the pipeline: the store is unavailable, or back; or no more samples can be taken.
  void OnStoreState(const absl::Status& state);
  void OnSpoolFull(const std::string& reason);

  // --- From the fleet. ---
  void OnAttached(const v1::Hello& hello);
  void OnMessage(const std::string& worker_id, const v1::WorkerMessage& message);
  void OnDetached(const std::string& worker_id);
  void OnLost(const std::string& worker_id, const std::string& reason);
  // Somebody tried to attach as another worker, or a worker was disconnected: recorded as an event,
  // once for the same text.
  void OnIntruder(const std::string& text);
  // Handles an event of the fleet, which becomes one of each run in progress, or of none.
  void OnFleetEvent(const std::string& text);

  // --- From callers. Each answers through `done`, on the coordinator's thread. ---
  // A run that is in the store's queue already. Answers how many are before it.
  void Enqueue(measure::RunRecord run, std::function<void(uint32_t position)> done);
  // Ends a run whose caller was told that it could not be queued: the store may have it all the
  // same, or may get it yet. Keeps `until_ended` until the store has the run's end.
  void Abandon(const measure::RunRecord& run, std::shared_ptr<void> until_ended);
  // Stops the run at once, and answers when the store has the order, so that no controller that
  // takes over goes on with the run. After kStopAnswerTime it answers without: with a warning where
  // the workers have the order, which they repeat to a successor, else UNAVAILABLE. The answer has
  // state and warning.
  static constexpr absl::Duration kStopAnswerTime = absl::Seconds(3);
  using StopDone = std::function<void(const absl::StatusOr<v1::StopReply>&)>;
  void StopRun(const std::string& run_id, Cleanup cleanup, const std::string& reason,
               StopDone done);
  // Ends the load of the run's phase in progress, as RunActor::EndLoad().
  void EndLoad(const std::string& run_id, const std::string& reason,
               std::function<void(absl::Status)> done);
  // Inspects the targets on the workers that the job would take.
  void Plan(std::shared_ptr<const v1::JobSpec> job, std::function<void(v1::PlanReply)> done);
  void Watch(const std::string& run_id, const std::shared_ptr<WatchStream>& stream,
             const v1::RunSummary& summary);
  // The runs that wait or are in progress, without asking the store: id, job, owner, state, hosts.
  void Runs(std::function<void(std::vector<v1::RunSummary>)> done);
  // The block devices of all attached workers. Null when too many callers already wait for the
  // answer.
  void Devices(std::function<void(const v1::DevicesReply*)> done);
  // As Enrolments::Enroll().
  void Enroll(const v1::EnrollRequest& request, const std::string& by, Enrolments::Done done);
  // Worker id → run id.
  void Leases(std::function<void(std::map<std::string, std::string>)> done);
  // Checks a token that a job is submitted with, as PlanTokens::CheckAge() does.
  absl::Status CheckTokenAge(const std::string& token) const;
  // OK when enough workers are attached for the job, busy or not; else RESOURCE_EXHAUSTED with the
  // reason.
  absl::Status CanEverRun(const v1::JobSpec& job) const;

 private:
  void Post(std::function<void()> call) const { options_.loop->Post(std::move(call)); }
  void After(absl::Duration delay, std::function<void()> call) const {
    options_.loop->After(delay, std::move(call));
  }
  void Persist(std::function<absl::Status()> work,
               std::function<void(const absl::Status&)> then) const {
    options_.loop->Persist(std::move(work), std::move(then));
  }
  // Answers a stop of the run when all that was to be stored by now is. kYes: the run's workers
  // have the order.
  enum class WorkersStop { kNo, kYes };
  void AnswerStop(const std::string& run_id, v1::StopReply::Outcome outcome, WorkersStop workers,
                  StopDone done);
  void TakeOver(const storage::ActiveRun& active, std::shared_ptr<LivePhase> live);
  void StopStaleWorker(const std::string& worker_id, const std::string& run_id);
  void CheckDrained();
  // Keeps the run's summary, for questions that are answered without the store.
  void Remember(const measure::RunRecord& run);
  void LockOpened(const std::string& worker_id, const v1::Armed& armed);

  std::vector<PlanWorker> Attached() const;
  // Runs in progress, by the keys of the devices that they use.
  std::map<std::string, std::string> DevicesInUse() const;
  bool IsBusy(const std::string& worker_id) const;
  void Schedule();
  void Requeue(measure::RunRecord run);
  void Launch(Admission::Admitted admitted);
  void Finish(const std::string& run_id);
  void Confirm(const std::string& worker_id);
  void AddEvent(const std::string& run_id, Severity severity, const std::string& text);
  ActorServices Services(const std::string& run_id);

  const Options options_;
  const PlanTokens tokens_;
  RunEnds ends_;
  StampRegistry stamps_;
  FleetLink* fleet_ = nullptr;
  IngestPipeline* ingest_ = nullptr;

  // All below is used only on the deciding thread.
  // By run: callers whose stop is not stored yet.
  std::map<std::string, int> stop_callers_;
  std::map<std::string, v1::RunSummary> known_;  // of every run that waits or is in progress
  RunQueue queue_;
  std::map<std::string, std::shared_ptr<RunActor>> active_;
  bool store_is_slow_ = false;  // why it last counted as unavailable
  Inspections inspections_;
  DeviceQueries devices_;
  DeviceQueries kernels_;
  TargetLocks locks_;
  Admission admission_;
  Enrolments enrolments_;
  // Attached workers that are still busy with a phase that is over or was given to others.
  std::set<std::string> stale_workers_;
  std::set<std::string> intruders_;  // what was said of them, once each
  std::set<std::string> awaited_;    // members of inherited runs that have not come back yet
  // Workers of the previous controller have not yet had the time to come back.
  bool settling_ = false;
  int finishing_ = 0;  // runs that have ended, and whose summaries are being made
  bool shutting_down_ = false;
  std::function<void()> drained_;
};

}  // namespace lockstep::controller
