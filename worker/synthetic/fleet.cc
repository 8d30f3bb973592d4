#include "worker/synthetic/fleet.h"

#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <map>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/ids.h"
#include "common/log.h"
#include "common/mutex.h"
#include "common/timing.h"
#include "common/version.h"
#include "proto/protocol_version.h"
#include "proto/worker.grpc.pb.h"
#include "worker/link/connection_keeper.h"
#include "worker/link/handshake.h"
#include "worker/link/protocol.h"
#include "worker/link/session.h"
#include "worker/synthetic/executor.h"
#include "worker/synthetic/queued_call.h"
#include "worker/synthetic/timers.h"

namespace lockstep::worker {
namespace {

using timing::kSecond;
// The memory that all members together may use for a controller that is unavailable, and the
// batches of one member that may wait to be written.
constexpr size_t kMemoryBytes = size_t{1} << 30;
constexpr size_t kBatchesAhead = 4;
constexpr int64_t kTickNs = 500 * timing::kMs;
using ControlCall = QueuedCall<v1::WorkerMessage, v1::ControllerMessage>;
using DeliverCall = QueuedCall<v1::Delivery, v1::DeliveryAck>;

// Identities follow from the name, so that a fleet that is started again is the same workers to the
// controller, as real ones are.
std::string StableUuid(uint64_t seed, uint64_t position) {
  const uint64_t a = common::DeriveSeed(seed, position);
  const uint64_t b = common::DeriveSeed(a, 1);
  return absl::StrFormat("%08x-%04x-4%03x-8%03x-%012x", a >> 32, (a >> 16) & 0xffff, a & 0xfff,
                         b >> 52, b & 0xffffffffffff);
}

ConnectionKeeper::Options KeeperOptions(size_t controllers, uint32_t number) {
  ConnectionKeeper::Options options;
  options.controllers = controllers;
  options.first = number % controllers;
  // Replies to clock pings show that the members live: few heartbeats do.
  options.heartbeat_ns = timing::kSparseHeartbeatNs;
  options.random = [] { return common::RandomSeed(); };
  return options;
}

}  // namespace

class SyntheticFleet::Impl {
 public:
  Impl(Options options, const common::Clock* clock)
      : options_(std::move(options)), clock_(clock), timers_(clock) {
    for (const uint64_t iops : options_.iops) {
      models_.push_back(std::make_unique<LatencyModel>(iops, iops));
    }
  }

  absl::Status Run();
  void Stop() {
    common::MutexLock lock(&mutex_);
    stopping_ = true;
    changed_.NotifyAll();
  }
  void Refused(const absl::Status& status) {
    common::MutexLock lock(&mutex_);
    refused_ = status;
    stopping_ = true;
    changed_.NotifyAll();
  }

