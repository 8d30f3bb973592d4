#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "common/safeguards.h"
#include "measure/states.h"

namespace lockstep::controller {

using measure::Cleanup;
using measure::PhaseState;
using measure::RunState;
using measure::Severity;

// One run as a pure state machine: events in, actions out. It has no thread, socket, clock or
// database: the run actor carries the actions out, in order, and reports their outcome as events.
//
// A phase goes: plan → record → assign → armed by all → commit go → send go → results stored from
// all → close. The next phase may depend on what was measured: the machine asks for it (PlanNext)
// each time, and a pure function plans it. After any failure all workers are stopped, and the phase
// is closed when all have answered. An attempt that failed through no fault of the job (its
// controller was replaced before the start, a go came too late, or a worker was lost under the
// policy `retry`) is stopped in the same way and repeated as another attempt.

enum class LossPolicy { kAbort, kContinue, kRetry };
enum class PhaseKind { kPrepare, kRun, kCleanup };

struct PhasePlan {
  std::string name;
  PhaseKind kind = PhaseKind::kRun;
  // From go to the last result, nanoseconds.
  int64_t run_deadline_ns = 0;
  // No phase follows it, whatever it measures.
  bool last = false;
};

struct RunPlan {
  std::vector<std::string> hosts;  // names of the workers' hosts, by worker index
  LossPolicy on_worker_loss = LossPolicy::kAbort;
  uint32_t min_hosts = 1;
  int64_t arm_deadline_ns = 0;
  int64_t stop_deadline_ns = 0;
  // With kRetry: how long lost workers are waited for before the phase goes on without them.
  int64_t rejoin_ns = 0;
};

// Attempts of one phase, the first included.
inline constexpr uint32_t kMaxAttempts = 4;

// Why a phase is ended early. Workers repeat it, so that the decision outlives a controller that
// could not store it.
struct StopOrder {
  enum class Kind { kRepeat, kEndRun };
  Kind kind = Kind::kRepeat;
  RunState state = RunState::kDone;  // kEndRun: what the run becomes
  std::string reason;
  bool skip_cleanup = false;
};

// How far a run had come when its controller was replaced, as the store has it.
struct ResumePoint {
  enum class Reached { kNothing, kRecorded, kStartCommitted, kClosed };
  Reached reached = Reached::kNothing;
  uint32_t phase = 0;
  uint32_t attempt = 1;
  PhasePlan plan;                 // of that phase
  bool must_be_repeated = false;  // kClosed: the attempt came to nothing
  // kStartCommitted: the interval at whose end the load ends on all hosts, if that was decided.
  std::optional<uint32_t> end_of_load;
  // kStartCommitted: workers whose result is stored, and its error
  std::map<uint32_t, std::string> stored;
  std::vector<StopOrder> orders;  // that came while these workers' parts ran
  std::set<uint32_t> members;     // kStartCommitted: who took part in the attempt
  std::set<uint32_t> lost;
  bool degraded = false;
  // The end that was already decided for the run, if one was.
  std::optional<RunState> end_state;
  std::string end_reason;
  bool skip_cleanup = false;
};

namespace event {
struct Begin {};
// Answers PlanNext: the next phase, or none when the job is at its end. An error fails the run.
struct Planned {
  std::optional<PhasePlan> next;
  std::string error;
};
struct PhaseRecorded {};
struct Armed {
  uint32_t worker;
};
struct GoCommitted {};
// The worker could not do its part; nothing more comes from it in this phase.
struct Failed {
  uint32_t worker;
  std::string reason;
};
// The go came too late: the worker did no I/O in this attempt and will not.
struct NotStarted {
  uint32_t worker;
  std::string reason;
};
// The worker's result is committed in the store. `error` is empty when the worker did all that it
// was asked to. The result counts once the worker has also said on Control that it is idle (Idle,
// or Attached with kIdle), or at the phase's deadline: it came over Deliver, and only Control has
// the worker's lease.
struct ResultStored {
  uint32_t worker;
  std::string error;
  std::optional<StopOrder> order = std::nullopt;  // that came while its part ran
};
struct Lost {
  uint32_t worker;
  std::string reason;
};
// A lost worker is back, and idle.
struct Rejoined {
  uint32_t worker;
};
// The worker has connected, for the first time or again, and says what it is doing. Commands that
// were lost with its old connection are sent again.
struct Attached {
  uint32_t worker;
  enum class State { kIdle, kArming, kArmed, kRunning } state;
  // of the current phase and attempt; with kIdle: it was the last one it was in
  bool this_phase = false;
  std::string failed = {};   // with kIdle and this_phase: why; empty when it has a result
  bool not_started = false;  // with failed: it did no I/O
  bool go_is_late = false;   // a go sent now would come after T
  // The last order that it obeyed in this run. One to repeat counts with `this_phase` alone.
  std::optional<StopOrder> last_order = std::nullopt;
};
// The worker says that it is idle. `stopped`: in answer to a stop of this phase and attempt.
struct Idle {
  uint32_t worker;
  bool this_phase = false;
  bool stopped = false;
};
// The activity of a worker, in words, for messages.
struct Doing {
  uint32_t worker;
  std::string what;
};
// A person or an abort condition ends the run. `state` is what the run becomes: cancelled or
// aborted. With `now`, phases that clean up are not run either.
struct Stop {
  RunState state;
  std::string reason;
  bool now = false;
};
// The running load must end early, at the end of the same interval on all hosts. Its measurements
// count, and the run goes on.
struct EndLoad {};
// The interval at whose end the load ends is in the store.
struct EndOfLoadCommitted {
  uint32_t interval;
};
struct Deadline {
  uint64_t token;
};
struct PhaseClosed {};
}  // namespace event
using Event = std::variant<event::Begin, event::Planned, event::PhaseRecorded, event::Armed,
                           event::GoCommitted, event::Failed, event::NotStarted,
                           event::ResultStored, event::Lost, event::Rejoined, event::Attached,
                           event::Idle, event::Doing, event::Stop, event::EndLoad,
                           event::EndOfLoadCommitted, event::Deadline, event::PhaseClosed>;

namespace action {
// Plan the next phase, then report Planned. With `cleanup_only` the run is ending: plan only what
// is left to clean up.
struct PlanNext {
  bool cleanup_only;
};
struct RecordPhase {
  uint32_t phase;
  uint32_t attempt;
  std::vector<uint32_t> workers;
};
struct Assign {
  uint32_t phase;
  uint32_t attempt;
  std::vector<uint32_t> workers;
};
// Choose T, commit it to the store, then report GoCommitted.
struct CommitGo {
  uint32_t phase;
  uint32_t attempt;
  std::vector<uint32_t> workers;
};
struct SendGo {
  std::vector<uint32_t> workers;
};
// Choose the interval at whose end the load ends on all hosts, commit it to the store, then report
// EndOfLoadCommitted.
struct CommitEndOfLoad {
  uint32_t phase;
  uint32_t attempt;
};
struct SendEndOfLoad {
  std::vector<uint32_t> workers;
  uint32_t interval;
};
struct StopNow {
  std::vector<uint32_t> workers;
  std::string reason;
  // Nothing where these workers leave a phase that goes on without them, or that is over.
  std::optional<StopOrder> order = std::nullopt;
};
// Report Deadline{token} after so long. Earlier deadlines need not be cancelled: old tokens are
// ignored.
struct SetDeadline {
  uint64_t token;
  int64_t after_ns;
};
// `state`: kDone, kVoid (another attempt follows), or that in which the run ends.
struct ClosePhase {
  uint32_t phase;
  uint32_t attempt;
  PhaseState state;
  std::string reason;
};
struct Note {
  Severity severity;
  std::string host;
  std::string message;
};
// Kept in the store, so that a controller that takes over knows.
struct RecordLost {
  uint32_t worker;
  std::string reason;
};
struct RecordBack {
  uint32_t worker;
};
struct RecordEnding {
  RunState state;
  std::string reason;
  bool skip_cleanup;
};
struct EndRun {
  RunState state;
  std::string outcome;
  bool degraded;
};
}  // namespace action
using Action =
    std::variant<action::PlanNext, action::RecordPhase, action::Assign, action::CommitGo,
                 action::SendGo, action::CommitEndOfLoad, action::SendEndOfLoad, action::StopNow,
                 action::SetDeadline, action::ClosePhase, action::Note, action::RecordLost,
                 action::RecordBack, action::RecordEnding, action::EndRun>;

// A table says which event may come in which stage, and which handler takes it (Transitions, in
// run_machine_table.cc). Answers to its own actions (Planned, PhaseRecorded, GoCommitted,
// EndOfLoadCommitted, PhaseClosed) that come in a stage in which they cannot are bugs, and end the
// program, as do a stage that cannot follow the one before and a worker that is both lost and
// waited for. Events of workers and people are taken or ignored in every stage, since their
// messages cross the run's own decisions on the way.
class RunMachine {
 public:
  explicit RunMachine(RunPlan plan, common::Safeguards safeguards = {});
  // Resumes, at Begin, a run that another controller began.
  RunMachine(RunPlan plan, ResumePoint from, common::Safeguards safeguards = {});

