#pragma once

#include <memory>
#include <optional>
#include <string>

#include "common/certificate.h"
#include "controller/fleet/fleet.h"
#include "controller/fleet/queued_stream.h"
#include "proto/worker.pb.h"

namespace lockstep::controller {

// One worker's Control stream on the server. Owns itself: gRPC calls OnDone() last.
class ControlStream final : public QueuedStream<v1::WorkerMessage, v1::ControllerMessage> {
 public:
  struct Caller {
    std::string name = {};  // in the certificate; empty without TLS
    std::optional<common::CertificateFacts> certificate = {};
    std::shared_ptr<void> admission = {};  // lives until OnDone()
  };
  // `fleet` and `context` outlive this.
  ControlStream(Fleet* fleet, grpc::CallbackServerContext* context, Caller caller);

  // Send(), with the controller's epoch on the message.
  void Command(v1::ControllerMessage message);
  // Ends the stream from this side.
  void End(const std::string& reason);
  // Ends the stream and tells the worker why; after UNAVAILABLE it dials again.
  void Refuse(const absl::Status& reason);
  // The caller's address, as gRPC names it.
  std::string peer() const { return context_->peer(); }
  // The caller's; nothing without TLS.
  const std::optional<common::CertificateFacts>& certificate() const { return caller_.certificate; }

  void OnReadDone(bool ok) override;
  void OnDone() override;

 private:
  void HandleFirst();

  Fleet* fleet_;
  grpc::CallbackServerContext* context_;
  const Caller caller_;
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
