#include "controller/runs/loop.h"

#include <chrono>

#include "common/log.h"
#include "common/mutex.h"
#include "storage/store.h"

namespace lockstep::controller {

ThreadLoop::ThreadLoop(const common::Clock* clock, std::function<void(const std::string&)> fenced)
    : clock_(clock), fenced_(std::move(fenced)) {}

ThreadLoop::~ThreadLoop() { Stop(); }

void ThreadLoop::Start() {
  store_thread_ = std::thread([this] { StoreMain(&store_queue_); });
  for (std::thread& thread : background_threads_) {
    thread = std::thread([this] { StoreMain(&background_queue_); });
  }
  thread_ = std::thread([this] { Main(); });
}

void ThreadLoop::Stop() {
  if (!thread_.joinable()) return;
  {
    common::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  changed_.NotifyAll();
  thread_.join();
  // After the deciding thread: what it has asked to be stored is stored, unless the store is
  // unavailable.
  store_stopping_ = true;
  store_queue_.Close();
  background_queue_.Close();
  store_thread_.join();
  for (std::thread& thread : background_threads_) thread.join();
  // To destroy the calls releases the callers that wait for them, except for those of Await(),
  // which wait for their time to end. Both containers are declared before the lock, and so are
  // destroyed after it is released: a destructor may post.
  decltype(calls_) calls;
  decltype(timers_) timers;
  common::MutexLock lock(&mutex_);
  calls.swap(calls_);
  timers.swap(timers_);
}

void ThreadLoop::Post(std::function<void()> call) {
  {
    common::MutexLock lock(&mutex_);
    if (stopping_) return;  // the caller lets go of it, and so of whoever waits for it
    calls_.push_back(std::move(call));
  }
  changed_.NotifyAll();
}

void ThreadLoop::After(absl::Duration delay, std::function<void()> call) {
  {
    common::MutexLock lock(&mutex_);
    if (stopping_) return;
    timers_.emplace(clock_->MonotonicNs() + absl::ToInt64Nanoseconds(delay), std::move(call));
  }
  changed_.NotifyAll();
}

void ThreadLoop::Persist(std::function<absl::Status()> work,
                         std::function<void(const absl::Status&)> then) {
  store_queue_.Push({std::move(work), std::move(then)});
}

void ThreadLoop::RunInBackground(std::function<absl::Status()> work,
                                 std::function<void(const absl::Status&)> then) {
  background_queue_.Push({std::move(work), std::move(then)});
}

void ThreadLoop::StoreMain(common::Queue<Work>* queue) {
  while (auto work = queue->Pop()) {
    absl::Status status = work->work();
    // The work is tried again here, and not queued anew: what stands behind it was decided later,
    // and must be stored later.
    for (int tries = 0; storage::IsTransient(status) && !store_stopping_; ++tries) {
      if (tries == 0) {
        log::Error("the store is out of reach, trying again: {}", std::string(status.message()));
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(500));
      status = work->work();
    }
    if (storage::IsTransient(status)) return;  // it is to end, and the store is unavailable
    // Another controller has the store. The rest of the queue would be refused by the same check of
    // the epoch.
    if (absl::IsAborted(status)) {
      fenced_(std::string(status.message()));
      return;
    }
    Post([then = std::move(work->then), status] { then(status); });
  }
}

void ThreadLoop::Main() {
  common::MutexLock lock(&mutex_);
  while (!stopping_) {
    std::function<void()> call;
    const int64_t now = clock_->MonotonicNs();
    // Timers come first, so that no number of calls delays a deadline.
    if (!timers_.empty() && timers_.begin()->first <= now) {
      call = std::move(timers_.begin()->second);
      timers_.erase(timers_.begin());
    } else if (!calls_.empty()) {
      call = std::move(calls_.front());
      calls_.pop_front();
    } else if (timers_.empty()) {
      changed_.Wait(&lock);
      continue;
    } else {
      changed_.WaitFor(&lock, std::chrono::nanoseconds(timers_.begin()->first - now));
      continue;
    }
    // The call is destroyed before the lock is taken again, because its captures may post.
    lock.Unlock();
    call();
    call = nullptr;
    lock.Lock();
  }
}

}  // namespace lockstep::controller
