#pragma once

#include <optional>
#include <string>

#include "common/guards.h"

namespace lockstep::simulation {

inline constexpr struct {
  const char* name;
  common::Guard guard;
} kGuards[] = {
    {"all-armed", common::Guard::kAllArmed},
    {"go-on-disk", common::Guard::kGoOnDisk},
    {"current-deadline", common::Guard::kCurrentDeadline},
    {"all-answered", common::Guard::kAllAnswered},
    {"places-held", common::Guard::kPlacesHeld},
    {"in-sequence", common::Guard::kInSequence},
    {"ask-cursor", common::Guard::kAskCursor},
    {"committed-ack", common::Guard::kCommittedAck},
    {"epoch-fence", common::Guard::kEpochFence},
    {"epoch-refused", common::Guard::kEpochRefused},
    {"go-in-time", common::Guard::kGoInTime},
    {"hard-stop", common::Guard::kHardStop},
    {"go-within", common::Guard::kGoWithin},
    {"keep-uncommitted", common::Guard::kKeepUncommitted},
};

inline std::string GuardNames() {
  std::string names;
  for (const auto& entry : kGuards) names += (names.empty() ? "" : ", ") + std::string(entry.name);
  return names;
}

// kNone for an empty name.
inline std::optional<common::Guard> GuardOf(const std::string& name) {
  if (name.empty()) return common::Guard::kNone;
  for (const auto& entry : kGuards) {
    if (name == entry.name) return entry.guard;
  }
  return std::nullopt;
}

}  // namespace lockstep::simulation
