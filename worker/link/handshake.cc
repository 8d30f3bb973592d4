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
  // Any message renews the lease, a refusal or an invalid one included: its sender lives.
  ports_.keeper->Heard(received_ns);
  if (!welcomed_) {
    if (absl::Status status = ports_.protocol->OnFirst(message); !status.ok()) return status;
    // The order matters. welcomed() starts the senders of this worker, and a synthetic one opens
    // its delivery stream only when the keeper says that it is attached.
    welcomed_ = true;
    ports_.keeper->Attached(received_ns, message.welcome().lease_ns());
    ports_.welcomed(message);
    // This comes after welcomed(): until then every message is dropped.
    ports_.protocol->SayWhatChanged();
    return absl::OkStatus();
  }
  if (message.has_refused()) {
    // No error is returned: the controller ends the stream after this message, and the worker dials
    // again.
    ports_.rejected(message.refused().reason());
  } else {
    ports_.protocol->OnCommand(message, received_ns);
  }
  return absl::OkStatus();
}

v1::Delivery DeliverHello(const std::string& worker_id, const v1::Welcome& welcome) {
  v1::Delivery message;
  message.mutable_hello()->set_protocol_version(welcome.protocol_version());
  message.mutable_hello()->set_worker_id(worker_id);
  message.mutable_hello()->set_session(welcome.session());
  return message;
}

}  // namespace lockstep::worker
