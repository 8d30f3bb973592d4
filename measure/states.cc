#include "measure/states.h"

namespace lockstep::measure {

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