  std::vector<Action> Handle(const Event& event);

  bool over() const { return stage_ == Stage::kOver; }
  uint32_t phase() const { return phase_; }
  uint32_t attempt() const { return attempt_; }
  // Workers that still take part.
  const std::set<uint32_t>& members() const { return members_; }
  // Workers that may return.
  const std::set<uint32_t>& lost() const { return lost_; }
  // T is in the store, and may have been sent.
  bool start_committed() const { return start_committed_; }
  bool committing() const { return stage_ == Stage::kCommitting; }
  // T is in the store, and nobody was told to stop.
  bool running() const { return stage_ == Stage::kRunning; }
  // Whether the run is ending already, and with it, if so asked, its cleanup.
  bool ending(bool now) const { return end_state_.has_value() && (skip_cleanup_ || !now); }
  // The workers were told to stop.
  bool stopping() const { return stage_ == Stage::kStopping; }
  // The interval after which the load of the phase in progress ends, as the store has it.
  std::optional<uint32_t> end_of_load() const { return end_of_load_; }
  // Whether the current deadline is for results, or for answers to a stop.
  bool awaits_results() const { return stage_ == Stage::kRunning || stage_ == Stage::kStopping; }
  // The name of the stage, for people: idle, planning, recording, arming, committing, running,
  // stopping, closing, rejoining, over.
  const char* stage() const;

