#include "worker/agent/agent.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <thread>

#include "absl/strings/str_cat.h"
#include "common/dial.h"
#include "common/ids.h"
#include "common/limits.h"
#include "common/version.h"
#include "proto/fields.h"
#include "spdlog/spdlog.h"
#include "worker/agent/inspect.h"
#include "worker/host/block_devices.h"
#include "worker/host/inventory.h"

namespace lockstep::worker {
namespace {

constexpr int64_t kHeartbeatNs = 1000000000;
constexpr int64_t kFirstPauseNs = 200000000;
// A controller that takes over waits for longer than a round of dialling takes (coordinator.cc,
// kReturnNs).
constexpr int64_t kLongestPauseNs = 2000000000;
// Until Welcome says what the lease is.
constexpr int64_t kFirstLeaseNs = 10000000000;
// Messages that may wait for a controller that does not read.
constexpr auto kMostWaiting = static_cast<size_t>(limits::kCommandsWaiting);
constexpr size_t kMostListings = 16;
constexpr int kKeepaliveMs = 10000;
// For the record; `lockstep devices` asks for all.
constexpr int kDevicesInHello = 1000;

std::shared_ptr<grpc::Channel> Dial(const std::string& address,
                                    const std::shared_ptr<grpc::ChannelCredentials>& credentials,
                                    bool keepalive) {
  grpc::ChannelArguments arguments;
  // A connection of its own for each stream, so that bulk never delays commands.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 200);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetMaxReceiveMessageSize(static_cast<int>(limits::kWorkerBytes));
  arguments.SetMaxSendMessageSize(static_cast<int>(limits::kWorkerBytes));
  if (keepalive) {
    // A path that silently drops an idle connection is found out before there are samples to send.
    // Control has the lease for that.
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs);
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveMs);
    arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  }
  return grpc::CreateCustomChannel(address, credentials, arguments);
}

}  // namespace

// One connection to one controller: both streams, and the threads that serve them. A controller
// that does not read blocks its writer and, with an answer to a ping, its reader; the thread that
// watches the lease ends both.
class Agent::Session {
 public:
  Session(Agent* agent, const std::string& address)
      : agent_(agent),
        address_(address),
        control_channel_(Dial(address, agent->options_.credentials, false)),
        deliver_channel_(Dial(address, agent->options_.credentials, true)) {}