  const Options options_;
  const common::Clock* clock_;
  std::vector<std::unique_ptr<LatencyModel>> models_;
  common::Mutex mutex_;
  common::Condition changed_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status refused_ ABSL_GUARDED_BY(mutex_);
  // When each worker heard its go: of the phase that is beginning.
  void HeardGo(int64_t at_ns) {
    common::MutexLock lock(&go_mutex_);
    if (go_count_ == 0 || at_ns - last_go_ns_ > 2 * kSecond) go_count_ = 0, first_go_ns_ = at_ns;
    last_go_ns_ = at_ns;
    if (++go_count_ == options_.workers) {
      log::Info("go reached all {} within {:.1f} ms", go_count_,
                static_cast<double>(last_go_ns_ - first_go_ns_) / 1e6);
    }
  }
  common::Mutex go_mutex_;
  uint32_t go_count_ ABSL_GUARDED_BY(go_mutex_) = 0;
  int64_t first_go_ns_ ABSL_GUARDED_BY(go_mutex_) = 0;
  int64_t last_go_ns_ ABSL_GUARDED_BY(go_mutex_) = 0;
  std::atomic<uint32_t> attached_{0};
  class Member;
  std::vector<std::shared_ptr<Member>> members_;
  Timers timers_;  // last: its calls use what is above
};

// One synthetic worker.
class SyntheticFleet::Impl::Member
    : public std::enable_shared_from_this<SyntheticFleet::Impl::Member> {
 public:
  Member(Impl* fleet, uint32_t number)
      : fleet_(fleet),
        number_(number),
        seed_(std::hash<std::string>{}(fleet->options_.name)),
        instance_(common::NewUuid()),
        outbox_({std::max<size_t>(kMemoryBytes / fleet->options_.workers, 256 << 10), "", 0}),
        keeper_(KeeperOptions(fleet->options_.controllers.size(), number)) {
    SyntheticExecutor::Ports executor;
    executor.at = [this](int64_t at, std::function<void()> call) {
      fleet_->timers_.At(at, std::move(call));
    };
    executor.armed = [this](const v1::Armed& armed) {
      // The answer must not come on the stack of Assign(), while the protocol is still taking the
      // assignment in.
      fleet_->timers_.At(fleet_->clock_->MonotonicNs(),
                         [this, armed] { protocol_->OnArmed(armed); });
    };
    executor.sample = [this](const v1::PhaseId& phase, v1::IntervalSample sample) {
      protocol_->OnSample(phase, std::move(sample));
      Pump();
    };
    executor.result = [this](const v1::PhaseId& phase, v1::PhaseResult result) {
      protocol_->OnResult(phase, std::move(result));
      Pump();
    };
    executor.clock = fleet->clock_;
    executor_ = std::make_unique<SyntheticExecutor>(
        std::move(executor), fleet->models_[number % fleet->models_.size()].get(), number);
    Protocol::Ports ports;
    ports.executor = executor_.get();
    ports.outbox = &outbox_;
    ports.send = [this](const v1::WorkerMessage& message) {
      common::MutexLock lock(&mutex_);
      if (control_ != nullptr && keeper_.attached()) control_->Send(message);
    };
    ports.inspect = [this](const v1::Inspect& inspect) { Answer(inspect); };
    ports.now = [this] { return fleet_->clock_->MonotonicNs(); };
    protocol_ = std::make_unique<Protocol>(std::move(ports));
  }

  void Begin() {
    // The members begin over half a second, so that they do not send in one instant.
    const int64_t now = fleet_->clock_->MonotonicNs();
    fleet_->timers_.At(now + static_cast<int64_t>(common::DeriveSeed(number_, 7) % 500000000),
                       [self = shared_from_this()] { self->DialNext(); });
    fleet_->timers_.At(now + static_cast<int64_t>(common::DeriveSeed(number_, 8) % kTickNs),
                       [self = shared_from_this()] { self->Tick(); });
  }

  void Drop() {
    common::MutexLock lock(&mutex_);
    over_ = true;
    if (control_ != nullptr) control_->End();
    if (deliver_ != nullptr) deliver_->End();
  }
  bool Idle() {
    common::MutexLock lock(&mutex_);
    return control_ == nullptr && deliver_ == nullptr;
  }

 private:
  std::string Name() const {
    return absl::StrFormat("%s-%04u", fleet_->options_.name, number_ + 1);
  }

  v1::Hello Hello() const {
    v1::Hello hello;
    v1::ProtocolOffer offer = v1::OwnProtocol();
    offer.features.erase(v1::PROTOCOL_FEATURE_STAMPS);  // it has no devices
    v1::SetOffer(offer, &hello);
    hello.set_software_version(common::kSoftwareVersion);
    // Even positions are workers and odd ones hosts, so that no two identities of a fleet are
    // equal.
    hello.set_worker_id(StableUuid(seed_, uint64_t{2} * number_));
    hello.set_instance_id(instance_);
    hello.mutable_host()->set_host_id(StableUuid(seed_, 2 * number_ + 1));
    hello.mutable_host()->set_name(Name());
    hello.mutable_host()->set_boot_id(absl::StrCat("synthetic-", Name()));
    hello.mutable_host()->set_kernel("synthetic");
    hello.mutable_host()->set_cpus(1);
    (*hello.mutable_labels())["synthetic"] = "yes";
    hello.add_allow("(synthetic: opens nothing)");
    return hello;
  }

  Handshake::Ports HandshakePorts() {
    Handshake::Ports ports;
    ports.keeper = &keeper_;
    ports.protocol = protocol_.get();
    ports.welcomed = [this](const v1::ControllerMessage& message) {
      ++fleet_->attached_;
      common::MutexLock lock(&mutex_);
      welcome_ = message.welcome();
      OpenDeliverLocked();
    };
    ports.rejected = [this](const std::string& reason) {
      log::Warn("{} is sent away: {}", Name(), reason);
    };
    return ports;
  }

  // A worker that opens nothing accepts every target. Its byte ranges are its own: no two workers
  // write to the same bytes.
  void Answer(const v1::Inspect& inspect) {
    v1::WorkerMessage message;
    v1::Inspection& inspection = *message.mutable_inspection();
    inspection.set_run_id(inspect.run_id());
    for (int t = 0; t < inspect.targets_size(); ++t) {
      v1::TargetInspection* target = inspection.add_targets();
      target->set_target(static_cast<uint32_t>(t));
      target->add_paths("synthetic");
      target->set_filesystem("synthetic");
      target->set_size_bytes(uint64_t{1} << 40);
      // The controller compares the ranges of all workers, and equal ones would look like a shared
      // file. They are derived from the name, which no other member has.
      const uint64_t thing = common::DeriveSeed(std::hash<std::string>{}(Name()), t);
      for (int byte = 0; byte < 8; ++byte) {
        target->mutable_file_ranges()->push_back(static_cast<char>(thing >> (8 * byte)));
      }
    }
    for (int i = 0; i < inspect.observes_size(); ++i) {
      inspection.add_observed()->set_refused(
          "a synthetic worker (--simulate) has no devices to observe");
    }
    inspection.set_synthetic(true);
    (*inspection.mutable_facts())["synthetic"] = "this worker does no I/O: its figures are made up";
    common::MutexLock lock(&mutex_);
    if (control_ != nullptr && keeper_.attached()) control_->Send(std::move(message));
  }

  void DialNext() {
    common::MutexLock lock(&mutex_);
    if (over_ || control_ != nullptr) return;
    address_ = fleet_->options_.controllers[keeper_.Dial(fleet_->clock_->MonotonicNs())];
    control_channel_ = DialController(address_, fleet_->options_.credentials,
                                      fleet_->options_.server_name, Keepalive::kOff);
    control_stub_ = v1::WorkerService::NewStub(control_channel_);
    const auto self = shared_from_this();
    control_ = std::make_unique<ControlCall>(
        [self](const v1::ControllerMessage& m) { self->OnControl(m); },
        [self](const grpc::Status&) {
          // OnDone() runs in the call, which OnControlEnd() destroys.
          self->fleet_->timers_.At(0, [self] { self->OnControlEnd(); });
        });
    control_stub_->async()->Control(control_->context(), control_.get());
    handshake_ = std::make_unique<Handshake>(HandshakePorts());
    control_->Begin();
    control_->Send(handshake_->Hello(Hello()));
  }

  void OnControl(const v1::ControllerMessage& message) {
    const int64_t received = fleet_->clock_->MonotonicNs();
    if (message.has_go()) fleet_->HeardGo(received);
    const absl::Status status = handshake_->OnMessage(message, received);
    if (status.ok()) return Pump();
    if (absl::IsFailedPrecondition(status)) {
      fleet_->Refused(absl::Status(status.code(), absl::StrCat("the controller at ", address_, ": ",
                                                               std::string(status.message()))));
    }
    log::Warn("{}: {}", Name(), std::string(status.message()));
    common::MutexLock lock(&mutex_);
    control_->End();
  }

  void OpenDeliverLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    // Without a welcome there is no session that the stream could name. The next welcome opens it.
    if (deliver_ != nullptr || over_ || !keeper_.attached()) return;
    deliver_channel_ = DialController(address_, fleet_->options_.credentials,
                                      fleet_->options_.server_name, Keepalive::kOn);
    deliver_stub_ = v1::WorkerService::NewStub(deliver_channel_);
    const auto self = shared_from_this();
    deliver_ = std::make_unique<DeliverCall>(
        [self](const v1::DeliveryAck& ack) {
          const std::string refused = self->outbox_.OnAck(ack);
          if (!refused.empty()) {
            log::Warn("{}: samples were not taken: {}", self->Name(), refused);
          }
          self->Pump();
        },
        [self](const grpc::Status&) {
          self->fleet_->timers_.At(0, [self] { self->OnDeliverEnd(); });
        });
    deliver_stub_->async()->Deliver(deliver_->context(), deliver_.get());
    // Batches that the last stream took may never have arrived.
    outbox_.Rewind();
    deliver_->Begin();
    deliver_->Send(DeliverHello(StableUuid(seed_, uint64_t{2} * number_), welcome_));
  }

