#pragma once

#include <deque>
#include <functional>

#include "common/mutex.h"
#include "httplib.h"

namespace lockstep::web {

// Serves each connection on a thread of its own, up to limits::kPageThreads; threads come when they
// are needed, and go when they are not. Beyond that connections wait, some here and the rest in the
// kernel, until one ends, which idle and slow ones soon do. Thread-safe.
class Connections final : public httplib::TaskQueue {
 public:
  ~Connections() override { shutdown(); }
  void enqueue(std::function<void()> serve) override;
  // Returns when every thread has ended.
  void shutdown() override;

 private:
  void Main();

  common::Mutex mutex_;
  common::Condition changed_;
  std::deque<std::function<void()>> waiting_ ABSL_GUARDED_BY(mutex_);
  int threads_ ABSL_GUARDED_BY(mutex_) = 0;
  int idle_ ABSL_GUARDED_BY(mutex_) = 0;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace lockstep::web
