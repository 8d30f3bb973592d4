#include "web/connections.h"

#include <chrono>
#include <system_error>
#include <thread>

#include "common/limits.h"
#include "common/mutex.h"

namespace lockstep::web {
namespace {

constexpr auto kIdle = std::chrono::seconds(10);
constexpr size_t kMostWaiting = 64;

}  // namespace

void Connections::enqueue(std::function<void()> serve) {
  common::MutexLock lock(&mutex_);
  changed_.Wait(&lock, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return waiting_.size() < kMostWaiting || stopping_;
  });
  waiting_.push_back(std::move(serve));
  if (idle_ < static_cast<int>(waiting_.size()) && threads_ < limits::kPageThreads && !stopping_) {
    try {
      std::thread([this] { Main(); }).detach();
      ++threads_;
    } catch (const std::system_error&) {
      // The threads that there are serve it later.
    }
  }
  changed_.NotifyAll();
}

void Connections::Main() {
  common::MutexLock lock(&mutex_);
  while (true) {
    ++idle_;
    const bool woken = changed_.WaitFor(
        &lock, kIdle,
        [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return !waiting_.empty() || stopping_; });
    --idle_;
    if (waiting_.empty() && (stopping_ || !woken)) break;
    if (waiting_.empty()) continue;
    const std::function<void()> serve = std::move(waiting_.front());
    waiting_.pop_front();
    changed_.NotifyAll();
    lock.Unlock();
    serve();
    lock.Lock();
  }
  --threads_;
  changed_.NotifyAll();
}

void Connections::shutdown() {
  common::MutexLock lock(&mutex_);
  stopping_ = true;
  changed_.NotifyAll();
  changed_.Wait(&lock, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return threads_ == 0; });
}

}  // namespace lockstep::web
