#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "common/mutex.h"
#include "common/timing.h"

namespace lockstep::worker {

// Decides when a worker dials which controller, when it gives up a silent one, and when it sends a
// heartbeat. Every worker has one: a process, each synthetic worker, each simulated one. It has no
// clock, socket or thread of its own; thread-safe.
//
// It goes free → dialling → attached → free; every instant is of the worker's monotonic clock,
// nanoseconds.
class ConnectionKeeper {
 public:
  struct Options {
    size_t controllers = 1;  // tried in turn
    size_t first = 0;        // the one that is dialled first
    int64_t heartbeat_ns = timing::kHeartbeatNs;
    // Any 64 bits, for jitter: a fleet must not return in one instant.
    std::function<uint64_t()> random = [] { return uint64_t{0}; };
  };
  explicit ConnectionKeeper(Options options) : options_(std::move(options)) {}

  // Free: which controller to dial next, and when at the earliest.
  int64_t dial_at_ns() const;
  // Begins to dial; returns the index of the controller.
  size_t Dial(int64_t now_ns);
  // It has welcomed this worker; `lease_ns` is 0 when it says none.
  void Attached(int64_t now_ns, int64_t lease_ns);
  // Anything came from it.
  void Heard(int64_t now_ns);
  // The connection is over, or never came to be.
  void Closed(int64_t now_ns);

  // Whether a controller that is dialled, or attached to, has been silent for longer than its
  // lease: the connection is to be ended.
  bool IsSilent(int64_t now_ns) const;
  bool attached() const;
  // Whether a heartbeat is due now; then the next one is due a period later.
  bool TakeHeartbeat(int64_t now_ns);

 private:
  enum class State { kFree, kDialling, kAttached };

  const Options options_;
  mutable common::Mutex mutex_;
  State state_ ABSL_GUARDED_BY(mutex_) = State::kFree;
  size_t attempts_ ABSL_GUARDED_BY(mutex_) = 0;  // since the first
  int64_t pause_ns_ ABSL_GUARDED_BY(mutex_) =
      timing::kFirstPauseNs;  // after a round in which none was attached to
  int64_t dial_at_ns_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t attached_ns_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t heard_ns_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t beat_ns_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t lease_ns_ ABSL_GUARDED_BY(mutex_) = timing::kFirstLeaseNs;
};

}  // namespace lockstep::worker
