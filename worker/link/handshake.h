#pragma once

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "proto/worker.pb.h"
#include "worker/link/connection_keeper.h"
#include "worker/link/protocol.h"

namespace lockstep::worker {

// One connection to a controller, starting with Hello. The first message from the controller is the
// answer to Hello, all others are commands. Every worker uses this class: a process, each synthetic
// worker, each simulated one. It has no clock, socket or thread of its own. One thread calls it.
class Handshake {
 public:
  struct Ports {
    ConnectionKeeper* keeper = nullptr;  // outlives this, as does the next
    Protocol* protocol = nullptr;
    // The controller has welcomed this worker. After this call has returned, the protocol may send,
    // and samples may be delivered in the session that Welcome names.
    std::function<void(const v1::ControllerMessage& welcome)> welcomed;
    // The controller, which had welcomed this worker, ends the connection.
    std::function<void(const std::string& reason)> rejected;
  };
  explicit Handshake(Ports ports) : ports_(std::move(ports)) {}

  // The first message to the controller: `hello` with this worker's status.
  v1::WorkerMessage Hello(v1::Hello hello) const;
  // Takes a message that arrived at `received_ns`. Fails if it is the answer to Hello and refuses
  // this worker: FAILED_PRECONDITION for good, UNAVAILABLE if the worker should dial again, or dial
  // another controller.
  absl::Status OnMessage(const v1::ControllerMessage& message, int64_t received_ns);

 private:
  const Ports ports_;
  bool welcomed_ = false;
};

// The first message of a Deliver stream, in the session that `welcome` began.
v1::Delivery DeliverHello(const std::string& worker_id, const v1::Welcome& welcome);

}  // namespace lockstep::worker
