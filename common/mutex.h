#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "absl/base/thread_annotations.h"

namespace lockstep::common {

// std::mutex and std::condition_variable with the annotations by which clang checks that guarded
// data is only used under its lock (-Wthread-safety, in tools/lint). A member says
// ABSL_GUARDED_BY(mutex_), a function whose caller has the lock
// ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_). absl::Mutex would do the same, but the distribution's is
// not built for the thread sanitizer, which then reports races everywhere.

class Condition;
class MutexLock;

class ABSL_LOCKABLE Mutex {
 public:
 private:
  friend class MutexLock;
  std::mutex mutex_;
};

// Holds the lock while it lives, but for what is between Unlock() and Lock().
class ABSL_SCOPED_LOCKABLE MutexLock {
 public:
  explicit MutexLock(Mutex* mutex) ABSL_EXCLUSIVE_LOCK_FUNCTION(mutex) : lock_(mutex->mutex_) {}
  ~MutexLock() ABSL_UNLOCK_FUNCTION() = default;
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

  void Unlock() ABSL_UNLOCK_FUNCTION() { lock_.unlock(); }
  void Lock() ABSL_EXCLUSIVE_LOCK_FUNCTION() { lock_.lock(); }

 private:
  friend class Condition;
  std::unique_lock<std::mutex> lock_;
};

// Thread-safe. A wait gives the lock back while it lasts. A predicate is called under the lock; its
// lambda says ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_).
class Condition {
 public:
  void NotifyOne() { condition_.notify_one(); }
  void NotifyAll() { condition_.notify_all(); }

  void Wait(MutexLock* lock) { condition_.wait(lock->lock_); }
  template <typename Predicate>
  void Wait(MutexLock* lock, const Predicate& predicate) {
    condition_.wait(lock->lock_, predicate);
  }
  template <typename Rep, typename Period>
  void WaitFor(MutexLock* lock, std::chrono::duration<Rep, Period> limit) {
    condition_.wait_for(lock->lock_, limit);
  }
  // False when the limit passed and the predicate still does not hold.
  template <typename Rep, typename Period, typename Predicate>
  bool WaitFor(MutexLock* lock, std::chrono::duration<Rep, Period> limit,
               const Predicate& predicate) {
    return condition_.wait_for(lock->lock_, limit, predicate);
  }

 private:
  std::condition_variable condition_;
};

}  // namespace lockstep::common