  // For whom the phase waits: to be armed, or to deliver what it has measured.
  std::set<uint32_t> Awaited() const;

 private:
  enum class Stage {
    kIdle,
    kPlanning,
    kRecording,
    kArming,
    kCommitting,
    kRunning,
    kStopping,
    kClosing,
    kRejoining,
    kOver
  };

  // Which stage may come after which: everything else is a bug of ours.
  static bool MayFollow(Stage from, Stage to);
  void Enter(Stage stage);
  void CheckSets() const;
  void CheckStage() const;

  // Decisions of handlers that each stage carries out in its own way: rows of the same table.
  struct EndEarly {
    std::string reason;
  };
  struct Repeat {  // this attempt
    std::string reason;
  };
  struct PartFailed {  // of a worker
    std::string reason;
  };
  // A worker was lost that the policy does not let the run go on without. `owed`: its result.
  struct LossCounts {
    std::string reason;
    bool owed;
  };
  struct BusyElsewhere {
    uint32_t worker;
  };
  struct Reattached {  // a member, and it knows no order that ends this attempt
    event::Attached attached;
  };
  struct Resumed {};         // a phase whose start was committed
  struct ArmedChanged {};    // or the members
  struct AnswersChanged {};  // somebody has answered, or need not any more
  using Decision = std::variant<EndEarly, Repeat, PartFailed, LossCounts, BusyElsewhere, Reattached,
                                Resumed, ArmedChanged, AnswersChanged>;

  struct Transitions;
  void Take(const Event& event);
  void Decide(const Decision& decision);

  // Handlers of events.
  void Begin(const event::Begin&);
  void Planned(const event::Planned& e);
  void PhaseRecorded(const event::PhaseRecorded&);
  void Armed(const event::Armed& e);
  void GoCommitted(const event::GoCommitted&);
  void Failed(const event::Failed& e);
  void NotStarted(const event::NotStarted& e);
  void ResultStored(const event::ResultStored& e);
  void Lost(const event::Lost& e);
  void RejoinedInTime(const event::Rejoined& e);
  void RejoinedForLater(const event::Rejoined& e);
  void AttachedBeforeBegin(const event::Attached& e);
  void Attached(const event::Attached& e);
  void IdleWhileArming(const event::Idle& e);
  void IdleWhileStopping(const event::Idle& e);
  void IdleElsewhere(const event::Idle& e);
  void Doing(const event::Doing& e) { doing_[e.worker] = e.what; }
  void Stop(const event::Stop& e);
  void EndLoad(const event::EndLoad&);
  void EndOfLoadCommitted(const event::EndOfLoadCommitted& e);
  void DeadlineWhileStoring(const event::Deadline& e);
  void NotArmedInTime(const event::Deadline& e);
  void NoResultInTime(const event::Deadline& e);
  void NotStoppedInTime(const event::Deadline& e);
  void NotRejoinedInTime(const event::Deadline& e);
  void PhaseClosed(const event::PhaseClosed&);

