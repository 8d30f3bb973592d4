#include "worker/link/agent.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "absl/strings/str_cat.h"
#include "common/ids.h"
#include "common/limits.h"
#include "common/log.h"
#include "common/mutex.h"
#include "common/timing.h"
#include "common/version.h"
#include "proto/fields.h"
#include "proto/protocol_version.h"

namespace lockstep::worker {
namespace {

constexpr size_t kMaxListings = 16;
// For the record; `lockstep devices` asks for all.
constexpr auto kDevicesInHello = static_cast<size_t>(limits::kListItems);
constexpr int64_t kTickNs = 200 * timing::kMs;
// The write log is asked for again for so long where the connection is lost.
constexpr int64_t kWriteLogNs = 30 * timing::kSecond;

ConnectionKeeper::Options KeeperOptions(size_t controllers) {
  ConnectionKeeper::Options options;
  options.controllers = controllers;
  options.random = [] { return common::RandomSeed(); };
  return options;
}

// A list that is too long is cut here. The controller would refuse the message, and the worker
// could do nothing about it.
void LogCut(const std::string& cut) {
  if (!cut.empty()) log::Warn("what this worker tells of its host is cut: {}", cut);
}

// Adds the devices that a message may have.
void AddDevices(std::vector<v1::BlockDevice> from, size_t most,
                google::protobuf::RepeatedPtrField<v1::BlockDevice>* to) {
  size_t bytes = 0;
  for (v1::BlockDevice& device : from) {
    LogCut(v1::CutLists(&device));
    bytes += device.ByteSizeLong();
    if (bytes > static_cast<size_t>(limits::kDeviceListBytes)) {
      return LogCut(absl::StrCat("the devices from ", device.name(), " on are left out"));
    }
    if (static_cast<size_t>(to->size()) >= most) return;
    *to->Add() = std::move(device);
  }
}

}  // namespace

Agent::Agent(Options options, Parts parts, const common::Clock* clock)
    : options_(std::move(options)),
      parts_(std::move(parts)),
      clock_(clock),
      instance_id_(common::NewUuid()),
      outbox_(options_.outbox),
      keeper_(KeeperOptions(options_.controllers.size())) {
  Protocol::Ports ports;
  ports.outbox = &outbox_;
  ports.send = [this](const v1::WorkerMessage& message) { SendToSession(message); };
  ports.inspect = [this](const v1::Inspect& inspect) { Inspect(inspect); };
  ports.list_devices = [this](const v1::ListDevices& ask) { ListDevices(ask); };
  ports.stamp_devices = [this](const v1::StampDevices& orders) { StampDevices(orders); };
  ports.now = [this] { return clock_->MonotonicNs(); };
  PhaseCallbacks callbacks;
  callbacks.armed = [this](const v1::Armed& armed) { protocol_->OnArmed(armed); };
  callbacks.failed = [this](const v1::PhaseFailed& failed) { protocol_->OnFailed(failed); };
  callbacks.progress = [this](const v1::PhaseProgress& progress) {
    protocol_->OnProgress(progress);
  };
  callbacks.sample = [this](const v1::PhaseId& phase, v1::IntervalSample sample) {
    protocol_->OnSample(phase, std::move(sample));
  };
  callbacks.block_writes = [this](const v1::PhaseId& phase, const v1::BlockWrites& writes) {
    protocol_->OnBlockWrites(phase, writes);
  };
  callbacks.write_log = [this](const v1::WriteLogRequest& request, int64_t limit_ns,
                               const auto& take) {
    return FetchFromController(request, limit_ns, take);
  };
  callbacks.result = [this](const v1::PhaseId& phase, v1::PhaseResult result) {
    protocol_->OnResult(phase, std::move(result));
  };
  callbacks.report = [this](measure::Severity severity, const std::string& text) {
    log::Warn("{}", text);
    protocol_->OnReport(severity, text);
  };
  // The callbacks use protocol_, which is made after this. None comes before an assignment, and
  // assignments come from the protocol.
  executor_ = parts_.make_executor(std::move(callbacks));
  ports.executor = executor_.get();
  protocol_ = std::make_unique<Protocol>(std::move(ports));
}

Agent::~Agent() = default;

v1::Hello Agent::MakeHello() const {
  v1::Hello hello;
  v1::SetOffer(v1::OwnProtocol(), &hello);
  hello.set_software_version(common::kSoftwareVersion);
  hello.set_worker_id(options_.worker_id);
  // By this the controller tells a connection that was lost from a process that was replaced.
  hello.set_instance_id(instance_id_);
  hello.set_mark_key(options_.mark_key);
  *hello.mutable_host() = options_.host;
  // No device is opened on the way to a connection.
  AddDevices(parts_.list_devices(), kDevicesInHello, hello.mutable_devices());
  for (const auto& [key, value] : options_.labels) (*hello.mutable_labels())[key] = value;
  for (const std::string& entry : options_.allow) hello.add_allow(entry);
  for (const std::string& entry : options_.allow_expendable) hello.add_allow_expendable(entry);
  hello.set_allow_enroll(options_.allow_enroll);
  LogCut(v1::CutLists(&hello));
  return hello;
}

// Inspections have a thread of their own: thousands of files on slow storage must not keep pings
// and stops waiting.
void Agent::Inspect(const v1::Inspect& inspect) {
  common::MutexLock lock(&mutex_);
  if (stopping_) return;
  // The question comes again where the connection was lost in between.
  for (const v1::Inspect& asked : inspections_) {
    if (asked.run_id() == inspect.run_id()) return;
  }
  if (inspections_.size() >= static_cast<size_t>(limits::kInspectionsWaiting)) return;
  inspections_.push_back(inspect);
  stop_changed_.NotifyAll();
}

void Agent::ListDevices(const v1::ListDevices& ask) {
  common::MutexLock lock(&mutex_);
  // A question that is dropped gets no answer: the controller waits for kDevicesAnswerNs and goes
  // on.
  if (stopping_ || listings_.size() + kernel_listings_.size() >= kMaxListings) return;
  (ask.kernel_only() ? kernel_listings_ : listings_).push_back(ask.id());
  stop_changed_.NotifyAll();
}

void Agent::ListMain(std::deque<uint64_t>* listings,
                     const std::function<std::vector<v1::BlockDevice>()>& list) {
  while (true) {
    v1::WorkerMessage reply;
    {
      common::MutexLock lock(&mutex_);
      stop_changed_.Wait(&lock, [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
        return stopping_ || !listings->empty();
      });
      if (stopping_) return;
      reply.mutable_devices()->set_id(listings->front());
      listings->pop_front();
    }
    AddDevices(list(), static_cast<size_t>(limits::kDevicesOfAHost),
               reply.mutable_devices()->mutable_devices());
    SendToSession(reply);
  }
}

void Agent::StampDevices(const v1::StampDevices& orders) {
  common::MutexLock lock(&mutex_);
  if (stopping_ || stamps_.size() >= static_cast<size_t>(limits::kStampsWaiting)) return;
  stamps_.push_back(orders);
  stop_changed_.NotifyAll();
}

void Agent::StampMain() {
  while (true) {
    v1::StampDevices orders;
    {
      common::MutexLock lock(&mutex_);
      stop_changed_.Wait(&lock, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
        return stopping_ || !stamps_.empty();
      });
      if (stopping_) return;
      orders = std::move(stamps_.front());
      stamps_.pop_front();
    }
    if (const std::string wrong = v1::FirstProblem(orders); !wrong.empty()) {
      log::Error("the controller sent an invalid StampDevices: {}", wrong);
      continue;
    }
    v1::WorkerMessage reply;
    *reply.mutable_stamps() = parts_.stamp(orders);
    for (int i = 0; i < orders.orders_size(); ++i) {
      const v1::StampOrder& order = orders.orders(i);
      // The host's own log names who had its devices stamped, whatever becomes of the controller's
      // audit log.
      const std::string& refused = reply.stamps().refused(i);
      log::Info("{} {} for {}: {}", order.release() ? "release" : "enrol", order.path(),
                orders.enrolled_by(), refused.empty() ? "done" : refused);
    }
    SendToSession(reply);
  }
}

