#include "web/connections.h"

#include <chrono>
#include <system_error>
#include <thread>

#include "common/limits.h"

namespace lockstep::web {
namespace {

constexpr auto kIdle = std::chrono::seconds(10);
constexpr size_t kMostWaiting = 64;

}  // namespace

void Connections::enqueue(std::function<void()> serve) {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [this] { return waiting_.size() < kMostWaiting || stopping_; });
  waiting_.push_back(std::move(serve));
  if (idle_ < static_cast<int>(waiting_.size()) && threads_ < limits::kPageThreads && !stopping_) {
    try {
      std::thread([this] { Main(); }).detach();
      ++threads_;
    } catch (const std::system_error&) {
      // The threads that there are serve it later.
    }
  }
  changed_.notify_all();
}

void Connections::Main() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    ++idle_;
    const bool woken =
        changed_.wait_for(lock, kIdle, [this] { return !waiting_.empty() || stopping_; });
    --idle_;
    if (waiting_.empty() && (stopping_ || !woken)) break;
    if (waiting_.empty()) continue;
    const std::function<void()> serve = std::move(waiting_.front());
    waiting_.pop_front();
    changed_.notify_all();
    lock.unlock();
    serve();
    lock.lock();
  }
  --threads_;
  changed_.notify_all();
}

void Connections::shutdown() {
  std::unique_lock<std::mutex> lock(mutex_);
  stopping_ = true;
  changed_.notify_all();
  changed_.wait(lock, [this] { return threads_ == 0; });
}

}  // namespace lockstep::web
