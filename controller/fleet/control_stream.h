#pragma once

#include <string>

#include "controller/fleet/fleet.h"
#include "controller/fleet/queued_stream.h"
#include "proto/worker.grpc.pb.h"

namespace lockstep::controller {

// One worker's Control stream on the server. Owns itself: gRPC calls OnDone() last.
class ControlStream final : public QueuedStream<v1::WorkerMessage, v1::ControllerMessage> {
 public:
  // `fleet` and `context` outlive this. `certificate`: the name in the caller's; empty without TLS.
  ControlStream(Fleet* fleet, grpc::CallbackServerContext* context, std::string certificate);

  // Send(), with the controller's epoch on the message.
  void Command(v1::ControllerMessage message);
  // Ends the stream from this side.
  void End(const std::string& reason);
  // Ends the stream and tells the worker why; after UNAVAILABLE it dials again.
  void Refuse(const absl::Status& reason);
  // Where the caller is, as gRPC names it.
  std::string peer() const { return context_->peer(); }

  void OnReadDone(bool ok) override;
  void OnDone() override;

 private:
  void HandleFirst();

  Fleet* fleet_;
  grpc::CallbackServerContext* context_;
  const std::string certificate_;
  v1::WorkerMessage incoming_;
  std::string worker_id_;  // empty until attached
};

// A stream for a caller that may not have one.
class RefusedControlStream final
    : public grpc::ServerBidiReactor<v1::WorkerMessage, v1::ControllerMessage> {
 public:
  explicit RefusedControlStream(const grpc::Status& status) { Finish(status); }
  void OnDone() override { delete this; }
};

}  // namespace lockstep::controller
