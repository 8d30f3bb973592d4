#include "measure/states.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>

namespace lockstep::measure {
namespace {

// In the order of the enumerators. The store holds these words, and its schema checks those of runs
// and events: a new or changed one there needs a migration.
constexpr std::array<std::string_view, 6> kRunStates = {"queued", "running", "done",
                                                        "failed", "aborted", "cancelled"};
constexpr std::array<std::string_view, 9> kPhaseStates = {
    "", "arming", "running", "draining", "done", "failed", "aborted", "cancelled", "void"};
constexpr std::array<std::string_view, 6> kPhaseKinds = {"prepare", "precondition", "run",
                                                         "verify",  "cleanup",      "observe"};
constexpr std::array<std::string_view, 3> kSeverities = {"info", "warning", "error"};

template <typename Enum, size_t count>
std::optional<Enum> Parse(const std::array<std::string_view, count>& names, std::string_view text) {
  const auto found = std::find(names.begin(), names.end(), text);
  if (found == names.end()) return std::nullopt;
  return static_cast<Enum>(found - names.begin());
}

}  // namespace

std::string Text(RunState state) { return std::string(kRunStates[static_cast<size_t>(state)]); }
std::string Text(PhaseState state) { return std::string(kPhaseStates[static_cast<size_t>(state)]); }
std::string Text(PhaseKind kind) { return std::string(kPhaseKinds[static_cast<size_t>(kind)]); }
std::string Text(Severity severity) {
  return std::string(kSeverities[static_cast<size_t>(severity)]);
}

std::optional<RunState> ParseRunState(std::string_view text) {
  return Parse<RunState>(kRunStates, text);
}
std::optional<PhaseState> ParsePhaseState(std::string_view text) {
  return Parse<PhaseState>(kPhaseStates, text);
}

PhaseState EndedBy(RunState end) {
  // There is no default, so that the compiler reports a state that is added and not handled here
  // (-Wswitch).
  switch (end) {
    case RunState::kFailed:
      return PhaseState::kFailed;
    case RunState::kAborted:
      return PhaseState::kAborted;
    case RunState::kCancelled:
      return PhaseState::kCancelled;
    case RunState::kQueued:
    case RunState::kRunning:
    case RunState::kDone:
      break;
  }
  return PhaseState::kDone;
}

}  // namespace lockstep::measure
