#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace lockstep::measure {

// The state of a run. The last four are ends.
enum class RunState { kQueued, kRunning, kDone, kFailed, kAborted, kCancelled };
// The state of an attempt of a phase.
enum class PhaseState {
  kNone,  // no attempt was recorded
  kArming,
  kRunning,
  kDraining,  // its load has ended or was stopped, and results are to come; never stored
  kDone,
  kFailed,
  kAborted,
  kCancelled,
  kVoid,  // the attempt came to nothing through no fault of the job; another one follows
};
enum class PhaseKind { kPrepare, kPrecondition, kRun, kVerify, kCleanup, kObserve };
// The fate of the clean-up phases of a run that is stopped.
enum class Cleanup { kRun, kSkip };
// The severity of an event.
enum class Severity { kInfo, kWarning, kError };
// The severity of a person's note in reports. The store keeps notes apart: no event has it.
inline constexpr char kNoteSeverity[] = "note";

// As SQL, JSON and people have them: "queued", "arming", "warning"; "" for PhaseState::kNone.
std::string Text(RunState state);
std::string Text(PhaseState state);
std::string Text(PhaseKind kind);
std::string Text(Severity severity);
// Nothing where the text is none of these.
std::optional<RunState> ParseRunState(std::string_view text);
std::optional<PhaseState> ParsePhaseState(std::string_view text);

// It has ended, one way or another.
inline bool IsOver(RunState state) {
  return state != RunState::kQueued && state != RunState::kRunning;
}
inline bool IsOver(PhaseState state) {
  return state != PhaseState::kArming && state != PhaseState::kRunning &&
         state != PhaseState::kDraining && state != PhaseState::kNone;
}
// A message's state or severity, which is text where JSON has it: RunSummary, RunFigures' run,
// PhaseReport, PhaseChange, EventReport. A text that is none of ours, as of a newer controller, is
// no state.
template <typename Message>
bool Is(const Message& message, RunState state) {
  return message.state() == Text(state);
}
template <typename Message>
bool Is(const Message& message, PhaseState state) {
  return message.state() == Text(state);
}
template <typename Message>
bool Is(const Message& message, Severity severity) {
  return message.severity() == Text(severity);
}
// Likewise the kind of PhaseReport and PhaseChange.
template <typename Message>
bool Is(const Message& message, PhaseKind kind) {
  return message.kind() == Text(kind);
}
template <typename Summary>
bool IsInProgress(const Summary& run) {
  return Is(run, RunState::kQueued) || Is(run, RunState::kRunning);
}

// The state of a phase that the end of its run has ended.
PhaseState EndedBy(RunState end);

}  // namespace lockstep::measure
