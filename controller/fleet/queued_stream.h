#pragma once

#include <deque>
#include <mutex>
#include <utility>

#include "common/limits.h"
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
    std::lock_guard<std::mutex> lock(mutex_);
    if (finished_ || finish_after_write_) return true;
    if (outgoing_.size() >= static_cast<size_t>(limits::kCommandsWaiting)) return false;
    outgoing_.push_back(std::move(message));
    if (outgoing_.size() == 1) this->StartWrite(&outgoing_.front());
    return true;
  }

  void OnWriteDone(bool ok) override {
    std::lock_guard<std::mutex> lock(mutex_);
    outgoing_.pop_front();
    if (finished_) return;
    if (ok && !outgoing_.empty()) return this->StartWrite(&outgoing_.front());
    if (finish_after_write_) FinishLocked(grpc::Status::OK);
  }

  void OnCancel() override { FinishNow(grpc::Status(grpc::StatusCode::CANCELLED, "cancelled")); }

 protected:
  // StartRead(), unless the stream has ended. From any thread.
  void ReadNext(Request* into) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!finished_) this->StartRead(into);
  }
  // Ends the stream at once; later calls do nothing.
  void FinishNow(const grpc::Status& status) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!finished_) FinishLocked(status);
  }
  // Ends it in order, after what is queued.
  void FinishAfterWrites() {
    std::lock_guard<std::mutex> lock(mutex_);
    if (finished_) return;
    finish_after_write_ = true;
    if (outgoing_.empty()) FinishLocked(grpc::Status::OK);
  }

 private:
  void FinishLocked(const grpc::Status& status) {
    finished_ = true;
    this->Finish(status);
  }

  std::mutex mutex_;
  std::deque<Response> outgoing_;    // guarded by mutex_; the front one is being written
  bool finished_ = false;            // guarded by mutex_
  bool finish_after_write_ = false;  // guarded by mutex_
};

}  // namespace lockstep::controller