  // Sends the batches that are not delivered yet.
  void Pump() {
    common::MutexLock lock(&mutex_);
    if (deliver_ == nullptr) return;
    while (deliver_->waiting() < kBatchesAhead) {  // an acknowledgement brings the next
      // This runs on threads of gRPC, which must not wait.
      auto batch = outbox_.NextBatch(0);
      if (!batch) return;
      v1::Delivery delivery;
      *delivery.mutable_batch() = *std::move(batch);
      deliver_->Send(std::move(delivery));
    }
  }

  void OnControlEnd() {
    common::MutexLock lock(&mutex_);
    // The keeper is asked before Closed(), after which it is no longer attached.
    if (keeper_.attached()) --fleet_->attached_;
    control_.reset();
    keeper_.Closed(fleet_->clock_->MonotonicNs());
    if (deliver_ != nullptr) deliver_->End();
    if (over_) return;
    fleet_->timers_.At(keeper_.dial_at_ns(), [self = shared_from_this()] { self->DialNext(); });
  }

  void OnDeliverEnd() {
    common::MutexLock lock(&mutex_);
    deliver_.reset();
    fleet_->timers_.At(fleet_->clock_->MonotonicNs() + timing::kFirstPauseNs,
                       [self = shared_from_this()] {
                         {
                           common::MutexLock again(&self->mutex_);
                           self->OpenDeliverLocked();
                         }
                         self->Pump();
                       });
  }

