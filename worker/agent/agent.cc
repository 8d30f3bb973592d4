#include "worker/agent/agent.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "absl/strings/str_cat.h"
#include "common/ids.h"
#include "common/version.h"
#include "spdlog/spdlog.h"
#include "worker/agent/inspect.h"
#include "worker/host/block_devices.h"

namespace lockstep::worker {
namespace {

constexpr int64_t kHeartbeatNs = 1000000000;
constexpr int64_t kFirstPauseNs = 200000000;
constexpr int64_t kLongestPauseNs = 5000000000;

std::shared_ptr<grpc::Channel> Dial(const std::string& address, const std::shared_ptr<grpc::ChannelCredentials>& credentials) {
  grpc::ChannelArguments arguments;
  // A connection of its own for each stream, so that bulk never delays commands.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 200);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  return grpc::CreateCustomChannel(address, credentials, arguments);
}

}  // namespace

// One connection to one controller: both streams, and the threads that serve them.
class Agent::Session {
 public:
  Session(Agent* agent, const std::string& address)
      : agent_(agent),
        address_(address),
        control_channel_(Dial(address, agent->options_.credentials)),
        deliver_channel_(Dial(address, agent->options_.credentials)) {}

  // Until the controller is gone, or Cancel(). FAILED_PRECONDITION when it refused this worker.
  absl::Status Serve() {
    if (!control_channel_->WaitForConnected(std::chrono::system_clock::now() + std::chrono::seconds(2))) {
      return absl::UnavailableError(absl::StrCat("cannot reach the controller at ", address_));
    }
    auto stub = v1::WorkerService::NewStub(control_channel_);
    stream_ = stub->Control(&control_context_);
    v1::WorkerMessage hello;
    *hello.mutable_hello() = agent_->MakeHello();
    Send(hello);
    v1::ControllerMessage first;
    if (!stream_->Read(&first)) {
      return absl::UnavailableError(absl::StrCat(address_, ": ", stream_->Finish().error_message()));
    }
    if (first.has_refused()) {
      Cancel();
      stream_->Finish();
      const auto code = first.refused().retry() ? absl::StatusCode::kUnavailable : absl::StatusCode::kFailedPrecondition;
      return absl::Status(code, absl::StrCat("the controller at ", address_, " refuses this worker: ", first.refused().reason()));
    }
    spdlog::info("attached to the controller at {} (epoch {})", address_, first.epoch());
    // Epochs of different stores do not compare.
    if (first.welcome().store_id() != agent_->store_id_) agent_->epoch_ = 0;
    agent_->store_id_ = first.welcome().store_id();
    if (first.epoch() < agent_->epoch_) {
      Cancel();
      stream_->Finish();
      return absl::UnavailableError(absl::StrCat("the controller at ", address_, " (epoch ", first.epoch(), ") was replaced by one of epoch ", agent_->epoch_.load()));
    }
    agent_->epoch_ = first.epoch();
    if (!agent_->Publish(this)) {
      Cancel();
      stream_->Finish();
      return absl::OkStatus();
    }
    lease_ns_ = first.welcome().lease_ns() > 0 ? first.welcome().lease_ns() : 10 * kHeartbeatNs;
    heard_ns_ = agent_->clock_->MonotonicNs();
    std::thread heartbeat([this] { Heartbeat(); });
    std::thread deliver([this] { Deliver(); });
    v1::ControllerMessage message;
    while (stream_->Read(&message)) {
      const int64_t received = agent_->clock_->MonotonicNs();
      heard_ns_ = received;
      Handle(message, received);
    }
    over_ = true;
    agent_->Publish(nullptr);
    Cancel();
    heartbeat.join();
    deliver.join();
    const grpc::Status status = stream_->Finish();
    return absl::UnavailableError(absl::StrCat("the controller at ", address_, " is gone: ", status.error_message()));
  }

  void Send(const v1::WorkerMessage& message) {
    std::lock_guard<std::mutex> lock(write_mutex_);
    stream_->Write(message);
  }

