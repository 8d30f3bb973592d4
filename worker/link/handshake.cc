#include "worker/link/handshake.h"

#include <utility>

namespace lockstep::worker {

v1::WorkerMessage Handshake::Hello(v1::Hello hello) const {
  v1::WorkerMessage message;
  *message.mutable_hello() = std::move(hello);
  *message.mutable_hello()->mutable_status() = ports_.protocol->Introduce();
  return message;
}

absl::Status Handshake::OnMessage(const v1::ControllerMessage& message, int64_t received_ns) {
  ports_.keeper->Heard(received_ns);
  if (!welcomed_) {
    if (absl::Status status = ports_.protocol->OnFirst(message); !status.ok()) return status;
    welcomed_ = true;
    ports_.keeper->Attached(received_ns, message.welcome().lease_ns());
    ports_.welcomed(message);
    ports_.protocol->SayWhatChanged();
    return absl::OkStatus();
  }
  if (message.has_refused()) {
    ports_.rejected(message.refused().reason());
  } else {
    ports_.protocol->OnCommand(message, received_ns);
  }
  return absl::OkStatus();
}

v1::Delivery DeliverHello(const std::string& worker_id, const std::string& session) {
  v1::Delivery message;
  message.mutable_hello()->set_protocol_version(v1::PROTOCOL_VERSION_CURRENT);
  message.mutable_hello()->set_worker_id(worker_id);
  message.mutable_hello()->set_session(session);
  return message;
}

}  // namespace lockstep::worker
