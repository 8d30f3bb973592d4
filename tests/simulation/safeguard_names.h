#pragma once

#include <optional>
#include <string>

#include "common/safeguards.h"

namespace lockstep::simulation {

inline constexpr struct {
  const char* name;
  common::Safeguard safeguard;
} kSafeguards[] = {
    {"all-armed", common::Safeguard::kAllArmed},
    {"go-on-disk", common::Safeguard::kGoOnDisk},
    {"current-deadline", common::Safeguard::kCurrentDeadline},
    {"all-answered", common::Safeguard::kAllAnswered},
    {"orders-repeated", common::Safeguard::kOrdersRepeated},
    {"quarantine", common::Safeguard::kQuarantine},
    {"in-sequence", common::Safeguard::kInSequence},
    {"check-cursor", common::Safeguard::kCheckCursor},
    {"committed-ack", common::Safeguard::kCommittedAck},
    {"epoch-fence", common::Safeguard::kEpochFence},
    {"epoch-refused", common::Safeguard::kEpochRefused},
    {"go-in-time", common::Safeguard::kGoInTime},
    {"hard-stop", common::Safeguard::kHardStop},
    {"go-within", common::Safeguard::kGoWithin},
    {"keep-uncommitted", common::Safeguard::kKeepUncommitted},
};

inline std::string SafeguardNames() {
  std::string names;
  for (const auto& entry : kSafeguards)
    names += (names.empty() ? "" : ", ") + std::string(entry.name);
  return names;
}

// kNone for an empty name.
inline std::optional<common::Safeguard> SafeguardOf(const std::string& name) {
  if (name.empty()) return common::Safeguard::kNone;
  for (const auto& entry : kSafeguards) {
    if (name == entry.name) return entry.safeguard;
  }
  return std::nullopt;
}

}  // namespace lockstep::simulation
