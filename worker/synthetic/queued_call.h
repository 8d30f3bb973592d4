#pragma once

#include <deque>
#include <functional>

#include "common/mutex.h"
#include "grpcpp/grpcpp.h"

namespace lockstep::worker {

// A client's bidirectional stream that queues the messages to the server. It owns itself after
// Begin(): gRPC calls OnDone() last.
template <typename Up, typename Down>
class QueuedCall : public grpc::ClientBidiReactor<Up, Down> {
 public:
  using OnMessage = std::function<void(const Down&)>;
  using OnEnd = std::function<void(const grpc::Status&)>;
  QueuedCall(OnMessage message, OnEnd end) : message_(std::move(message)), end_(std::move(end)) {}
  grpc::ClientContext* context() { return &context_; }
  void Begin() {
    // The hold keeps the call alive for writes from other threads.
    this->AddHold();
    this->StartRead(&incoming_);
    this->StartCall();
  }
  void Send(Up message) {
    common::MutexLock lock(&mutex_);
    if (ended_) return;
    outgoing_.push_back(std::move(message));
    if (outgoing_.size() == 1) this->StartWrite(&outgoing_.front());
  }
  size_t waiting() const {
    common::MutexLock lock(&mutex_);
    return outgoing_.size();
  }
  void End() {
    {
      common::MutexLock lock(&mutex_);
      if (ended_) return;
      ended_ = true;
    }
    context_.TryCancel();
    this->RemoveHold();
  }
  void OnReadDone(bool ok) override {
    if (!ok) return End();
    message_(incoming_);
    this->StartRead(&incoming_);
  }
  void OnWriteDone(bool ok) override {
    common::MutexLock lock(&mutex_);
    outgoing_.pop_front();
    if (ok && !ended_ && !outgoing_.empty()) this->StartWrite(&outgoing_.front());
  }
  void OnDone(const grpc::Status& status) override { end_(status); }

 private:
  const OnMessage message_;
  const OnEnd end_;
  grpc::ClientContext context_;
  Down incoming_;
  mutable common::Mutex mutex_;
  std::deque<Up> outgoing_ ABSL_GUARDED_BY(mutex_);
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace lockstep::worker
