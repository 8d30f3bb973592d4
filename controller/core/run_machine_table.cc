// The table of transitions: which event may come in which stage, and who takes it.

#include <array>
#include <initializer_list>
#include <tuple>

#include "common/check.h"
#include "controller/core/run_machine.h"

namespace lockstep::controller {

struct RunMachine::Transitions {
  static constexpr size_t kStages = static_cast<size_t>(Stage::kOver) + 1;

  // The row of an event or a decision. Each stage is named once, or falls under the last words of
  // the row (IgnoredElsewhere, ImpossibleElsewhere). Table() does not compile otherwise.
  template <typename E>
  class Row {
   public:
    using Handler = void (RunMachine::*)(const E&);

    constexpr Row In(std::initializer_list<Stage> stages, Handler handler) const {
      return With(stages, {Kind::kHandled, handler});
    }
    constexpr Row Ignored(std::initializer_list<Stage> stages) const {
      return With(stages, {Kind::kIgnored});
    }
    constexpr Row IgnoredElsewhere() const { return Elsewhere({Kind::kIgnored}); }
    // `bug`: what it means when the event comes in another stage.
    constexpr Row ImpossibleElsewhere(const char* bug) const {
      Row row = Elsewhere({Kind::kImpossible});
      row.bug_ = bug;
      return row;
    }
    constexpr Row HandledElsewhere(Handler handler) const {
      return Elsewhere({Kind::kHandled, handler});
    }
    constexpr bool IsWhole() const {
      for (const Entry& entry : entries_) {
        if (entry.kind == Kind::kUnset) return false;
      }
      return !named_twice_;
    }

    void Apply(RunMachine* machine, const E& e) const {
      const Entry& entry = entries_[static_cast<size_t>(machine->stage_)];
      if (entry.kind == Kind::kImpossible) {
        common::CheckFailed(__FILE__, __LINE__, machine->stage(), bug_);
      }
      if (entry.kind == Kind::kHandled) (machine->*entry.handler)(e);
    }

   private:
    enum class Kind { kUnset, kHandled, kIgnored, kImpossible };
    struct Entry {
      Kind kind = Kind::kUnset;
      Handler handler = nullptr;
    };
    constexpr Row With(std::initializer_list<Stage> stages, Entry entry) const {
      Row row = *this;
      for (const Stage stage : stages) {
        Entry& at = row.entries_[static_cast<size_t>(stage)];
        row.named_twice_ = row.named_twice_ || at.kind != Kind::kUnset;
        at = entry;
      }
      return row;
    }
    constexpr Row Elsewhere(Entry entry) const {
      Row row = *this;
      for (Entry& at : row.entries_) {
        if (at.kind == Kind::kUnset) at = entry;
      }
      return row;
    }

    std::array<Entry, kStages> entries_{};
    const char* bug_ = "";
    bool named_twice_ = false;
  };

  using M = RunMachine;
  static constexpr auto kIdle = Stage::kIdle, kPlanning = Stage::kPlanning,
                        kRecording = Stage::kRecording, kArming = Stage::kArming,
                        kCommitting = Stage::kCommitting, kRunning = Stage::kRunning,
                        kStopping = Stage::kStopping, kClosing = Stage::kClosing,
                        kRejoining = Stage::kRejoining, kOver = Stage::kOver;

  // The machine's own actions are answered once, in the stage that waits for it. GoCommitted and
  // EndOfLoadCommitted may also find that a stop came while T or the interval was being committed.
  static constexpr auto Answers() {
    return std::make_tuple(
        Row<event::Begin>().In({kIdle}, &M::Begin).ImpossibleElsewhere("a run begins twice"),
        Row<event::Planned>()
            .In({kPlanning}, &M::Planned)
            .ImpossibleElsewhere("a plan came that nobody had asked for"),
        Row<event::PhaseRecorded>()
            .In({kRecording}, &M::PhaseRecorded)
            .ImpossibleElsewhere("another phase was recorded than was to be"),
        Row<event::GoCommitted>()
            .In({kCommitting}, &M::GoCommitted)
            .Ignored({kStopping, kClosing})
            .ImpossibleElsewhere("a go was committed of a phase that was not to begin"),
        Row<event::EndOfLoadCommitted>()
            .In({kRunning}, &M::EndOfLoadCommitted)
            .Ignored({kStopping, kClosing})
            .ImpossibleElsewhere("the end of a load was committed that does not run"),
        Row<event::PhaseClosed>()
            .In({kClosing}, &M::PhaseClosed)
            .ImpossibleElsewhere("a phase was closed that is in progress"));
  }