  // Handlers of decisions.
  void EndAtOnce(const EndEarly&);
  void EndInsteadOfRejoining(const EndEarly&);
  void EndByStopping(const EndEarly& d);
  void RepeatAttempt(const Repeat& d);
  void PartFailedWhileRunning(const PartFailed& d);
  void PartFailedElsewhere(const PartFailed& d);
  void LossBeforeStart(const LossCounts& d);
  void LossWhileRunning(const LossCounts& d);
  void LossWhileClosing(const LossCounts& d);
  void LossElsewhere(const LossCounts& d);
  void StopBeforeAssigning(const BusyElsewhere& d);
  void StopElsewhere(const BusyElsewhere& d);
  void ReattachedBeforeStart(const Reattached& d);
  void ReattachedWhileRunning(const Reattached& d);
  void ReattachedWhileStopping(const Reattached& d);
  void ResumeRunning(const Resumed&);
  void CommitOnceArmed(const ArmedChanged&);
  void CloseOnceAnswered(const AnswersChanged&);
  void CloseOnceResultsAreStored(const AnswersChanged&);
  void CloseOnceStopped(const AnswersChanged&);

  // Whether the deadline counts, and somebody has let it pass.
  bool HasPassed(const event::Deadline& e);
  bool SaysItFailed(const event::Attached& e);
  // The worker takes part no longer, after a deadline in vain.
  void GiveUp(uint32_t worker, const std::string& reason);
  bool MayReturn(uint32_t worker) const;

  void PlanNext();
  void StartPhase(uint32_t phase, uint32_t attempt);
  void StartOrRejoin(uint32_t phase, uint32_t attempt);
  void TakeBack(uint32_t worker);
  void Resume();
  void ResumeStarted();
  void CheckArmed() { Decide(ArmedChanged{}); }
  void CheckComplete() { Decide(AnswersChanged{}); }
  // A member has delivered its result, and not yet said that it does nothing.
  bool AwaitsIdle() const;
  bool Cleans() const { return current_.kind == PhaseKind::kCleanup; }
  void WorkerFailed(uint32_t worker, const std::string& how, const std::string& error);
  // Decides how the run will end, and why. Later calls change nothing.
  void Remember(RunState state, const std::string& reason);
  // Decides that the run ends as `state`, and stops what runs.
  void EndAs(RunState state, const std::string& reason);
  void StopAll(const std::string& reason);
  // Why the phase is being stopped.
  StopOrder Order() const;
  // Obeys an order that a controller before this one gave and could not store.
  void Adopt(const StopOrder& order);
  enum class Course { kWhole, kCutShort };
  void Close(Course course);
  void AfterPhase();
  void EndRun();
  void SetDeadline(int64_t after_ns);
  std::string NamesOf(const std::set<uint32_t>& workers) const;
  std::vector<uint32_t> Members() const { return {members_.begin(), members_.end()}; }
  template <typename A>
  void Do(A action) {
    actions_.push_back(std::move(action));
  }

  const RunPlan plan_;
  const common::Safeguards safeguards_;
  const ResumePoint from_;
  Stage stage_ = Stage::kIdle;
  uint32_t phase_ = 0;
  uint32_t attempt_ = 1;
  PhasePlan current_;        // of that phase
  uint32_t next_phase_ = 0;  // the number that the next planned phase gets
  bool start_committed_ = false;
  bool ends_load_ = false;               // EndLoad came in this attempt
  std::optional<uint32_t> end_of_load_;  // as the store has it
  std::set<uint32_t> members_;
  std::set<uint32_t> lost_;
  std::set<uint32_t> written_off_;  // lost workers that were waited for in vain
  std::set<uint32_t> returned_;     // lost workers that are back, before the phase is begun again
  bool lost_since_start_ = false;   // since the attempt was begun
  std::set<uint32_t> armed_;
  std::set<uint32_t> outstanding_;  // members whose result or failure in this phase is to come
  std::set<uint32_t> delivered_;    // of whom the result is stored
  std::set<uint32_t> said_idle_;    // who said that they are done with this phase
  // members that were busy with something else when the phase was assigned
  std::set<uint32_t> unassigned_;
  std::map<uint32_t, std::string> doing_;
  uint64_t token_ = 0;
  bool degraded_ = false;
  bool skip_cleanup_ = false;
  std::string repeat_reason_;          // empty unless this attempt is to be repeated
  std::optional<RunState> end_state_;  // nothing while all is well
  std::string end_reason_;
  std::vector<Action> actions_;
};

}  // namespace lockstep::controller
