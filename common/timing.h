#pragma once

#include <cstdint>

#include "common/limits.h"

// Times on which two programs, or two parts of one, must agree, and the inequalities between them.
// Nanoseconds.
namespace lockstep::timing {

inline constexpr int64_t kUs = 1000;
inline constexpr int64_t kMs = 1000 * kUs;
inline constexpr int64_t kSecond = 1000 * kMs;
inline constexpr int64_t kMinute = 60 * kSecond;

// --- A worker and its controller. ---
// After the lease without a message, either side considers the other one lost. Until Welcome names
// the lease, a worker uses kFirstLeaseNs.
inline constexpr int64_t kFirstLeaseNs = 10 * kSecond;
inline constexpr int64_t kDefaultLeaseNs = 10 * kSecond;
inline constexpr int64_t kHeartbeatNs = 1 * kSecond;
// The heartbeat of synthetic workers. Their replies to clock pings show in between that they live.
inline constexpr int64_t kSparseHeartbeatNs = 5 * kSecond;
inline constexpr int64_t kMinLeaseNs = 2 * kSecond;  // that --lease accepts
static_assert(kHeartbeatNs < kMinLeaseNs && 2 * kHeartbeatNs < kDefaultLeaseNs);
static_assert(kSparseHeartbeatNs < kDefaultLeaseNs);
// The period in which the controller pings each worker's clock.
inline constexpr int64_t kPingNs = 1 * kSecond;
static_assert(kPingNs < kMinLeaseNs);
// The period of gRPC's keepalive on a worker's connection, and the shortest period that the server
// accepts. A server that accepts only longer ones would drop the connection.
inline constexpr int64_t kKeepaliveNs = 10 * kSecond;
inline constexpr int64_t kKeepaliveAllowedNs = 5 * kSecond;
static_assert(kKeepaliveAllowedNs < kKeepaliveNs);

// --- Before a run. ---
// The controller waits this long for a worker's inspection of its targets, and of its devices.
inline constexpr int64_t kInspectAnswerNs = 30 * kSecond;
static_assert(limits::kInspectNs < kInspectAnswerNs);
static_assert(limits::kProbeNs + limits::kEmptinessNs < limits::kInspectNs);
inline constexpr int64_t kDevicesAnswerNs = 5 * kSecond;
static_assert(limits::kProbeNs < kDevicesAnswerNs);
// The controller waits this long for devices to be stamped.
inline constexpr int64_t kStampAnswerNs = 30 * kSecond;
static_assert(limits::kStampNs < kStampAnswerNs);

// A worker dials; between two rounds of all its controllers it pauses, longer each time.
inline constexpr int64_t kConnectNs = 2 * kSecond;
inline constexpr int64_t kFirstPauseNs = 200 * kMs;
inline constexpr int64_t kMaxPauseNs = 2 * kSecond;
// A new controller waits this long after the lease for the workers of the runs that it took over.
// It is longer than a worker's round of two controllers takes, with its pause and jitter.
inline constexpr int64_t kReturnNs = 10 * kSecond;
static_assert(kReturnNs > 2 * kConnectNs + kMaxPauseNs * 3 / 2);

// --- The end of a phase. ---
// After the drain deadline a worker waits this long for a thread that hangs …
inline constexpr int64_t kHangGraceNs = 3 * kSecond;
// … and the controller this long before it takes the I/O of a silent worker to be over.
inline constexpr int64_t kGivenUpNs = 5 * kSecond;
static_assert(kGivenUpNs > kHangGraceNs);
// A worker's answer to a stop may arrive this long after the drain.
inline constexpr int64_t kStopAnswerNs = 10 * kSecond;
static_assert(kStopAnswerNs > kHangGraceNs);

// A change of the store may take this long; the server cancels the statement before.
inline constexpr int64_t kStoreChangeNs = 16 * kSecond;
static_assert(limits::kStatementNs < kStoreChangeNs);
// Results may arrive this long after the drain, so that one change of the store that hangs does not
// make them late.
inline constexpr int64_t kResultNs = 20 * kSecond;
static_assert(kResultNs > kStoreChangeNs);
// An armed worker waits for its go for the arming deadline plus this: the slowest of the others may
// take the whole deadline, and T must reach the store.
inline constexpr int64_t kGoWithinNs = 30 * kSecond;
static_assert(kGoWithinNs > kStoreChangeNs);

}  // namespace lockstep::timing