void Agent::InspectMain() {
  while (true) {
    v1::Inspect inspect;
    {
      common::MutexLock lock(&mutex_);
      stop_changed_.Wait(&lock, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
        return stopping_ || !inspections_.empty();
      });
      if (stopping_) return;
      // The question stays in the queue until it is answered, so that Inspect() recognises it.
      inspect = inspections_.front();
    }
    if (const std::string wrong = v1::FirstProblem(inspect); !wrong.empty()) {
      log::Error("the controller sent an invalid Inspect: {}", wrong);
      common::MutexLock lock(&mutex_);
      inspections_.pop_front();
      continue;
    }
    v1::WorkerMessage reply;
    *reply.mutable_inspection() = parts_.inspect(inspect);
    {
      common::MutexLock lock(&mutex_);
      inspections_.pop_front();
    }
    SendToSession(reply);
  }
}

// A part that comes twice changes nothing: the ledger keeps the later generation.
absl::Status Agent::FetchFromController(
    const v1::WriteLogRequest& request, int64_t limit_ns,
    const std::function<absl::Status(const v1::WriteLogPart&)>& take) {
  const int64_t end = clock_->MonotonicNs() + limit_ns;
  const int64_t until = std::min(clock_->MonotonicNs() + kWriteLogNs, end);
  absl::Status status = absl::UnavailableError("no controller is there");
  do {
    std::shared_ptr<Session> session;
    {
      common::MutexLock lock(&mutex_);
      session = session_;
    }
    if (session != nullptr)
      status = session->Fetch(request, std::max<int64_t>(1, end - clock_->MonotonicNs()), take);
    // Any other error is the controller's answer, and would come again.
    if (!absl::IsUnavailable(status)) return status;
  } while (clock_->MonotonicNs() < until && Sleep(kTickNs));
  return absl::Status(status.code(), absl::StrCat("the write log cannot be loaded: ",
                                                  std::string(status.message())));
}

