#pragma once

#include <chrono>
#include <deque>
#include <optional>

#include "common/mutex.h"

namespace lockstep::common {

// An unbounded first-in-first-out queue between threads; callers bound what they put in.
// Thread-safe.
template <typename T>
class Queue {
 public:
  // False, and `item` dropped, once closed.
  bool Push(T item) {
    {
      MutexLock lock(&mutex_);
      if (closed_) return false;
      items_.push_back(std::move(item));
    }
    arrived_.NotifyOne();
    return true;
  }

  // The next item; nothing when `timeout` has passed, or when closed and empty.
  std::optional<T> Pop(std::chrono::nanoseconds timeout) {
    MutexLock lock(&mutex_);
    arrived_.WaitFor(&lock, timeout, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return !items_.empty() || closed_;
    });
    return TakeLocked();
  }

  // The next item; nothing when closed and empty.
  std::optional<T> Pop() {
    MutexLock lock(&mutex_);
    arrived_.Wait(&lock, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return !items_.empty() || closed_;
    });
    return TakeLocked();
  }

  // No more items come in; Pop() gives out what is there.
  void Close() {
    {
      MutexLock lock(&mutex_);
      closed_ = true;
    }
    arrived_.NotifyAll();
  }

  bool closed() const {
    MutexLock lock(&mutex_);
    return closed_;
  }

 private:
  std::optional<T> TakeLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (items_.empty()) return std::nullopt;
    std::optional<T> item(std::move(items_.front()));
    items_.pop_front();
    return item;
  }

  mutable Mutex mutex_;
  Condition arrived_;
  std::deque<T> items_ ABSL_GUARDED_BY(mutex_);
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace lockstep::common
