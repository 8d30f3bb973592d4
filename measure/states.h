#pragma once

#include "measure/enum_texts.h"

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

// In the order of the enumerators. The store holds these words, and its schema checks those of runs
// and events: a new or changed one there needs a migration. The fields are those of RunSummary,
// RunFigures' run, PhaseReport, PhaseChange and EventReport.
template <>
inline constexpr auto kTexts<RunState> = EnumTexts(kStateField, "queued", "running", "done",
                                                   "failed", "aborted", "cancelled");
template <>
inline constexpr auto kTexts<PhaseState> = EnumTexts(kStateField, "", "arming", "running",
                                                     "draining", "done", "failed", "aborted",
                                                     "cancelled", "void");
template <>
inline constexpr auto kTexts<PhaseKind> = EnumTexts(kKindField, "prepare", "precondition", "run",
                                                    "verify", "cleanup", "observe");
template <>
inline constexpr auto kTexts<Severity> = EnumTexts(kSeverityField, "info", "warning", "error");

// It has ended, one way or another.
inline bool IsOver(RunState state) {
  return state != RunState::kQueued && state != RunState::kRunning;
}
inline bool IsOver(PhaseState state) {
  return state != PhaseState::kArming && state != PhaseState::kRunning &&
         state != PhaseState::kDraining && state != PhaseState::kNone;
}
template <typename Summary>
bool IsInProgress(const Summary& run) {
  return Is(run, RunState::kQueued) || Is(run, RunState::kRunning);
}

// The state of a phase that the end of its run has ended.
PhaseState EndedBy(RunState end);

}  // namespace lockstep::measure
