#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

#include "common/clock.h"

namespace lockstep::worker {

// Calls at instants of the clock, on one thread.
class Timers {
 public:
  explicit Timers(const common::Clock* clock) : clock_(clock), thread_([this] { Main(); }) {}
  ~Timers() { Stop(); }
  void At(int64_t at_ns, std::function<void()> call) {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      calls_.emplace(at_ns, std::move(call));
    }
    changed_.notify_one();
  }
  void Stop() {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_one();
    if (thread_.joinable()) thread_.join();
  }

 private:
  void Main() {
    std::unique_lock<std::mutex> lock(mutex_);
    while (!stopping_) {
      if (calls_.empty()) {
        changed_.wait(lock);
        continue;
      }
      const int64_t wait = calls_.begin()->first - clock_->MonotonicNs();
      if (wait > 0) {
        changed_.wait_for(lock, std::chrono::nanoseconds(wait));
        continue;
      }
      auto call = std::move(calls_.begin()->second);
      calls_.erase(calls_.begin());
      lock.unlock();
      call();
      lock.lock();
    }
  }
  const common::Clock* clock_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::multimap<int64_t, std::function<void()>> calls_;  // guarded by mutex_
  bool stopping_ = false;                                // guarded by mutex_
  std::thread thread_;
};

}  // namespace lockstep::worker