  // Messages of workers, people and timers cross the run's own decisions, and may still arrive
  // after its end: none of them is impossible. If nobody is outstanding, an answer is a repeated
  // one.
  static constexpr auto Messages() {
    return std::make_tuple(
        Row<event::Armed>().In({kArming}, &M::Armed).IgnoredElsewhere(),
        Row<event::Failed>()
            .In({kRecording, kArming, kCommitting, kRunning, kStopping}, &M::Failed)
            .IgnoredElsewhere(),
        Row<event::NotStarted>()
            .In({kRecording, kArming, kCommitting, kRunning, kStopping}, &M::NotStarted)
            .IgnoredElsewhere(),
        Row<event::ResultStored>()
            .In({kRecording, kArming, kCommitting, kRunning, kStopping}, &M::ResultStored)
            .IgnoredElsewhere(),
        Row<event::Lost>().Ignored({kOver}).HandledElsewhere(&M::Lost),
        Row<event::Rejoined>()
            .In({kRejoining}, &M::RejoinedInTime)
            .Ignored({kOver})
            .HandledElsewhere(&M::RejoinedForLater),
        Row<event::Attached>()
            .In({kIdle}, &M::AttachedBeforeBegin)
            .Ignored({kOver})
            .HandledElsewhere(&M::Attached),
        Row<event::Idle>()
            .In({kArming}, &M::IdleWhileArming)
            .In({kStopping}, &M::IdleWhileStopping)
            .Ignored({kOver})
            .HandledElsewhere(&M::IdleElsewhere),
        Row<event::Doing>().Ignored({kOver}).HandledElsewhere(&M::Doing),
        Row<event::Stop>().Ignored({kOver}).HandledElsewhere(&M::Stop),
        Row<event::EndLoad>().In({kRunning}, &M::EndLoad).IgnoredElsewhere(),
        Row<event::Deadline>()
            .In({kRecording, kCommitting}, &M::DeadlineWhileStoring)
            .In({kArming}, &M::NotArmedInTime)
            .In({kRunning}, &M::NoResultInTime)
            .In({kStopping}, &M::NotStoppedInTime)
            .In({kRejoining}, &M::NotRejoinedInTime)
            .IgnoredElsewhere());
  }

  static constexpr auto Decisions() {
    return std::make_tuple(
        // Elsewhere the workers, the store or the planner owe an answer. The run ends with it.
        Row<EndEarly>()
            .In({kIdle}, &M::EndAtOnce)
            .In({kRejoining}, &M::EndInsteadOfRejoining)
            .In({kArming, kCommitting, kRunning}, &M::EndByStopping)
            .Ignored({kPlanning, kRecording, kStopping, kClosing})
            .ImpossibleElsewhere("a run ends twice"),
        Row<Repeat>().In({kArming, kCommitting, kRunning}, &M::RepeatAttempt).IgnoredElsewhere(),
        Row<PartFailed>()
            .In({kRunning}, &M::PartFailedWhileRunning)
            .In({kRecording, kArming, kCommitting, kStopping, kClosing}, &M::PartFailedElsewhere)
            .ImpossibleElsewhere("a worker's part failed of a phase that is not in progress"),
        Row<LossCounts>()
            .In({kArming, kCommitting}, &M::LossBeforeStart)
            .In({kRunning}, &M::LossWhileRunning)
            .In({kClosing}, &M::LossWhileClosing)
            .In({kIdle, kPlanning, kRecording, kStopping, kRejoining}, &M::LossElsewhere)
            .ImpossibleElsewhere("a run that is over loses a worker"),
        Row<BusyElsewhere>()
            .In({kArming}, &M::StopBeforeAssigning)
            .HandledElsewhere(&M::StopElsewhere),
        Row<Reattached>()
            .In({kArming, kCommitting}, &M::ReattachedBeforeStart)
            .In({kRunning}, &M::ReattachedWhileRunning)
            .In({kStopping}, &M::ReattachedWhileStopping)
            .IgnoredElsewhere(),
        Row<Resumed>()
            .In({kRunning}, &M::ResumeRunning)
            .Ignored({kStopping, kClosing})
            .ImpossibleElsewhere("a phase goes on that had not begun"),
        Row<ArmedChanged>().In({kArming}, &M::CommitOnceArmed).IgnoredElsewhere(),
        Row<AnswersChanged>()
            .In({kArming, kCommitting}, &M::CloseOnceAnswered)
            .In({kRunning}, &M::CloseOnceResultsAreStored)
            .In({kStopping}, &M::CloseOnceStopped)
            .IgnoredElsewhere());
  }

  static constexpr auto Table() {
    constexpr auto kTable = std::tuple_cat(Answers(), Messages(), Decisions());
    static_assert(std::apply([](const auto&... rows) { return (rows.IsWhole() && ...); }, kTable),
                  "a row leaves a stage out, or names one twice");
    return kTable;
  }
};

void RunMachine::Take(const Event& event) {
  static constexpr auto kTable = Transitions::Table();
  std::visit(
      [this]<typename E>(const E& e) {
        if constexpr (requires { e.worker; }) {
          // The actor takes the number from its own map of workers. No message can bring another
          // one.
          LOCKSTEP_CHECK(e.worker < plan_.hosts.size(), "an event is of a worker of another run");
        }
        std::get<Transitions::Row<E>>(kTable).Apply(this, e);
      },
      event);
}

void RunMachine::Decide(const Decision& decision) {
  static constexpr auto kTable = Transitions::Table();
  std::visit(
      [this]<typename E>(const E& d) { std::get<Transitions::Row<E>>(kTable).Apply(this, d); },
      decision);
}

}  // namespace lockstep::controller
