#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "common/queue.h"
#include "grpcpp/grpcpp.h"

namespace lockstep::controller {

// A unary call on the server. Owns itself; Answer() must be called exactly once, from any thread.
class Call final : public grpc::ServerUnaryReactor {
 public:
  void Answer(const grpc::Status& status) {
    if (answered_) answered_(status);
    Finish(status);
  }
  // `answered` is called with the answer, before the caller gets it. Set before the call is served.
  void OnAnswer(std::function<void(const grpc::Status&)> answered) {
    answered_ = std::move(answered);
  }
  // The caller has gone, or its deadline has passed: work that has not begun can be skipped.
  bool abandoned() const { return abandoned_; }
  void OnCancel() override { abandoned_ = true; }
  void OnDone() override { delete this; }

 private:
  std::atomic<bool> abandoned_{false};
  std::function<void(const grpc::Status&)> answered_;
};

// Answers a call exactly once: with Give(), or as UNAVAILABLE when this is destroyed without it.
class Answer {
 public:
  explicit Answer(Call* call) : call_(call) {}
  ~Answer() {
    Give(grpc::Status(grpc::StatusCode::UNAVAILABLE, "the controller is shutting down"));
  }
  void Give(const grpc::Status& status) {
    if (!given_.exchange(true)) call_->Answer(status);
  }

 private:
  Call* const call_;
  std::atomic<bool> given_{false};
};

// Threads that serve calls of one kind, so that slow ones never stand in the way of others.
// Thread-safe.
class CallPool {
 public:
  // Work in the background gives way to everything else of this machine that wants a processor
  // (nice 10, setpriority(2) of a thread).
  enum class Pace { kPrompt, kInBackground };
  CallPool(int threads, int64_t max_waiting, Pace pace = Pace::kPrompt);
  ~CallPool();
  // Runs `work`, unless the call is abandoned by then, and answers with its status.
  // RESOURCE_EXHAUSTED when too many wait.
  void Serve(Call* call, std::function<grpc::Status()> work);
  // The same for work that answers by itself, later. False, and nothing done, when too many wait.
  bool Run(std::function<void()> work);

 private:
  const int64_t max_waiting_;
  std::atomic<int64_t> waiting_{0};
  common::Queue<std::function<void()>> queue_;
  std::vector<std::thread> threads_;
};

}  // namespace lockstep::controller
