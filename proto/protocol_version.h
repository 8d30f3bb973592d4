#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/worker.pb.h"

namespace lockstep::v1 {

// Which versions of the protocol between workers and controller (proto/worker.proto) a program
// speaks, and on which of them two programs agree. All functions are pure.

// The oldest version that this program can speak. Until the first release every version replaces
// the one before it. After that, this stays behind PROTOCOL_VERSION_CURRENT for as long as the
// programs still speak the older version.
inline constexpr uint32_t kLowestProtocolVersion = PROTOCOL_VERSION_CURRENT;

// The oldest version whose guard (worker/host/guard.h) a controller still admits. Raise
// PROTOCOL_VERSION_CURRENT, and this to the same number, with every change after which the guard,
// or a device's or file's owner, refuses something that an older guard lets pass. A worker below it
// is refused whatever else it has in common with the controller: no range and no feature makes up
// for a guard.
inline constexpr uint32_t kLowestGuardVersion = 16;

static_assert(kLowestProtocolVersion <= PROTOCOL_VERSION_CURRENT);
static_assert(kLowestGuardVersion <= PROTOCOL_VERSION_CURRENT);

// A program's versions, `lowest` to `highest`, and what it can do within them.
struct ProtocolOffer {
  uint32_t lowest = 0;
  uint32_t highest = 0;
  std::set<int> features = {};  // ProtocolFeature; unknown numbers are kept
};

// The versions and all features of this program.
ProtocolOffer OwnProtocol();
// "stamps" for PROTOCOL_FEATURE_STAMPS, in the order of the numbers.
std::vector<std::string> FeatureNames(const std::set<int>& features);
// The same as members of a JSON object: `protocol`, `lowest_protocol` and `features`.
std::string OwnProtocolJson();

// Writes what a worker offers into its Hello.
void SetOffer(const ProtocolOffer& offer, Hello* hello);
// The versions and features that a Hello offers. A worker from before there were ranges names one
// version and no feature.
ProtocolOffer OfferOf(const Hello& hello);
bool HasFeature(const Hello& hello, ProtocolFeature feature);

// The protocol of a session: the highest version that both speak, and the features of both.
struct ProtocolAgreement {
  uint32_t version = 0;
  std::set<int> features = {};
};

// The controller's answer to a Hello. `own` is what the controller speaks, and `software` its
// release. FAILED_PRECONDITION, with a message that says what to install where, if they have no
// version in common, if the worker's guard is older than `lowest_guard`, or if the range is none.
absl::StatusOr<ProtocolAgreement> Agree(const Hello& hello, const ProtocolOffer& own,
                                        uint32_t lowest_guard, const std::string& software);

// The worker's check of the answer to its Hello. FAILED_PRECONDITION if the controller chose a
// version that this worker does not speak.
absl::Status CheckWelcome(const Welcome& welcome, const ProtocolOffer& own,
                          const std::string& software);

}  // namespace lockstep::v1
