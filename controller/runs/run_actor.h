#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/clock.h"
#include "controller/core/run_machine.h"
#include "controller/fleet/fleet_link.h"
#include "controller/ingest/ingest_pipeline.h"
#include "controller/ingest/watchers.h"
#include "controller/plan/assign.h"
#include "controller/plan/block_claims.h"
#include "controller/plan/next_phase.h"
#include "controller/plan/written_contents.h"
#include "controller/runs/loop.h"
#include "controller/runs/run_ends.h"
#include "controller/runs/run_plan.h"
#include "storage/store.h"

namespace lockstep::controller {

// The services that an actor needs. All outlive it.
struct ActorServices {
  storage::RunStore* store;
  FleetLink* fleet;
  IngestPipeline* ingest;
  Watchers* watchers;
  const common::Clock* clock;
  Loop* loop;
  RunEnds* ends;
  common::Safeguards safeguards;
  // The worker was given up in this run, and may still be doing I/O for `quarantine_ns`.
  std::function<void(const std::string& worker_id, int64_t quarantine_ns)> lost;
  // The run has no further phase that lays out files.
  std::function<void()> laid_out;
  // Marks the run as being worked on for as long as the returned object lives (crash_marks.h).
  std::function<std::shared_ptr<void>()> working = [] { return nullptr; };
};

// The state of a run that another controller left.
struct TakenOver {
  ResumePoint point;
  PhaseStep step;                   // its last one
  std::vector<StepResult> results;  // of those that have ended
  WrittenContents written;
  int64_t go_ns = 0;                          // T by that controller's clock
  std::map<uint32_t, int64_t> clock_offsets;  // by worker: its clock minus that controller's
  IngestPipeline::Earlier earlier;            // of the last attempt
};

// One active run: carries out what its state machine decides. Every method is called on the
// coordinator's thread.
class RunActor : public std::enable_shared_from_this<RunActor> {
 public:
  static constexpr absl::Duration kEndLoadAnswerTime = absl::Seconds(8);

  // `ended` is called once, when the run's end is in the store.
  RunActor(SettledRun run, ActorServices services, std::function<void()> ended);
  // Resumes a run that another controller began, and accepts samples of its last attempt.
  static std::shared_ptr<RunActor> TakeOver(SettledRun run, TakenOver from, ActorServices services,
                                            std::function<void()> ended);

  void Begin();
  // A member has connected, for the first time or again.
  void OnAttached(const std::string& worker_id, const v1::WorkerStatus& status);
  void OnMessage(const std::string& worker_id, const v1::WorkerMessage& message);
  // A member's connection broke: said, and nothing else until it is back or lost.
  void OnDetached(const std::string& worker_id);
  void OnLost(const std::string& worker_id, const std::string& reason);
  // `state`: cancelled or aborted.
  void Stop(RunState state, const std::string& reason, Cleanup cleanup);
  // Ends the running load at the end of the same interval on all hosts; the run goes on with its
  // next phase. Answers once the interval is in the store, so that a controller that takes the run
  // over ends the load there, too. FAILED_PRECONDITION when no load runs, or it ends before all
  // could be told, UNAVAILABLE when it is not in the store after kEndLoadAnswerTime.
  // `severity` is of the event that says so.
  void EndLoad(Severity severity, const std::string& reason,
               std::function<void(const absl::Status&)> done);

  const SettledRun& run() const { return run_; }
  // Its end is being stored.
  bool over() const { return machine_.over(); }
  // The workers were told to stop.
  bool stopping() const { return machine_.stopping(); }
  // The last change, for those who begin to watch in the middle.
  const v1::WatchEvent& last_change() const { return last_change_; }
  // Whether the worker was given up in this run, and may return.
  bool IsLost(const std::string& worker_id) const {
    return Uses(worker_id) && machine_.lost().contains(index_.at(worker_id));
  }
  bool Uses(const std::string& worker_id) const { return index_.contains(worker_id); }
  // Whether this is the phase and attempt that it is in.
  bool IsAt(const v1::PhaseId& phase) const { return IsCurrent(phase); }

