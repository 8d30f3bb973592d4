#pragma once

#include <functional>
#include <system_error>
#include <thread>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/mutex.h"

namespace lockstep::common {

// Calls a function again and again on a thread of its own, with a pause between two calls, from the
// start on until it ends. The function must not throw. Begin() and End() belong to one thread.
class Ticker {
 public:
  Ticker(absl::Duration pause, std::function<void()> tick)
      : pause_(pause), tick_(std::move(tick)) {}
  ~Ticker() { End(); }
  Ticker(const Ticker&) = delete;
  Ticker& operator=(const Ticker&) = delete;

  // RESOURCE_EXHAUSTED when no thread can be had.
  absl::Status Begin() {
    try {
      thread_ = std::thread([this] { Main(); });
    } catch (const std::system_error& error) {
      return absl::ResourceExhaustedError(
          absl::StrCat("a thread cannot be started: ", error.what(),
                       "; see the limits on processes of this user and of its cgroup"));
    }
    return absl::OkStatus();
  }
  // Waits for the call in progress; none begins after that.
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
      changed_.WaitFor(&lock, absl::ToChronoNanoseconds(pause_),
                       [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return ending_; });
    }
  }

  const absl::Duration pause_;
  const std::function<void()> tick_;
  Mutex mutex_;
  Condition changed_;
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace lockstep::common