  void Tick() {
    protocol_->Tick();
    const int64_t now = fleet_->clock_->MonotonicNs();
    {
      common::MutexLock lock(&mutex_);
      if (over_) return;
      if (control_ != nullptr && keeper_.IsSilent(now)) control_->End();
      if (control_ != nullptr && keeper_.TakeHeartbeat(now)) {
        v1::WorkerMessage heartbeat;
        heartbeat.mutable_heartbeat()->set_epoch(protocol_->epoch());
        heartbeat.mutable_heartbeat()->set_wall_clock_ns(fleet_->clock_->WallNs());
        control_->Send(std::move(heartbeat));
      }
    }
    fleet_->timers_.At(now + kTickNs, [self = shared_from_this()] { self->Tick(); });
  }

  Impl* fleet_;
  const uint32_t number_;
  const uint64_t seed_;
  const std::string instance_;
  Outbox outbox_;
  std::unique_ptr<SyntheticExecutor> executor_;
  std::unique_ptr<Protocol> protocol_;
  common::Mutex mutex_;
  std::string address_;
  std::shared_ptr<grpc::Channel> control_channel_, deliver_channel_;
  std::unique_ptr<v1::WorkerService::Stub> control_stub_, deliver_stub_;
  std::unique_ptr<ControlCall> control_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<DeliverCall> deliver_ ABSL_GUARDED_BY(mutex_);
  v1::Welcome welcome_ ABSL_GUARDED_BY(mutex_);
  ConnectionKeeper keeper_;
  std::unique_ptr<Handshake> handshake_;  // of control_; the reader's own once that has begun
  bool over_ ABSL_GUARDED_BY(mutex_) = false;
};

absl::Status SyntheticFleet::Impl::Run() {
  rlimit files;
  // Each member has two connections.
  const rlim_t needed = 2 * rlim_t{options_.workers} + 64;
  // A process may raise its soft limit up to the hard one without privileges (getrlimit(2)).
  if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < needed) {
    files.rlim_cur = std::min(needed, files.rlim_max);
    setrlimit(RLIMIT_NOFILE, &files);
    if (files.rlim_cur < needed) {
      return absl::FailedPreconditionError(absl::StrCat(
          "--simulate ", options_.workers, ": needs ", needed, " open files, ", files.rlim_max,
          " are allowed; raise the limit (ulimit -n), or start several"));
    }
  }
  for (uint32_t i = 0; i < options_.workers; ++i) {
    members_.push_back(std::make_shared<Member>(this, i));
  }
  for (const auto& member : members_) member->Begin();
  uint32_t said = 0;
  common::MutexLock lock(&mutex_);
  while (!stopping_) {
    changed_.WaitFor(&lock, std::chrono::seconds(1));
    const uint32_t attached = attached_;
    if (attached != said) {
      log::Info("{} of {} synthetic workers are attached", attached, options_.workers);
    }
    said = attached;
  }
  lock.Unlock();
  for (const auto& member : members_) member->Drop();
  // gRPC still calls members back on threads of its own. They are waited for, at most 2 s.
  for (int i = 0; i < 200 && !std::all_of(members_.begin(), members_.end(),
                                          [](const auto& member) { return member->Idle(); });
       ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  // No timer may call a member that is destroyed.
  timers_.Stop();
  lock.Lock();
  return refused_;
}

SyntheticFleet::SyntheticFleet(Options options, const common::Clock* clock)
    : impl_(std::make_unique<Impl>(std::move(options), clock)) {}
SyntheticFleet::~SyntheticFleet() = default;
absl::Status SyntheticFleet::Run() { return impl_->Run(); }
void SyntheticFleet::Stop() { impl_->Stop(); }

}  // namespace lockstep::worker