 private:
  RunActor(SettledRun run, const ResumePoint& point, ActorServices services,
           std::function<void()> ended);
  void Handle(const Event& event);
  void OpenFeeds(const std::vector<uint32_t>& workers, const IngestPipeline::Earlier& earlier);
  // Whether the machine still waits for this.
  bool IsCommitting(const action::CommitGo& a) const;
  void ChooseGo(const action::CommitGo& a);
  // T by this controller's clock; nothing while no clock of those who know T is known.
  std::optional<int64_t> Began() const;
  struct EndOfLoad {
    uint32_t interval;  // the last one of the load
    int64_t lead_ns;    // what the message needs to reach all
  };
  EndOfLoad ChooseEnd(int64_t began) const;
  // Whether the load is over by itself at the end of the interval.
  bool EndsByItself(uint32_t interval) const;
  absl::Status EndsItself() const;
  void CommitEnd(const action::CommitEndOfLoad& a, int tries);
  void FinishEndLoad(const action::CommitEndOfLoad& a, uint32_t interval);
  void AnswerEndLoad(const absl::Status& status);
  bool IsCurrent(const v1::PhaseId& id) const;
  int64_t QuarantineNs(uint32_t worker) const;
  // Lets the registrations of a lost worker be ended where its targets are reserved.
  void FenceOff(uint32_t worker);
  void Execute(const action::PlanNext& a);
  void Execute(const action::RecordPhase& a);
  void Execute(const action::Assign& a);
  void Execute(const action::CommitGo& a);
  void Execute(const action::SendGo& a);
  void Execute(const action::CommitEndOfLoad& a);
  void Execute(const action::SendEndOfLoad& a);
  void Execute(const action::StopNow& a);
  void Execute(const action::SetDeadline& a);
  // The store at the poll before.
  enum class StoreWas { kAvailable, kUnavailable };
  void OnDeadline(uint64_t token, StoreWas before);
  void Execute(const action::ClosePhase& a);
  void Execute(const action::Note& a);
  void Execute(const action::RecordLost& a);
  void Execute(const action::RecordBack& a);
  void Execute(const action::RecordEnding& a);
  void Execute(const action::EndRun& a);

  v1::PhaseId Phase() const;
  const v1::PhaseSpec& Spec() const { return step_.spec; }
  void Send(uint32_t worker, v1::ControllerMessage message);
  // The phase is in this state from now on.
  void PublishPhase(PhaseState state);
  void PublishPhase();
  void PublishHosts();
  void CheckProgress(uint64_t look);
  // A failed write ends the run, unless it is the write of its end.
  void Persist(std::function<absl::Status()> work, std::function<void()> then);

  const SettledRun run_;
  const ActorServices services_;
  const std::function<void()> ended_;
  const uint32_t phases_;  // how many the run has, as far as the job says
  RunMachine machine_;
  PhaseStep step_;                   // of the phase that it is in
  std::vector<StepResult> results_;  // of those that have ended
  // phase and attempt (from 1) that were assigned last, and to whom
  std::pair<uint32_t, uint32_t> attempt_{0, 0};
  std::vector<uint32_t> attempt_workers_;
  std::shared_ptr<BlockClaims> claims_;  // shared with the ingest pipeline
  std::set<uint32_t> reserving_;         // workers that have been told to reserve
  WrittenContents written_;
  std::map<std::string, uint32_t> index_;                   // worker id → worker index
  std::map<uint32_t, std::pair<double, double>> progress_;  // by worker: done, total bytes
  int64_t commit_ns_ = 0;              // how long the last T took to reach the disk
  std::map<uint32_t, int64_t> go_at_;  // by worker: T on its own clock
  int64_t go_ns_ = 0;                  // T on this controller's clock; 0 when another one chose it
  // T by the wall clock of the controller that chose it; 0 before one is chosen.
  int64_t go_wall_ns_ = 0;
  // The callers that asked for the load's end and wait for its answer. Each answers once.
  std::vector<std::shared_ptr<std::function<void(const absl::Status&)>>> end_load_callers_;
  Severity end_load_severity_ = Severity::kInfo;  // of the first of them, as the next
  std::string end_load_reason_;
  v1::WatchEvent last_change_;
  PhaseState state_ = PhaseState::kNone;  // of the phase, as it was told
  std::vector<std::string> waiting_for_;  // as it was told
  uint64_t look_ = 0;                     // the last that counts
  int64_t detached_notes_ = 0;            // connections that broke, in the run
  int64_t events_ = 0;                    // that workers reported in this phase
};

}  // namespace lockstep::controller
