#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "common/clock.h"
#include "common/mutex.h"
#include "grpcpp/grpcpp.h"
#include "proto/worker.grpc.pb.h"
#include "worker/link/connection_keeper.h"
#include "worker/link/outbox.h"
#include "worker/link/protocol.h"

namespace lockstep::worker {

// Whether gRPC pings an idle connection, so that a path that silently drops it is noticed before
// the next message.
enum class Keepalive { kOff, kOn };

// Returns a channel with its own connection to a controller, so that bulk data never delays
// commands. `server_name` is as for common::DemandServerName().
std::shared_ptr<grpc::Channel> DialController(
    const std::string& address, const std::shared_ptr<grpc::ChannelCredentials>& credentials,
    const std::string& server_name, Keepalive keepalive);

// One connection of a worker to one controller: both streams, and the threads that serve them. If
// the controller does not read, the session's writer blocks, and so does its reader when it answers
// a ping. The thread that watches the lease then ends both.
class Session {
 public:
  struct Ports {
    ConnectionKeeper* keeper = nullptr;  // outlives this, as do the next three
    Protocol* protocol = nullptr;
    Outbox* outbox = nullptr;
    const common::Clock* clock = nullptr;
    std::function<v1::Hello()> hello;
    std::shared_ptr<grpc::ChannelCredentials> credentials;
    bool tls = false;         // whether `credentials` are for TLS; used in error messages
    std::string server_name;  // as common::TlsFiles has it
    std::string worker_id;
    // Called from the session's own thread, before any command.
    std::function<void(const v1::Welcome&)> welcomed = [](const v1::Welcome&) {};
  };
  Session(Ports ports, const std::string& address);

  // Serves until the controller is lost, or Cancel(). FAILED_PRECONDITION if it refused this
  // worker.
  absl::Status Serve();
  // From any thread. Never blocks, except for the answer to a ping, which is sent at once. Only
  // this session's reader sends such answers.
  void Send(const v1::WorkerMessage& message);
  // Fetches the write log of the blocks in `request`, part by part. From any thread; waits.
  // UNAVAILABLE if the caller may try again.
  absl::Status Fetch(v1::WriteLogRequest request, int64_t limit_ns,
                     const std::function<absl::Status(const v1::WriteLogPart&)>& take);
  // From any thread.
  void Cancel();

 private:
  // OK if the worker was attached before the controller was lost. An error with an empty message if
  // the controller did not answer.
  absl::Status Converse();
  // Ends the threads. The control stream has ended or is cancelled before.
  void Quit();
  void Write(const v1::WorkerMessage& message);
  void WriteMain();
  void HeartbeatMain();
  // Delivers batches over a separate stream until the session ends. Opens a broken stream again.
  void DeliverMain();
  void DeliverOnce(v1::WorkerService::Stub* stub);

  const Ports ports_;
  const std::string address_;
  std::shared_ptr<grpc::Channel> control_channel_;
  std::shared_ptr<grpc::Channel> deliver_channel_;
  grpc::ClientContext control_context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::WorkerMessage, v1::ControllerMessage>> stream_;
  common::Mutex write_mutex_;  // of stream_'s writing side
  common::Mutex queue_mutex_;
  common::Condition queue_changed_;
  std::deque<v1::WorkerMessage> queue_ ABSL_GUARDED_BY(queue_mutex_);
  // Set before the threads that use it begin.
  v1::Welcome welcome_;
  std::atomic<bool> welcomed_{false};
  common::Mutex deliver_mutex_;
  grpc::ClientContext* deliver_context_ ABSL_GUARDED_BY(deliver_mutex_) = nullptr;
  // The context of Fetch(). At most one call is in progress.
  grpc::ClientContext* fetch_context_ ABSL_GUARDED_BY(deliver_mutex_) = nullptr;
  std::atomic<bool> over_{false};
};

}  // namespace lockstep::worker
