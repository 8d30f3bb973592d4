#include "worker/link/session.h"

#include <chrono>
#include <thread>

#include "absl/strings/str_cat.h"
#include "common/dial.h"
#include "common/limits.h"
#include "common/log.h"
#include "common/mutex.h"
#include "common/timing.h"
#include "worker/link/handshake.h"

namespace lockstep::worker {
namespace {

constexpr int kKeepaliveMs = timing::kKeepaliveNs / timing::kMs;
constexpr auto kPoll = std::chrono::milliseconds(100);
constexpr auto kReopen = std::chrono::milliseconds(200);

}  // namespace

std::shared_ptr<grpc::Channel> DialController(
    const std::string& address, const std::shared_ptr<grpc::ChannelCredentials>& credentials,
    const std::string& server_name, Keepalive keepalive) {
  grpc::ChannelArguments arguments;
  common::DemandServerName(server_name, &arguments);
  // gRPC lets channels to one address share a connection. Bulk would then delay commands.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  // The default is 1 s, half of what a worker waits for a connection (kConnectNs).
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 200);
  // By default gRPC dials through the proxy that the environment names.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetMaxReceiveMessageSize(static_cast<int>(limits::kWorkerBytes));
  arguments.SetMaxSendMessageSize(static_cast<int>(limits::kWorkerBytes));
  if (keepalive == Keepalive::kOn) {
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs);
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveMs);
    // By default gRPC sends no more than two pings while no data goes out.
    arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  }
  return grpc::CreateCustomChannel(address, credentials, arguments);
}

// Control needs no keepalive, since it has the lease. The delivery stream may be silent for long.
Session::Session(Ports ports, const std::string& address)
    : ports_(std::move(ports)),
      address_(address),
      control_channel_(
          DialController(address, ports_.credentials, ports_.server_name, Keepalive::kOff)),
      deliver_channel_(
          DialController(address, ports_.credentials, ports_.server_name, Keepalive::kOn)) {}

absl::Status Session::Serve() {
  if (!control_channel_->WaitForConnected(std::chrono::system_clock::now() +
                                          std::chrono::nanoseconds(timing::kConnectNs))) {
    return absl::UnavailableError(absl::StrCat(
        "the controller at ", address_, ": ",
        common::WhyNotConnected(control_channel_, address_, ports_.tls, ports_.server_name)));
  }
  auto stub = v1::WorkerService::NewStub(control_channel_);
  ports_.keeper->Heard(ports_.clock->MonotonicNs());
  stream_ = stub->Control(&control_context_);
  // The thread begins before Hello: it also gives up a controller that accepts the connection and
  // says nothing.
  std::thread heartbeat([this] { HeartbeatMain(); });
  const absl::Status status = Converse();
  Quit();
  heartbeat.join();
  const grpc::Status ended = stream_->Finish();
  if (!status.ok() && !status.message().empty()) return status;
  if (!welcomed_) {
    return absl::UnavailableError(
        absl::StrCat(address_, " gives no answer to Hello: ", ended.error_message()));
  }
  return absl::UnavailableError(
      absl::StrCat("the controller at ", address_, " is lost: ", ended.error_message()));
}

void Session::Send(const v1::WorkerMessage& message) {
  if (!welcomed_ || over_) return;
  // A reply that waits in the queue lengthens the exchange, and with it the bound of the clock's
  // offset.
  if (message.has_clock_reply()) return Write(message);
  common::MutexLock lock(&queue_mutex_);
  if (queue_.size() >= static_cast<size_t>(limits::kCommandsWaiting)) {
    log::Warn("the controller at {} does not read what this worker says", address_);
    return Cancel();
  }
  queue_.push_back(message);
  queue_changed_.NotifyOne();
}

absl::Status Session::Fetch(v1::WriteLogRequest request, int64_t limit_ns,
                            const std::function<absl::Status(const v1::WriteLogPart&)>& take) {
  if (!welcomed_ || over_) return absl::UnavailableError("no controller is there");
  request.set_worker_id(ports_.worker_id);
  request.set_session(welcome_.session());
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::nanoseconds(limit_ns));
  {
    common::MutexLock lock(&deliver_mutex_);
    if (over_) return absl::UnavailableError("no controller is there");
    // Quit() sets over_ and then cancels under this lock: it finds the context, or this has seen
    // that the session is over.
    fetch_context_ = &context;
  }
  // The log of a long run is bulk. It has the connection of the samples, so that commands do not
  // wait behind it.
  auto stub = v1::WorkerService::NewStub(deliver_channel_);
  const auto reader = stub->LoadWriteLog(&context, request);
  v1::WriteLogPart part;
  absl::Status taken;
  while (taken.ok() && reader->Read(&part)) taken = take(part);
  // Finish() waits for the end of the stream. A log that was not read to its end must be cancelled
  // first.
  if (!taken.ok()) context.TryCancel();
  const grpc::Status status = reader->Finish();
  {
    common::MutexLock lock(&deliver_mutex_);
    fetch_context_ = nullptr;
  }
  if (!taken.ok()) return taken;
  // Another session may have taken this one's place, or this one has ended.
  const bool passes = over_ || status.error_code() == grpc::StatusCode::FAILED_PRECONDITION;
  return status.ok() ? absl::OkStatus()
         : passes    ? absl::UnavailableError(status.error_message())
                     : absl::Status(static_cast<absl::StatusCode>(status.error_code()),
                                    status.error_message());
}

