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

// A channel to a controller with a connection of its own, so that bulk never delays commands. With
// `keepalive` a path that silently drops an idle connection is noticed before the next message.
std::shared_ptr<grpc::Channel> DialController(
    const std::string& address, const std::shared_ptr<grpc::ChannelCredentials>& credentials,
    bool keepalive);

// One connection of a worker to one controller: both streams, and the threads that serve them. A
// controller that does not read blocks its writer and, with an answer to a ping, its reader; the
// thread that watches the lease ends both.
class Session {
 public:
  struct Ports {
    ConnectionKeeper* keeper = nullptr;  // outlives this, as do the next three
    Protocol* protocol = nullptr;
    Outbox* outbox = nullptr;
    const common::Clock* clock = nullptr;
    std::function<v1::Hello()> hello;
    std::shared_ptr<grpc::ChannelCredentials> credentials;
    bool tls = false;  // whether they are, for words about what went wrong
    std::string worker_id;
    // From the session's own thread, before any command.
    std::function<void(const v1::Welcome&)> welcomed = [](const v1::Welcome&) {};
  };
  Session(Ports ports, const std::string& address);

  // Until the controller is gone, or Cancel(). FAILED_PRECONDITION when it refused this worker.
  absl::Status Serve();
  // From any thread. Never blocks, but for the answer to a ping, which goes out at once: only this
  // session's reader gives that.
  void Send(const v1::WorkerMessage& message);
  // The write log of the blocks that are named, part by part. From any thread; waits. UNAVAILABLE
  // where it may be asked again.
  absl::Status Fetch(v1::WriteLogRequest request, int64_t limit_ns,
                     const std::function<absl::Status(const v1::WriteLogPart&)>& take);
  // From any thread.
  void Cancel();

 private:
  // OK when the worker was attached and the controller is gone; an empty message when it did not
  // answer.
  absl::Status Converse();
  // Ends the threads; the control stream is over, or cancelled.
  void Quit();
  void Write(const v1::WorkerMessage& message);
  void WriteMain();
  void HeartbeatMain();
  // Delivers batches over a stream of its own until the session ends; a broken stream is opened
  // again.
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
  // from Welcome; before the threads that use it begin
  std::string session_;
  std::atomic<bool> welcomed_{false};
  common::Mutex deliver_mutex_;
  grpc::ClientContext* deliver_context_ ABSL_GUARDED_BY(deliver_mutex_) = nullptr;
  // Of Fetch(), of which one is under way at most.
  grpc::ClientContext* fetch_context_ ABSL_GUARDED_BY(deliver_mutex_) = nullptr;
  std::atomic<bool> over_{false};
};

}  // namespace lockstep::worker