  // Until the controller is gone, or Cancel(). FAILED_PRECONDITION when it refused this worker.
  absl::Status Serve() {
    if (!control_channel_->WaitForConnected(std::chrono::system_clock::now() +
                                            std::chrono::seconds(2))) {
      return absl::UnavailableError(
          absl::StrCat("the controller at ", address_, ": ",
                       common::WhyNotConnected(control_channel_, address_, agent_->options_.tls)));
    }
    auto stub = v1::WorkerService::NewStub(control_channel_);
    heard_ns_ = agent_->clock_->MonotonicNs();
    stream_ = stub->Control(&control_context_);
    std::thread heartbeat([this] { Heartbeat(); });
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
        absl::StrCat("the controller at ", address_, " is gone: ", ended.error_message()));
  }

  // From any thread. Never blocks, but for the answer to a ping, which goes out at once: only this
  // session's reader gives that.
  void Send(const v1::WorkerMessage& message) {
    if (!welcomed_ || over_) return;
    if (message.has_clock_reply()) return Write(message);
    std::lock_guard<std::mutex> lock(queue_mutex_);
    if (queue_.size() >= kMostWaiting) {
      spdlog::warn("the controller at {} does not read what this worker says", address_);
      return Cancel();
    }
    queue_.push_back(message);
    queue_changed_.notify_one();
  }

  void Cancel() {
    control_context_.TryCancel();
    Quit();
  }

 private:
  // OK when the controller was attached to, and has gone; without words when it gave no answer.
  absl::Status Converse() {
    v1::WorkerMessage hello;
    *hello.mutable_hello() = agent_->MakeHello();
    Write(hello);
    v1::ControllerMessage first;
    if (!stream_->Read(&first)) return absl::UnavailableError("");  // the call's status says why
    if (absl::Status status = agent_->protocol_->OnFirst(first); !status.ok()) {
      Cancel();
      return absl::Status(status.code(), absl::StrCat("the controller at ", address_, ": ",
                                                      std::string(status.message())));
    }
    spdlog::info("attached to the controller at {} (epoch {})", address_, first.epoch());
    if (first.welcome().lease_ns() > 0) lease_ns_ = first.welcome().lease_ns();
    session_ = first.welcome().session();
    heard_ns_ = agent_->clock_->MonotonicNs();
    welcomed_ = true;
    std::thread writer([this] { WriteQueue(); });
    std::thread deliver([this] { Deliver(); });
    // What has changed since Hello was written went nowhere.
    v1::WorkerMessage news;
    *news.mutable_status() = agent_->protocol_->status();
    if (news.status().SerializeAsString() != hello.hello().status().SerializeAsString()) Send(news);
    v1::ControllerMessage message;
    while (stream_->Read(&message)) {
      const int64_t received = agent_->clock_->MonotonicNs();
      heard_ns_ = received;
      if (message.has_refused()) {
        spdlog::warn("the controller at {} ends this connection: {}", address_,
                     message.refused().reason());
        continue;
      }
      agent_->protocol_->OnCommand(message, received);
    }
    Quit();
    writer.join();
    deliver.join();
    return absl::OkStatus();
  }

  // Ends the threads; the control stream is over, or cancelled.
  void Quit() {
    over_ = true;
    queue_changed_.notify_one();
    std::lock_guard<std::mutex> lock(deliver_mutex_);
    if (deliver_context_ != nullptr) deliver_context_->TryCancel();
  }

  void Write(const v1::WorkerMessage& message) {
    std::lock_guard<std::mutex> lock(write_mutex_);
    stream_->Write(message);
  }

  void WriteQueue() {
    while (true) {
      std::unique_lock<std::mutex> lock(queue_mutex_);
      queue_changed_.wait_for(lock, std::chrono::milliseconds(200),
                              [this] { return !queue_.empty() || over_; });
      if (over_) return;
      if (queue_.empty()) continue;
      const v1::WorkerMessage message = std::move(queue_.front());
      queue_.pop_front();
      lock.unlock();
      Write(message);
    }
  }

  void Heartbeat() {
    while (!over_) {
      v1::WorkerMessage message;
      message.mutable_heartbeat()->set_epoch(agent_->protocol_->epoch());
      message.mutable_heartbeat()->set_activity(agent_->protocol_->Activity());
      message.mutable_heartbeat()->set_wall_clock_ns(agent_->clock_->WallNs());
      Send(message);
      for (int i = 0; i < 10 && !over_; ++i) {
        std::this_thread::sleep_for(std::chrono::nanoseconds(kHeartbeatNs / 10));
      }
      if (agent_->clock_->MonotonicNs() - heard_ns_ > lease_ns_) {
        spdlog::warn("the controller has been silent for longer than the lease");
        Cancel();
      }
    }
  }

  // Delivers batches over a stream of its own until the session ends; a broken stream is opened
  // again.
  void Deliver() {
    auto stub = v1::WorkerService::NewStub(deliver_channel_);
    while (!over_) {
      grpc::ClientContext context;
      {
        std::lock_guard<std::mutex> lock(deliver_mutex_);
        deliver_context_ = &context;
      }
      agent_->outbox_.Rewind();
      auto stream = stub->Deliver(&context);
      v1::Delivery hello;
      hello.mutable_hello()->set_protocol_version(v1::PROTOCOL_VERSION_CURRENT);
      hello.mutable_hello()->set_worker_id(agent_->options_.worker_id);
      hello.mutable_hello()->set_session(session_);
      stream->Write(hello);
      std::atomic<bool> broken{false};
      std::thread acknowledgements([&] {
        v1::DeliveryAck ack;
        while (stream->Read(&ack)) {
          const std::string refused = agent_->outbox_.OnAck(ack);
          if (!refused.empty()) spdlog::warn("the controller did not take samples: {}", refused);
        }
        broken = true;
      });
      while (!over_ && !broken) {
        auto batch = agent_->outbox_.NextBatch();
        if (!batch) continue;
        v1::Delivery delivery;
        *delivery.mutable_batch() = *std::move(batch);
        if (!stream->Write(delivery)) break;
      }
      context.TryCancel();
      acknowledgements.join();
      stream->Finish();
      {
        std::lock_guard<std::mutex> lock(deliver_mutex_);
        deliver_context_ = nullptr;
      }
      if (!over_) std::this_thread::sleep_for(std::chrono::milliseconds(200));
    }
  }

  Agent* agent_;
  const std::string address_;
  std::shared_ptr<grpc::Channel> control_channel_;
  std::shared_ptr<grpc::Channel> deliver_channel_;
  grpc::ClientContext control_context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::WorkerMessage, v1::ControllerMessage>> stream_;
  std::mutex write_mutex_;  // of stream_'s writing side
  std::mutex queue_mutex_;
  std::condition_variable queue_changed_;
  std::deque<v1::WorkerMessage> queue_;  // guarded by queue_mutex_
  // from Welcome; before the threads that use it begin
  std::string session_;
  std::atomic<bool> welcomed_{false};
  std::mutex deliver_mutex_;
  grpc::ClientContext* deliver_context_ = nullptr;  // guarded by deliver_mutex_
  std::atomic<bool> over_{false};
  std::atomic<int64_t> heard_ns_{0};
  std::atomic<int64_t> lease_ns_{kFirstLeaseNs};
};

