#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include "absl/status/statusor.h"
#include "common/limits.h"
#include "common/mutex.h"
#include "grpcpp/grpcpp.h"

namespace lockstep::controller {

// Large answers and requests, part by part, between a thread that makes or takes them and gRPC.
// A caller that stalls for limits::kTransferStallNs, or takes longer than limits::kTransferNs in
// all, is given up.

// A part at a time is in one of two hands: gRPC's, or the thread's. Thread-safe.
class Handover {
 public:
  // gRPC has the part from now on.
  void Begin() {
    common::MutexLock lock(&mutex_);
    busy_ = true;
  }
  // gRPC is done with it; not `ok`: nothing more comes or goes.
  void Done(bool ok) {
    common::MutexLock lock(&mutex_);
    busy_ = false;
    over_ = over_ || !ok;
    changed_.NotifyAll();
  }
  // CANCELLED when nothing more comes or goes; DEADLINE_EXCEEDED when the caller stalls, or when
  // the transfer has taken too long.
  absl::Status Wait() {
    if (std::chrono::steady_clock::now() > until_) {
      return absl::DeadlineExceededError("the transfer takes too long");
    }
    common::MutexLock lock(&mutex_);
    const bool done =
        changed_.WaitFor(&lock, std::chrono::nanoseconds(limits::kTransferStallNs),
                         [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return !busy_; });
    if (!done) return absl::DeadlineExceededError("the caller does not go on");
    return over_ ? absl::CancelledError("the caller has gone") : absl::OkStatus();
  }
  // As Wait(), however long it takes: after the call was cancelled, that is at once.
  void WaitLong() {
    common::MutexLock lock(&mutex_);
    changed_.Wait(&lock, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return !busy_; });
  }

 private:
  const std::chrono::steady_clock::time_point until_ =
      std::chrono::steady_clock::now() + std::chrono::nanoseconds(limits::kTransferNs);
  common::Mutex mutex_;
  common::Condition changed_;
  bool busy_ ABSL_GUARDED_BY(mutex_) = false;
  bool over_ ABSL_GUARDED_BY(mutex_) = false;
};

// An answer in parts. One thread calls Put() any number of times and then End() once, after which
// this is gone.
template <typename Part>
class PartWriter final : public grpc::ServerWriteReactor<Part> {
 public:
  PartWriter(grpc::CallbackServerContext* context, std::shared_ptr<void> admission)
      : context_(context), admission_(std::move(admission)) {}
  absl::Status Put(Part part) {
    if (absl::Status status = hand_.Wait(); !status.ok()) return status;
    part_ = std::move(part);
    hand_.Begin();
    this->StartWrite(&part_);
    return absl::OkStatus();
  }
  void End(const grpc::Status& status) {
    // A client that stalls is not waited for a second time.
    if (status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED || !hand_.Wait().ok()) {
      context_->TryCancel();
    }
    hand_.WaitLong();
    this->Finish(status);
  }
  void OnWriteDone(bool ok) override { hand_.Done(ok); }
  void OnDone() override { delete this; }

 private:
  grpc::CallbackServerContext* context_;
  const std::shared_ptr<void> admission_;  // of callers.h
  Part part_;
  Handover hand_;
};

// A request in parts. One thread calls Take() any number of times and then End() once, after which
// this is gone.
template <typename Part>
class PartReader final : public grpc::ServerReadReactor<Part> {
 public:
  PartReader(grpc::CallbackServerContext* context, std::shared_ptr<void> admission)
      : context_(context), admission_(std::move(admission)) {}
  // None after the last.
  absl::StatusOr<std::optional<Part>> Take() {
    hand_.Begin();
    this->StartRead(&part_);
    const absl::Status status = hand_.Wait();
    if (absl::IsCancelled(status) && !context_->IsCancelled()) return std::optional<Part>();
    if (!status.ok()) return status;
    return std::optional<Part>(std::move(part_));
  }
  void End(const grpc::Status& status) {
    if (status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED ||
        absl::IsDeadlineExceeded(hand_.Wait())) {
      context_->TryCancel();
    }
    hand_.WaitLong();
    this->Finish(status);
  }
  void OnReadDone(bool ok) override { hand_.Done(ok); }
  void OnDone() override { delete this; }

 private:
  grpc::CallbackServerContext* context_;
  const std::shared_ptr<void> admission_;  // of callers.h
  Part part_;
  Handover hand_;
};

}  // namespace lockstep::controller
