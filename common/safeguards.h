#pragma once

namespace lockstep::common {

// The checks that keep a run sound, by name, so that the simulation can leave one out and show that
// it is needed (docs/design/protocol.md says what each protects). Programs use a complete set, and
// have no way to ask for another.
enum class Safeguard {
  kNone,
  // Controller, state machine.
  kAllArmed,         // go only when every member is armed
  kGoOnDisk,         // go is sent only when T is in the store
  kCurrentDeadline,  // only the newest deadline counts
  kAllAnswered,      // a phase closes only when all members have answered
  kOrdersRepeated,   // an order that the store could not record is taken from the workers
  // Controller, around it.
  kQuarantine,    // a lost worker's targets wait for its hard stop
  kInSequence,    // samples continue where the last ones ended
  kCheckCursor,   // after a commit of unknown outcome the cursor decides
  kCommittedAck,  // only what the store has is acknowledged as committed
  // Store.
  kEpochFence,  // a replaced controller writes nothing
  // Worker.
  kEpochRefused,     // commands of an older epoch are refused
  kGoInTime,         // a load whose T has passed is not begun
  kHardStop,         // I/O ends at the hard stop, controller or not
  kGoWithin,         // armed without a go for too long: given up
  kKeepUncommitted,  // samples are kept until they are committed
};

class Safeguards {
 public:
  // All of them.
  Safeguards() = default;
  // For simulations.
  static Safeguards Without(Safeguard safeguard) {
    Safeguards safeguards;
    safeguards.removed_ = safeguard;
    return safeguards;
  }
  // Whether `condition` holds, or the safeguard that asks for it was left out.
  bool Pass(Safeguard safeguard, bool condition) const { return condition || Lacks(safeguard); }
  // Whether the safeguard was left out.
  bool Lacks(Safeguard safeguard) const { return removed_ == safeguard; }

 private:
  Safeguard removed_ = Safeguard::kNone;
};

}  // namespace lockstep::common