  void Cancel() {
    over_ = true;
    control_context_.TryCancel();
    std::lock_guard<std::mutex> lock(deliver_mutex_);
    if (deliver_context_ != nullptr) deliver_context_->TryCancel();
  }

 private:
  void Handle(const v1::ControllerMessage& message, int64_t received_ns) {
    if (message.epoch() < agent_->epoch_) {
      return Report("warning", absl::StrCat("refused a command of the replaced controller of epoch ", message.epoch()));
    }
    agent_->epoch_ = message.epoch();
    switch (message.kind_case()) {
      case v1::ControllerMessage::kClockPing: {
        v1::WorkerMessage reply;
        reply.mutable_clock_reply()->set_id(message.clock_ping().id());
        reply.mutable_clock_reply()->set_received_ns(received_ns);
        reply.mutable_clock_reply()->set_replied_ns(agent_->clock_->MonotonicNs());
        return Send(reply);
      }
      case v1::ControllerMessage::kInspect: {
        v1::WorkerMessage reply;
        *reply.mutable_inspection() = InspectTargets(
            *agent_->guard_, message.inspect(), {agent_->options_.host.name(), message.inspect().worker_index()});
        return Send(reply);
      }
      case v1::ControllerMessage::kAssign: {
        const absl::Status status = agent_->runner_->Assign(message.assign());
        if (status.ok()) return;
        v1::WorkerMessage failed;
        *failed.mutable_phase_failed()->mutable_phase() = message.assign().phase();
        failed.mutable_phase_failed()->set_reason(std::string(status.message()));
        return Send(failed);
      }
      case v1::ControllerMessage::kGo: {
        const absl::Status status = agent_->runner_->Go(message.go());
        if (!status.ok()) Report("error", std::string(status.message()));
        return;
      }
      case v1::ControllerMessage::kStopAt:
        return agent_->runner_->StopAt(message.stop_at());
      case v1::ControllerMessage::kStopNow:
        return agent_->runner_->StopNow(message.stop_now().run_id());
      case v1::ControllerMessage::kRelease:
      case v1::ControllerMessage::kWelcome:
      case v1::ControllerMessage::kRefused:
      case v1::ControllerMessage::KIND_NOT_SET:
        return;
    }
  }

  void Report(const std::string& severity, const std::string& text) {
    spdlog::warn("{}", text);
    v1::WorkerMessage message;
    message.mutable_event()->set_severity(severity);
    message.mutable_event()->set_message(text);
    Send(message);
  }

  void Heartbeat() {
    while (!over_) {
      v1::WorkerMessage message;
      message.mutable_heartbeat()->set_epoch(agent_->epoch_);
      message.mutable_heartbeat()->set_wall_clock_ns(agent_->clock_->WallNs());
      Send(message);
      for (int i = 0; i < 10 && !over_; ++i) std::this_thread::sleep_for(std::chrono::nanoseconds(kHeartbeatNs / 10));
      if (agent_->clock_->MonotonicNs() - heard_ns_ > lease_ns_) {
        spdlog::warn("the controller has been silent for longer than the lease");
        Cancel();
      }
    }
  }

