#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <thread>

#include "common/clock.h"
#include "common/mutex.h"

namespace lockstep::worker {

// Calls at instants of the clock, on one thread.
class Timers {
 public:
  explicit Timers(const common::Clock* clock) : clock_(clock), thread_([this] { Main(); }) {}
  ~Timers() { Stop(); }
  void At(int64_t at_ns, std::function<void()> call) {
    {
      common::MutexLock lock(&mutex_);
      calls_.emplace(at_ns, std::move(call));
    }
    changed_.NotifyOne();
  }
  void Stop() {
    {
      common::MutexLock lock(&mutex_);
      stopping_ = true;
    }
    changed_.NotifyOne();
    if (thread_.joinable()) thread_.join();
  }

 private:
  void Main() {
    common::MutexLock lock(&mutex_);
    while (!stopping_) {
      if (calls_.empty()) {
        changed_.Wait(&lock);
        continue;
      }
      const int64_t wait = calls_.begin()->first - clock_->MonotonicNs();
      if (wait > 0) {
        changed_.WaitFor(&lock, std::chrono::nanoseconds(wait));
        continue;
      }
      auto call = std::move(calls_.begin()->second);
      calls_.erase(calls_.begin());
      lock.Unlock();
      call();
      lock.Lock();
    }
  }
  const common::Clock* clock_;
  common::Mutex mutex_;
  common::Condition changed_;
  std::multimap<int64_t, std::function<void()>> calls_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace lockstep::worker
