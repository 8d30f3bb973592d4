#pragma once

#include <array>
#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <thread>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/mutex.h"
#include "common/queue.h"

namespace lockstep::controller {

// The controller's event loop: one thread, the deciding thread, on which all decisions are made.
class Loop {
 public:
  virtual ~Loop() = default;
  // Runs on the deciding thread: soon, or after so long. From any thread.
  virtual void Post(std::function<void()> call) = 0;
  virtual void After(absl::Duration delay, std::function<void()> call) = 0;
  // Runs `work` off the deciding thread, again as long as it fails because the store is unavailable
  // (storage::IsTransient), then `then` on the deciding thread. One `work` runs at a time, in the
  // order of the calls. From any thread.
  virtual void Persist(std::function<absl::Status()> work,
                       std::function<void(const absl::Status&)> then) = 0;
  // The same for work that reads a whole run: off the deciding thread, and outside of the order of
  // Persist(). Several may run at once.
  virtual void RunInBackground(std::function<absl::Status()> work,
                               std::function<void(const absl::Status&)> then) = 0;
};

// A loop with threads of its own.
class ThreadLoop final : public Loop {
 public:
  // `clock` outlives this. `fenced` is called when a work is ABORTED: another controller has
  // replaced this one.
  ThreadLoop(const common::Clock* clock, std::function<void(const std::string&)> fenced);
  ~ThreadLoop() override;
  void Start();
  // Ends the threads; what has not been done by then is not done.
  void Stop();

  void Post(std::function<void()> call) override;
  void After(absl::Duration delay, std::function<void()> call) override;
  void Persist(std::function<absl::Status()> work,
               std::function<void(const absl::Status&)> then) override;
  void RunInBackground(std::function<absl::Status()> work,
                       std::function<void(const absl::Status&)> then) override;

 private:
  const common::Clock* clock_;
  const std::function<void(const std::string&)> fenced_;
  struct Work {
    std::function<absl::Status()> work;
    std::function<void(const absl::Status&)> then;
  };
  void Main();
  void StoreMain(common::Queue<Work>* queue);

  common::Queue<Work> store_queue_;
  common::Queue<Work> background_queue_;
  common::Mutex mutex_;
  common::Condition changed_;
  std::deque<std::function<void()>> calls_ ABSL_GUARDED_BY(mutex_);
  std::multimap<int64_t, std::function<void()>> timers_ ABSL_GUARDED_BY(mutex_);  // by due time
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::atomic<bool> store_stopping_{false};
  std::thread thread_;
  std::thread store_thread_;
  // Two: the end of a long run does not delay that of a short one.
  std::array<std::thread, 2> background_threads_;
};

}  // namespace lockstep::controller
