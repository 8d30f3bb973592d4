#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>

namespace lockstep::common {

// An unbounded first-in-first-out queue between threads; callers bound what they put in.
// Thread-safe.
template <typename T>
class Queue {
 public:
  // False, and `item` dropped, once closed.
  bool Push(T item) {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      if (closed_) return false;
      items_.push_back(std::move(item));
    }
    arrived_.notify_one();
    return true;
  }

  // The next item; nothing when `timeout` has passed, or when closed and empty.
  std::optional<T> Pop(std::chrono::nanoseconds timeout) {
    std::unique_lock<std::mutex> lock(mutex_);
    arrived_.wait_for(lock, timeout, [this] { return !items_.empty() || closed_; });
    return TakeLocked();
  }

  // The next item; nothing when closed and empty.
  std::optional<T> Pop() {
    std::unique_lock<std::mutex> lock(mutex_);
    arrived_.wait(lock, [this] { return !items_.empty() || closed_; });
    return TakeLocked();
  }

  // No more items come in; Pop() gives out what is there.
  void Close() {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      closed_ = true;
    }
    arrived_.notify_all();
  }

  bool closed() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return closed_;
  }

 private:
  std::optional<T> TakeLocked() {
    if (items_.empty()) return std::nullopt;
    std::optional<T> item(std::move(items_.front()));
    items_.pop_front();
    return item;
  }

  mutable std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<T> items_;
  bool closed_ = false;
};

}  // namespace lockstep::common
