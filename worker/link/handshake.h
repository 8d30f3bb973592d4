#pragma once

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "proto/worker.pb.h"
#include "worker/link/connection_keeper.h"
#include "worker/link/protocol.h"

namespace lockstep::worker {

// One connection to a controller, from Hello on: the first message that comes is the answer to
// Hello, all others are commands. Every worker uses it: a process, each synthetic worker, each
// simulated one. It has no clock, socket or thread of its own. One thread calls it.
class Handshake {
 public:
  struct Ports {
    ConnectionKeeper* keeper = nullptr;  // outlives this, as does the next
    Protocol* protocol = nullptr;
    // The controller has welcomed this worker: from its return on the protocol may send, and
    // samples may be delivered in the session that Welcome names.
    std::function<void(const v1::ControllerMessage& welcome)> welcomed;
    // The controller, which had welcomed this worker, ends the connection.
    std::function<void(const std::string& reason)> rejected;
  };
  explicit Handshake(Ports ports) : ports_(std::move(ports)) {}

  // The first message up: `hello`, with what this worker is doing.
  v1::WorkerMessage Hello(v1::Hello hello) const;
  // Takes what came at `received_ns`. Not OK when it was the answer to Hello and this worker is not
  // welcome: FAILED_PRECONDITION for good, UNAVAILABLE when it should dial again, or another one.
  absl::Status OnMessage(const v1::ControllerMessage& message, int64_t received_ns);

 private:
  const Ports ports_;
  bool welcomed_ = false;
};

// The first message up of Deliver.
v1::Delivery DeliverHello(const std::string& worker_id, const std::string& session);

}  // namespace lockstep::worker