void Session::Cancel() {
  // This may come before the call has begun. gRPC remembers it and cancels the call when it begins.
  control_context_.TryCancel();
  Quit();
}

absl::Status Session::Converse() {
  std::thread writer;
  std::thread deliver;
  Handshake::Ports ports;
  ports.keeper = ports_.keeper;
  ports.protocol = ports_.protocol;
  ports.welcomed = [&](const v1::ControllerMessage& welcome) {
    log::Info("attached to the controller at {} (epoch {})", address_, welcome.epoch());
    welcome_ = welcome.welcome();
    ports_.welcomed(welcome.welcome());
    // This comes after welcome_ is set: other threads send from now on, and use it.
    welcomed_ = true;
    writer = std::thread([this] { WriteMain(); });
    deliver = std::thread([this] { DeliverMain(); });
  };
  ports.rejected = [this](const std::string& reason) {
    log::Warn("the controller at {} ends this connection: {}", address_, reason);
  };
  Handshake handshake(std::move(ports));
  Write(handshake.Hello(ports_.hello()));
  absl::Status status = absl::OkStatus();
  bool heard = false;
  v1::ControllerMessage message;
  while (status.ok() && stream_->Read(&message)) {
    heard = true;
    status = handshake.OnMessage(message, ports_.clock->MonotonicNs());
  }
  // A worker that was refused ends the stream itself. Otherwise Read() has failed, and the stream
  // is over.
  status.ok() ? Quit() : Cancel();
  if (writer.joinable()) writer.join();
  if (deliver.joinable()) deliver.join();
  if (!heard) return absl::UnavailableError("");  // the call's status says why
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat("the controller at ", address_, ": ",
                                                  std::string(status.message())));
}

void Session::Quit() {
  over_ = true;
  queue_changed_.NotifyOne();
  common::MutexLock lock(&deliver_mutex_);
  if (deliver_context_ != nullptr) deliver_context_->TryCancel();
  if (fetch_context_ != nullptr) fetch_context_->TryCancel();
}

void Session::Write(const v1::WorkerMessage& message) {
  // gRPC allows one Write() at a time in a stream. The reader writes replies to pings beside the
  // writer thread.
  common::MutexLock lock(&write_mutex_);
  stream_->Write(message);
}

void Session::WriteMain() {
  while (true) {
    common::MutexLock lock(&queue_mutex_);
    // over_ is not guarded by this lock, so that its notification can be missed: hence the limit.
    queue_changed_.WaitFor(
        &lock, std::chrono::milliseconds(200),
        [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(queue_mutex_) { return !queue_.empty() || over_; });
    if (over_) return;
    if (queue_.empty()) continue;
    const v1::WorkerMessage message = std::move(queue_.front());
    queue_.pop_front();
    // Write() waits for a controller that does not read, and Send() must not.
    lock.Unlock();
    Write(message);
  }
}

void Session::HeartbeatMain() {
  while (!over_) {
    const int64_t now = ports_.clock->MonotonicNs();
    if (ports_.keeper->IsSilent(now)) {
      log::Warn("the controller has been silent for longer than the lease");
      return Cancel();
    }
    if (ports_.keeper->TakeHeartbeat(now)) {
      v1::WorkerMessage message;
      message.mutable_heartbeat()->set_epoch(ports_.protocol->epoch());
      message.mutable_heartbeat()->set_activity(ports_.protocol->Activity());
      message.mutable_heartbeat()->set_wall_clock_ns(ports_.clock->WallNs());
      Send(message);
    }
    std::this_thread::sleep_for(kPoll);
  }
}

void Session::DeliverMain() {
  auto stub = v1::WorkerService::NewStub(deliver_channel_);
  while (!over_) {
    DeliverOnce(stub.get());
    if (!over_) std::this_thread::sleep_for(kReopen);
  }
}

void Session::DeliverOnce(v1::WorkerService::Stub* stub) {
  grpc::ClientContext context;
  {
    common::MutexLock lock(&deliver_mutex_);
    // Quit() sets over_ and then cancels under this lock: it finds the context, or this has seen
    // over_.
    if (over_) return;
    deliver_context_ = &context;
  }
  // Batches that the last stream took may never have arrived.
  ports_.outbox->Rewind();
  auto stream = stub->Deliver(&context);
  stream->Write(DeliverHello(ports_.worker_id, welcome_));
  std::atomic<bool> broken{false};
  std::thread acknowledgements([&] {
    v1::DeliveryAck ack;
    while (stream->Read(&ack)) {
      const std::string refused = ports_.outbox->OnAck(ack);
      if (!refused.empty()) log::Warn("the controller did not take samples: {}", refused);
    }
    broken = true;
  });
  while (!over_ && !broken) {
    auto batch = ports_.outbox->NextBatch();
    if (!batch) continue;
    v1::Delivery delivery;
    *delivery.mutable_batch() = *std::move(batch);
    if (!stream->Write(delivery)) break;
  }
  // The thread below waits for the controller's next acknowledgement until the call is cancelled.
  context.TryCancel();
  acknowledgements.join();
  stream->Finish();
  common::MutexLock lock(&deliver_mutex_);
  deliver_context_ = nullptr;
}

}  // namespace lockstep::worker
