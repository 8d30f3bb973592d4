#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <thread>

#include "common/mutex.h"

namespace lockstep::common {

// Calls a function again and again on a thread of its own, with a pause between two calls, from the
// start on until it ends. The function must not throw. Begin() and End() belong to one thread.
class Ticker {
 public:
  Ticker(int64_t pause_ns, std::function<void()> tick)
      : pause_ns_(pause_ns), tick_(std::move(tick)) {}
  ~Ticker() { End(); }
  Ticker(const Ticker&) = delete;
  Ticker& operator=(const Ticker&) = delete;

  // std::system_error when no thread can be had.
  void Begin() {
    thread_ = std::thread([this] { Main(); });
  }
  // Waits for the call in progress.
  void End() {
    {
      MutexLock lock(&mutex_);
      ending_ = true;
      changed_.NotifyAll();
    }
    if (thread_.joinable()) thread_.join();
  }

 private:
  void Main() {
    MutexLock lock(&mutex_);
    while (!ending_) {
      lock.Unlock();
      tick_();
      lock.Lock();
      changed_.WaitFor(&lock, std::chrono::nanoseconds(pause_ns_),
                       [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return ending_; });
    }
  }

  const int64_t pause_ns_;
  const std::function<void()> tick_;
  Mutex mutex_;
  Condition changed_;
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace lockstep::common