Agent::Agent(Options options, const Guard* guard, const common::Clock* clock)
    : options_(std::move(options)),
      guard_(guard),
      clock_(clock),
      instance_id_(common::NewUuid()),
      outbox_(options_.outbox) {
  Protocol::Ports ports;
  ports.outbox = &outbox_;
  ports.send = [this](const v1::WorkerMessage& message) { SendToSession(message); };
  ports.inspect = [this](const v1::Inspect& inspect) { Inspect(inspect); };
  ports.list_devices = [this](const v1::ListDevices& ask) { ListDevices(ask); };
  ports.now = [this] { return clock_->MonotonicNs(); };
  PhaseRunner::Callbacks callbacks;
  callbacks.armed = [this](const v1::Armed& armed) { protocol_->OnArmed(armed); };
  callbacks.failed = [this](const v1::PhaseFailed& failed) { protocol_->OnFailed(failed); };
  callbacks.progress = [this](const v1::PhaseProgress& progress) {
    protocol_->OnProgress(progress);
  };
  callbacks.sample = [this](const v1::PhaseId& phase, v1::IntervalSample sample) {
    protocol_->OnSample(phase, std::move(sample));
  };
  callbacks.result = [this](const v1::PhaseId& phase, v1::PhaseResult result) {
    protocol_->OnResult(phase, std::move(result));
  };
  callbacks.report = [this](const std::string& severity, const std::string& text) {
    spdlog::warn("{}", text);
    protocol_->OnReport(severity, text);
  };
  runner_ = std::make_unique<PhaseRunner>(guard_, clock_, options_.host.name(),
                                          options_.mismatch_directory, std::move(callbacks));
  ports.executor = runner_.get();
  protocol_ = std::make_unique<Protocol>(std::move(ports));
}

Agent::~Agent() = default;

v1::Hello Agent::MakeHello() const {
  v1::Hello hello;
  hello.set_protocol_version(v1::PROTOCOL_VERSION_CURRENT);
  hello.set_software_version(common::kSoftwareVersion);
  hello.set_worker_id(options_.worker_id);
  hello.set_instance_id(instance_id_);
  *hello.mutable_status() = protocol_->status();
  *hello.mutable_host() = options_.host;
  // As they stand in sysfs: no device is opened on the way to a connection.
  for (v1::BlockDevice& device : ListBlockDevices()) {
    if (hello.devices_size() < kDevicesInHello) *hello.add_devices() = std::move(device);
  }
  for (const auto& [key, value] : options_.labels) (*hello.mutable_labels())[key] = value;
  for (const std::string& entry : guard_->allow()) hello.add_allow(entry);
  for (const std::string& entry : guard_->allow_expendable()) hello.add_allow_expendable(entry);
  return hello;
}

// On a thread of its own: looking at thousands of files on slow storage must not keep pings and
// stops waiting.
void Agent::Inspect(const v1::Inspect& inspect) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (stopping_) return;
  // Asked again, because the connection was lost in between.
  for (const v1::Inspect& asked : inspections_) {
    if (asked.run_id() == inspect.run_id()) return;
  }
  if (inspections_.size() >= static_cast<size_t>(limits::kInspectionsWaiting)) return;
  inspections_.push_back(inspect);
  stop_changed_.notify_all();
}

