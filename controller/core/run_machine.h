#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <variant>
#include <vector>

namespace lockstep::controller {

// One run as a pure state machine: events in, actions out. It has no thread, socket, clock or database; whoever owns it
// carries the actions out, in order, and reports what became of them as events.
//
// A phase goes: record → assign → armed by all → commit go → send go → results stored from all → close. Anything
// that fails leads to a stop of all workers, whose answers are waited for before the phase is closed.

enum class LossPolicy { kAbort, kContinue };
enum class PhaseKind { kPrepare, kRun, kCleanup };

struct PhasePlan {
  std::string name;
  PhaseKind kind = PhaseKind::kRun;
  // From go to the last result, nanoseconds.
  int64_t run_deadline_ns = 0;
};

struct RunPlan {
  std::vector<PhasePlan> phases;
  std::vector<std::string> hosts;  // names of the workers' hosts, by worker index
  LossPolicy on_worker_loss = LossPolicy::kAbort;
  uint32_t min_hosts = 1;
  int64_t arm_deadline_ns = 0;
  int64_t stop_deadline_ns = 0;
};

namespace event {
struct Begin {};
struct PhaseRecorded {};
struct Armed { uint32_t worker; };
struct GoCommitted {};
// The worker could not do its part; nothing more comes from it in this phase.
struct Failed { uint32_t worker; std::string reason; };
// The worker's result is committed in the store. `error` is empty when it did all it was asked.
struct ResultStored { uint32_t worker; std::string error; };
struct Lost { uint32_t worker; std::string reason; };
// A person or a brake ends the run. `state` is what the run becomes: cancelled or aborted. With `now`, phases that
// clean up are not run either.
struct Stop { std::string state; std::string reason; bool now; };
struct Deadline { uint64_t token; };
struct PhaseClosed {};
}  // namespace event
using Event = std::variant<event::Begin, event::PhaseRecorded, event::Armed, event::GoCommitted, event::Failed, event::ResultStored,
                           event::Lost, event::Stop, event::Deadline, event::PhaseClosed>;

namespace action {
struct RecordPhase { uint32_t phase; uint32_t attempt; std::vector<uint32_t> workers; };
struct Assign { uint32_t phase; uint32_t attempt; std::vector<uint32_t> workers; };
// Choose T, commit it to the store, then report GoCommitted.
struct CommitGo { uint32_t phase; uint32_t attempt; std::vector<uint32_t> workers; };
struct SendGo { std::vector<uint32_t> workers; };
struct StopNow { std::vector<uint32_t> workers; std::string reason; };
// Report Deadline{token} after so long. Earlier deadlines need not be cancelled: old tokens are ignored.
struct SetDeadline { uint64_t token; int64_t after_ns; };
struct ClosePhase { uint32_t phase; uint32_t attempt; std::string state; std::string reason; };
struct Note { std::string severity; std::string host; std::string message; };
struct EndRun { std::string state; std::string outcome; bool degraded; };
}  // namespace action
using Action = std::variant<action::RecordPhase, action::Assign, action::CommitGo, action::SendGo, action::StopNow, action::SetDeadline,
                            action::ClosePhase, action::Note, action::EndRun>;

class RunMachine {
 public:
  explicit RunMachine(RunPlan plan);

  std::vector<Action> Handle(const Event& event);

  bool over() const { return stage_ == Stage::kOver; }
  uint32_t phase() const { return phase_; }
  uint32_t attempt() const { return attempt_; }
  // Workers that still take part.
  const std::set<uint32_t>& members() const { return members_; }
  // idle, recording, arming, committing, running, stopping, closing, over: for people.
  const char* stage() const;

 private:
  enum class Stage { kIdle, kRecording, kArming, kCommitting, kRunning, kStopping, kClosing, kOver };

  void On(const event::Begin&);
  void On(const event::PhaseRecorded&);
  void On(const event::Armed& e);
  void On(const event::GoCommitted&);
  void On(const event::Failed& e);
  void On(const event::ResultStored& e);
  void On(const event::Lost& e);
  void On(const event::Stop& e);
  void On(const event::Deadline& e);
  void On(const event::PhaseClosed&);

  void StartPhase(uint32_t phase);
  void CheckArmed();
  void CheckComplete();
  // In a cleanup phase that runs, one worker's failure does not keep the others from cleaning up.
  bool CleansAlone() const;
  // How the run will end; the first reason stays.
  void Remember(const std::string& state, const std::string& reason);
  // The run ends as `state`: remembers it and stops what runs.
  void EndAs(const std::string& state, const std::string& reason);
  void Close();
  void SetDeadline(int64_t after_ns);
  std::string NamesOf(const std::set<uint32_t>& workers) const;
  std::vector<uint32_t> Members() const { return {members_.begin(), members_.end()}; }
  template <typename A>
  void Do(A action) { actions_.push_back(std::move(action)); }

  const RunPlan plan_;
  Stage stage_ = Stage::kIdle;
  uint32_t phase_ = 0;
  uint32_t attempt_ = 1;
  std::set<uint32_t> members_;
  std::set<uint32_t> armed_;
  std::set<uint32_t> outstanding_;  // members whose result or failure in this phase is to come
  uint64_t token_ = 0;
  bool degraded_ = false;
  bool skip_cleanup_ = false;
  std::string end_state_;   // empty while all is well
  std::string end_reason_;
  std::vector<Action> actions_;
};

}  // namespace lockstep::controller
