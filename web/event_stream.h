#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "common/mutex.h"
#include "grpcpp/grpcpp.h"
#include "proto/controller.grpc.pb.h"

namespace lockstep::web {

// One watch of a run: events as they come, with a limit on those that wait. Kept alive by gRPC
// until it has ended. Thread-safe.
class EventStream final : public grpc::ClientReadReactor<v1::WatchEvent> {
 public:
  // From the run's begin on, but only events with numbers above `after`.
  static std::shared_ptr<EventStream> Begin(v1::Controller::Stub* stub, const std::string& run_id,
                                            uint64_t after);

  // The next event as server-sent events have it, with its number as id; an empty text when none
  // has come within `timeout`; nothing when there will be none any more.
  std::optional<std::string> Next(std::chrono::milliseconds timeout);
  // How the watch ended, once Next() has given nothing: OK when the run has ended.
  grpc::Status status() const;
  void Cancel();

  void OnReadDone(bool ok) override;
  void OnDone(const grpc::Status& status) override;

 private:
  EventStream() = default;

  grpc::ClientContext context_;
  v1::WatchRequest request_;
  v1::WatchEvent incoming_;
  std::shared_ptr<EventStream> self_;  // until OnDone()
  mutable common::Mutex mutex_;
  common::Condition changed_;
  std::deque<std::string> waiting_ ABSL_GUARDED_BY(mutex_);
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
  bool paused_ ABSL_GUARDED_BY(mutex_) = false;  // nothing is read until some of these are taken
  bool over_ ABSL_GUARDED_BY(mutex_) = false;
  grpc::Status status_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace lockstep::web
