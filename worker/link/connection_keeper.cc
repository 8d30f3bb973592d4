#include "worker/link/connection_keeper.h"

#include <algorithm>

#include "common/mutex.h"

namespace lockstep::worker {

int64_t ConnectionKeeper::dial_at_ns() const {
  common::MutexLock lock(&mutex_);
  return dial_at_ns_;
}

size_t ConnectionKeeper::Dial(int64_t now_ns) {
  common::MutexLock lock(&mutex_);
  state_ = State::kDialling;
  // To dial counts as hearing: IsSilent() must also find a controller that accepts the connection
  // and says nothing.
  heard_ns_ = now_ns;
  lease_ns_ = timing::kFirstLeaseNs;  // until Welcome says what it is
  return (options_.first + attempts_++) % options_.controllers;
}

void ConnectionKeeper::Attached(int64_t now_ns, int64_t lease_ns) {
  common::MutexLock lock(&mutex_);
  state_ = State::kAttached;
  attached_ns_ = heard_ns_ = beat_ns_ = now_ns;
  if (lease_ns > 0) lease_ns_ = lease_ns;
}

void ConnectionKeeper::Heard(int64_t now_ns) {
  common::MutexLock lock(&mutex_);
  heard_ns_ = std::max(heard_ns_, now_ns);
}

void ConnectionKeeper::Closed(int64_t now_ns) {
  common::MutexLock lock(&mutex_);
  if (state_ == State::kFree) return;
  // A controller that welcomes the worker and drops it at once must not be dialled as fast as it
  // drops.
  const bool served = state_ == State::kAttached && now_ns - attached_ns_ > 2 * timing::kMaxPauseNs;
  state_ = State::kFree;
  if (served) pause_ns_ = timing::kFirstPauseNs;
  // All controllers are tried before the pause grows.
  const bool round_over = attempts_ % options_.controllers == 0;
  const int64_t wait = round_over ? pause_ns_ : timing::kFirstPauseNs;
  // Half to one and a half of the pause: a fleet that lost its controller in one instant must not
  // return in one.
  const auto jitter = static_cast<int64_t>(options_.random() % static_cast<uint64_t>(wait));
  dial_at_ns_ = now_ns + wait / 2 + jitter;
  if (round_over) pause_ns_ = std::min(2 * pause_ns_, timing::kMaxPauseNs);
}

bool ConnectionKeeper::IsSilent(int64_t now_ns) const {
  common::MutexLock lock(&mutex_);
  return state_ != State::kFree && now_ns - heard_ns_ > lease_ns_;
}

bool ConnectionKeeper::attached() const {
  common::MutexLock lock(&mutex_);
  return state_ == State::kAttached;
}

bool ConnectionKeeper::TakeHeartbeat(int64_t now_ns) {
  common::MutexLock lock(&mutex_);
  if (state_ != State::kAttached || now_ns - beat_ns_ < options_.heartbeat_ns) return false;
  beat_ns_ = now_ns;
  return true;
}

}  // namespace lockstep::worker