void Agent::ListDevices(const v1::ListDevices& ask) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (stopping_ || listings_.size() >= kMostListings) return;
  listings_.push_back(ask.id());
  stop_changed_.notify_all();
}

void Agent::ListMain() {
  while (true) {
    v1::WorkerMessage reply;
    {
      std::unique_lock<std::mutex> lock(mutex_);
      stop_changed_.wait(lock, [this] { return stopping_ || !listings_.empty(); });
      if (stopping_) return;
      reply.mutable_devices()->set_id(listings_.front());
      listings_.pop_front();
    }
    for (v1::BlockDevice& device : TakeInventory(*guard_)) {
      *reply.mutable_devices()->add_devices() = std::move(device);
    }
    SendToSession(reply);
  }
}

void Agent::InspectMain() {
  while (true) {
    v1::Inspect inspect;
    {
      std::unique_lock<std::mutex> lock(mutex_);
      stop_changed_.wait(lock, [this] { return stopping_ || !inspections_.empty(); });
      if (stopping_) return;
      inspect = inspections_.front();
    }
    if (const std::string wrong = v1::FirstProblem(inspect); !wrong.empty()) {
      spdlog::error("an inspection that is not one: {}", wrong);
      std::lock_guard<std::mutex> lock(mutex_);
      inspections_.pop_front();
      continue;
    }
    v1::WorkerMessage reply;
    *reply.mutable_inspection() =
        InspectTargets(*guard_, inspect, {options_.host.name(), inspect.worker_index()});
    {
      std::lock_guard<std::mutex> lock(mutex_);
      inspections_.pop_front();
    }
    SendToSession(reply);
  }
}

void Agent::SendToSession(v1::WorkerMessage message) {
  std::shared_ptr<Session> session;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    session = session_;
  }
  if (session != nullptr) session->Send(message);
}

bool Agent::Sleep(int64_t nanoseconds) {
  std::unique_lock<std::mutex> lock(mutex_);
  stop_changed_.wait_for(lock, std::chrono::nanoseconds(nanoseconds), [this] { return stopping_; });
  return !stopping_;
}

bool Agent::Publish(std::shared_ptr<Session> session) {
  std::lock_guard<std::mutex> lock(mutex_);
  session_ = std::move(session);
  return !stopping_;
}

// What ends without a controller's word ends by this.
void Agent::TickMain() {
  while (Sleep(200000000)) protocol_->Tick();
}

absl::Status Agent::Run() {
  std::thread tick([this] { TickMain(); });
  std::thread inspect([this] { InspectMain(); });
  std::thread list([this] { ListMain(); });
  const absl::Status status = Serve();
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  stop_changed_.notify_all();
  tick.join();
  inspect.join();
  list.join();
  return status;
}

absl::Status Agent::Serve() {
  int64_t pause = kFirstPauseNs;
  std::string said;
  for (size_t attempt = 0;; ++attempt) {
    const auto session = std::make_shared<Session>(
        this, options_.controllers[attempt % options_.controllers.size()]);
    if (!Publish(session)) return absl::OkStatus();
    const int64_t before = clock_->MonotonicNs();
    const absl::Status status = session->Serve();
    if (!Publish(nullptr)) return absl::OkStatus();
    if (absl::IsFailedPrecondition(status)) return status;
    if (status.message() != said) spdlog::warn("{}; dialling again", std::string(status.message()));
    said = std::string(status.message());
    if (clock_->MonotonicNs() - before > 2 * kLongestPauseNs) pause = kFirstPauseNs;
    // All controllers are tried before the pause grows. Jitter, so that a fleet does not return in
    // one instant.
    const bool round_over = (attempt + 1) % options_.controllers.size() == 0;
    const int64_t wait = round_over ? pause : kFirstPauseNs;
    if (!Sleep(wait / 2 + static_cast<int64_t>(common::RandomSeed() % wait))) {
      return absl::OkStatus();
    }
    if (round_over) pause = std::min(pause * 2, kLongestPauseNs);
  }
}

void Agent::Stop() {
  runner_->StopNow("");
  std::shared_ptr<Session> session;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
    session = session_;
  }
  stop_changed_.notify_all();
  if (session != nullptr) session->Cancel();
}

}  // namespace lockstep::worker
