#pragma once

#include <deque>
#include <utility>

#include "common/limits.h"
#include "common/mutex.h"
#include "grpcpp/grpcpp.h"

namespace lockstep::controller {

// A bidirectional stream on the server whose messages down are queued, so that any thread may send.
// The derived class reads; gRPC calls its OnDone() last.
template <typename Request, typename Response>
class QueuedStream : public grpc::ServerBidiReactor<Request, Response> {
 public:
  // Queues a message; returns at once. Dropped once the stream has ended. False when so many wait
  // already that the other side cannot be reading. From any thread.
  bool Send(Response message) {
    common::MutexLock lock(&mutex_);
    if (finished_ || finish_after_write_) return true;
    if (outgoing_.size() >= static_cast<size_t>(limits::kCommandsWaiting)) return false;
    outgoing_.push_back(std::move(message));
    if (outgoing_.size() == 1) this->StartWrite(&outgoing_.front());
    return true;
  }

  void OnWriteDone(bool ok) override {
    common::MutexLock lock(&mutex_);
    outgoing_.pop_front();
    if (finished_) return;
    if (ok && !outgoing_.empty()) return this->StartWrite(&outgoing_.front());
    if (finish_after_write_) FinishLocked(grpc::Status::OK);
  }

  void OnCancel() override { FinishNow(grpc::Status(grpc::StatusCode::CANCELLED, "cancelled")); }

 protected:
  // StartRead(), unless the stream has ended. From any thread.
  void ReadNext(Request* into) {
    common::MutexLock lock(&mutex_);
    if (!finished_) this->StartRead(into);
  }
  // Ends the stream at once; later calls do nothing.
  void FinishNow(const grpc::Status& status) {
    common::MutexLock lock(&mutex_);
    if (!finished_) FinishLocked(status);
  }
  // Ends it in order, after what is queued.
  void FinishAfterWrites() {
    common::MutexLock lock(&mutex_);
    if (finished_) return;
    finish_after_write_ = true;
    if (outgoing_.empty()) FinishLocked(grpc::Status::OK);
  }

 private:
  void FinishLocked(const grpc::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    finished_ = true;
    this->Finish(status);
  }

  common::Mutex mutex_;
  std::deque<Response> outgoing_ ABSL_GUARDED_BY(mutex_);  // the front one is being written
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
  bool finish_after_write_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace lockstep::controller
