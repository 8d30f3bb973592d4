#pragma once

#include <set>

#include "common/mutex.h"
#include "grpcpp/grpcpp.h"

namespace lockstep::web {

// The calls to the controller that are not answered yet. Thread-safe.
class Calls {
 public:
  // False, and nothing is begun, when the page is ending.
  bool Begin(grpc::ClientContext* call) {
    common::MutexLock lock(&mutex_);
    return !ending_ && open_.insert(call).second;
  }
  void End(grpc::ClientContext* call) {
    common::MutexLock lock(&mutex_);
    open_.erase(call);
    changed_.NotifyAll();
  }
  // Cancels all of them, and waits for their ends.
  void CancelAll() {
    common::MutexLock lock(&mutex_);
    ending_ = true;
    for (grpc::ClientContext* call : open_) call->TryCancel();
    changed_.Wait(&lock, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return open_.empty(); });
  }

 private:
  common::Mutex mutex_;
  common::Condition changed_;
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  std::set<grpc::ClientContext*> open_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace lockstep::web