void Agent::SendToSession(const v1::WorkerMessage& message) {
  std::shared_ptr<Session> session;
  {
    common::MutexLock lock(&mutex_);
    session = session_;
  }
  if (session != nullptr) session->Send(message);
}

bool Agent::Sleep(int64_t nanoseconds) {
  common::MutexLock lock(&mutex_);
  stop_changed_.WaitFor(&lock, std::chrono::nanoseconds(nanoseconds),
                        [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return stopping_; });
  return !stopping_;
}

bool Agent::Publish(std::shared_ptr<Session> session) {
  // stopping_ and session_ have one lock: either Stop() finds this session and cancels it, or this
  // sees that the agent is stopping.
  common::MutexLock lock(&mutex_);
  session_ = std::move(session);
  return !stopping_;
}

// Phases end by this where no controller says so.
void Agent::TickMain() {
  int64_t attached_ns = clock_->MonotonicNs();
  while (Sleep(kTickNs)) {
    protocol_->Tick();
    const int64_t now = clock_->MonotonicNs();
    if (keeper_.attached()) attached_ns = now;
    if (options_.max_alone_ns == 0 || now - attached_ns <= options_.max_alone_ns) continue;
    // Nobody can tell this worker to end any more. Its undelivered measurements are lost with it.
    log::Warn("no controller for {} s: this worker ends; {} messages are not delivered",
              (now - attached_ns) / timing::kSecond, outbox_.uncommitted());
    return Stop();
  }
}

absl::Status Agent::Run() {
  std::thread tick([this] { TickMain(); });
  std::thread inspect([this] { InspectMain(); });
  // A device that does not answer must not delay the list that comes from the kernel alone.
  std::thread list([this] { ListMain(&listings_, parts_.inspect_devices); });
  std::thread stamp([this] { StampMain(); });
  std::thread list_kernel([this] { ListMain(&kernel_listings_, parts_.list_devices); });
  // Serve() also returns without Stop(), when a controller refuses this worker. The other threads
  // must end then, too.
  const absl::Status status = Serve();
  {
    common::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  stop_changed_.NotifyAll();
  tick.join();
  inspect.join();
  list.join();
  stamp.join();
  list_kernel.join();
  return status;
}

absl::Status Agent::Serve() {
  std::string said;
  while (true) {
    if (!Sleep(keeper_.dial_at_ns() - clock_->MonotonicNs())) return absl::OkStatus();
    Session::Ports ports;
    ports.keeper = &keeper_;
    ports.protocol = protocol_.get();
    ports.outbox = &outbox_;
    ports.clock = clock_;
    ports.hello = [this] { return MakeHello(); };
    ports.credentials = options_.credentials();
    ports.tls = options_.tls;
    ports.server_name = options_.server_name;
    ports.worker_id = options_.worker_id;
    ports.welcomed = parts_.welcomed;
    const size_t controller = keeper_.Dial(clock_->MonotonicNs());
    const auto session =
        std::make_shared<Session>(std::move(ports), options_.controllers[controller]);
    // The session is published before it dials, so that Stop() can cancel it.
    if (!Publish(session)) return absl::OkStatus();
    const absl::Status status = session->Serve();
    keeper_.Closed(clock_->MonotonicNs());
    if (!Publish(nullptr)) return absl::OkStatus();
    // The controller refuses this worker for good. To dial again would only repeat the refusal: the
    // process ends with the reason.
    if (absl::IsFailedPrecondition(status)) return status;
    // A controller that is unavailable for hours must not fill the log with one line for each
    // attempt.
    if (status.message() != said) log::Warn("{}; dialling again", std::string(status.message()));
    said = std::string(status.message());
  }
}

void Agent::Stop() {
  // The I/O ends first: the connection may hang for longer.
  executor_->StopNow("");
  std::shared_ptr<Session> session;
  {
    common::MutexLock lock(&mutex_);
    stopping_ = true;
    session = session_;
  }
  stop_changed_.NotifyAll();
  if (session != nullptr) session->Cancel();
}

}  // namespace lockstep::worker