  // Delivers batches over a stream of its own until the session ends; a broken stream is opened again.
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
  std::mutex write_mutex_;
  std::mutex deliver_mutex_;
  grpc::ClientContext* deliver_context_ = nullptr;  // guarded by deliver_mutex_
  std::atomic<bool> over_{false};
  std::atomic<int64_t> heard_ns_{0};
  int64_t lease_ns_ = 0;
};

Agent::Agent(Options options, const Guard* guard, const common::Clock* clock)
    : options_(std::move(options)), guard_(guard), clock_(clock) {
  PhaseRunner::Callbacks callbacks;
  const auto send = [this](auto fill) {
    v1::WorkerMessage message;
    fill(&message);
    SendToSession(std::move(message));
  };
  callbacks.armed = [send](const v1::Armed& armed) { send([&](v1::WorkerMessage* m) { *m->mutable_armed() = armed; }); };
  callbacks.failed = [send](const v1::PhaseFailed& failed) {
    spdlog::error("phase {} of run {} failed: {}", failed.phase().phase(), failed.phase().run_id(), failed.reason());
    send([&](v1::WorkerMessage* m) { *m->mutable_phase_failed() = failed; });
  };
  callbacks.progress = [send](const v1::PhaseProgress& progress) {
    send([&](v1::WorkerMessage* m) { *m->mutable_progress() = progress; });
  };
  callbacks.sample = [this](const v1::PhaseId& phase, v1::IntervalSample sample) {
    v1::DeliveryItem item;
    *item.mutable_interval() = std::move(sample);
    outbox_.Add(phase, std::move(item));
  };
  callbacks.result = [this](const v1::PhaseId& phase, v1::PhaseResult result) {
    v1::DeliveryItem item;
    *item.mutable_result() = std::move(result);
    outbox_.Add(phase, std::move(item));
  };
  callbacks.report = [send](const std::string& severity, const std::string& text) {
    spdlog::warn("{}", text);
    send([&](v1::WorkerMessage* m) {
      m->mutable_event()->set_severity(severity);
      m->mutable_event()->set_message(text);
    });
  };
  runner_ = std::make_unique<PhaseRunner>(guard_, clock_, options_.host.name(), options_.mismatch_directory, std::move(callbacks));
}

Agent::~Agent() = default;

v1::Hello Agent::MakeHello() const {
  v1::Hello hello;
  hello.set_protocol_version(v1::PROTOCOL_VERSION_CURRENT);
  hello.set_software_version(common::kSoftwareVersion);
  hello.set_worker_id(options_.worker_id);
  *hello.mutable_host() = options_.host;
  for (v1::BlockDevice& device : ListBlockDevices()) *hello.add_devices() = std::move(device);
  for (const auto& [key, value] : options_.labels) (*hello.mutable_labels())[key] = value;
  for (const std::string& entry : guard_->allow()) hello.add_allow(entry);
  for (const std::string& entry : guard_->allow_expendable()) hello.add_allow_expendable(entry);
  return hello;
}

void Agent::SendToSession(v1::WorkerMessage message) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (session_ != nullptr) session_->Send(message);
}

bool Agent::Sleep(int64_t nanoseconds) {
  std::unique_lock<std::mutex> lock(mutex_);
  stop_changed_.wait_for(lock, std::chrono::nanoseconds(nanoseconds), [this] { return stopping_; });
  return !stopping_;
}

bool Agent::Publish(Session* session) {
  std::lock_guard<std::mutex> lock(mutex_);
  session_ = session;
  return !stopping_;
}

absl::Status Agent::Run() {
  int64_t pause = kFirstPauseNs;
  std::string said;
  for (size_t attempt = 0;; ++attempt) {
    Session session(this, options_.controllers[attempt % options_.controllers.size()]);
    {
      std::lock_guard<std::mutex> lock(mutex_);
      if (stopping_) return absl::OkStatus();
    }
    const int64_t before = clock_->MonotonicNs();
    const absl::Status status = session.Serve();
    {
      std::lock_guard<std::mutex> lock(mutex_);
      if (stopping_) return absl::OkStatus();
    }
    if (runner_->busy()) {
      spdlog::warn("ending I/O: the controller that commanded it is gone");
      runner_->StopNow("");
    }
    if (absl::IsFailedPrecondition(status)) return status;
    if (status.message() != said) spdlog::warn("{}; dialling again", std::string(status.message()));
    said = std::string(status.message());
    if (clock_->MonotonicNs() - before > kLongestPauseNs) pause = kFirstPauseNs;
    // Jitter, so that a fleet does not return in one instant.
    if (!Sleep(pause / 2 + static_cast<int64_t>(common::RandomSeed() % pause))) return absl::OkStatus();
    pause = std::min(pause * 2, kLongestPauseNs);
  }
}

void Agent::Stop() {
  runner_->StopNow("");
  std::lock_guard<std::mutex> lock(mutex_);
  stopping_ = true;
  stop_changed_.notify_all();
  if (session_ != nullptr) session_->Cancel();
}

}  // namespace lockstep::worker
