#include "tests/simulation/nodes.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "measure/operation_stats.h"

namespace lockstep::simulation {
namespace {

constexpr int64_t kMs = 1000000;
constexpr int64_t kSecond = 1000 * kMs;
constexpr int64_t kLease = 5 * kSecond;

// When a packet sent now arrives, after the one before it.
int64_t Arrival(World* world, const Connection& connection, int64_t* last) {
  int64_t delay = connection.base_delay + world->Between(20000, 400000);
  if (world->Chance(0.02)) delay += world->Between(0, 300 * kMs);
  if (world->Chance(0.001)) delay += world->Between(0, 3 * kSecond);
  *last = std::max(*last + 1, world->now() + delay);
  return *last;
}

}  // namespace

// -------------------------------------------------------------------------------------------------
// the controller

class Controller::SimLoop final : public controller::Loop {
 public:
  explicit SimLoop(Controller* owner) : owner_(owner) {}
  void Post(std::function<void()> call) override { owner_->Do(0, std::move(call)); }
  void After(int64_t after_ns, std::function<void()> call) override {
    owner_->Do(after_ns, std::move(call));
  }
  void Persist(std::function<absl::Status()> work,
               std::function<void(const absl::Status&)> then) override {
    works_.push_back({std::move(work), std::move(then)});
    if (works_.size() == 1) Next(owner_->world_->Between(200000, 8 * kMs));
  }

  void Apart(std::function<absl::Status()> work,
             std::function<void(const absl::Status&)> then) override {
    Persist(std::move(work), std::move(then));
  }

 private:
  void Next(int64_t after_ns) {
    owner_->Do(after_ns, [this] {
      const absl::Status status = works_.front().first();
      if (absl::IsUnavailable(status)) return Next(500 * kMs);
      if (absl::IsAborted(status)) {
        owner_->world_->Note(absl::StrCat("controller ", owner_->place_, " is fenced"));
        return owner_->Kill();
      }
      auto then = std::move(works_.front().second);
      works_.pop_front();
      if (!works_.empty()) Next(owner_->world_->Between(200000, 8 * kMs));
      Post([then, status] { then(status); });
    });
  }
  Controller* owner_;
  std::deque<std::pair<std::function<absl::Status()>, std::function<void(const absl::Status&)>>>
      works_;
};

class Controller::SimFleet final : public controller::FleetLink {
 public:
  SimFleet(Controller* owner, uint64_t epoch) : owner_(owner), epoch_(epoch), roster_(kLease) {}

  bool Send(const std::string& worker_id, v1::ControllerMessage message) override {
    const auto found = members_.find(worker_id);
    if (found == members_.end() || found->second.connection == nullptr) return false;
    message.set_epoch(epoch_);
    Down(found->second.connection, std::move(message));
    return true;
  }
  void PingBurst(const std::vector<std::string>& ids) override {
    for (const std::string& id : ids) {
      for (int i = 0; i < 3; ++i) owner_->Do(i * 4 * kMs, [this, id] { Ping(id); });
    }
  }
  controller::ClockEstimator::Estimate ClockAt(const std::string& worker_id,
                                               int64_t at_ns) const override {
    const auto found = members_.find(worker_id);
    return found == members_.end() ? controller::ClockEstimator::Estimate()
                                   : found->second.estimator.At(at_ns);
  }
  std::vector<v1::Hello> Hellos() const override {
    std::vector<v1::Hello> hellos;
    for (const auto& [id, member] : members_) {
      if (member.connection != nullptr) hellos.push_back(member.hello);
    }
    return hellos;
  }
  int64_t WallDifferenceNs(const std::string&) const override { return 0; }
  int64_t lease_ns() const override { return kLease; }

  void Down(const std::shared_ptr<Connection>& c, v1::ControllerMessage message) {
    World* world = owner_->world_;
    world->At(Arrival(world, *c, &c->last_down), [world, c, message = std::move(message)] {
      if (c->open) world->workers[static_cast<size_t>(c->worker)]->OnCommand(c, message);
    });
  }
  void Refuse(const std::shared_ptr<Connection>& c, const absl::Status& status) {
    v1::ControllerMessage message;
    message.set_epoch(epoch_);
    message.mutable_refused()->set_reason(std::string(status.message()));
    message.mutable_refused()->set_retry(absl::IsUnavailable(status));
    Down(c, std::move(message));
  }
  void Hello(const std::shared_ptr<Connection>& c, const v1::Hello& hello) {
    const auto admission =
        roster_.Attach({hello.worker_id(), hello.instance_id(), hello.host().host_id(),
                        hello.host().name(), hello.host().boot_id()},
                       owner_->clock_->MonotonicNs());
    if (!admission.ok()) return Refuse(c, admission.status());
    Member& member = members_[hello.worker_id()];
    if (!admission->resumed) member.estimator = {};
    member.pings.clear();
    member.hello = hello;
    member.connection = c;
    c->attached = true;
    v1::ControllerMessage welcome;
    welcome.set_epoch(epoch_);
    welcome.mutable_welcome()->set_store_id("store");
    welcome.mutable_welcome()->set_lease_ns(kLease);
    Down(c, std::move(welcome));
    if (admission->replaced_process) {
      owner_->world_->GivenUp(hello.worker_id());
      owner_->coordinator_->OnLost(hello.worker_id(), "its process ended");
    }
    owner_->coordinator_->OnAttached(hello);
    PingBurst({hello.worker_id()});
  }
  void Message(const std::shared_ptr<Connection>& c, const v1::WorkerMessage& message) {
    for (auto& [id, member] : members_) {
      if (member.connection != c) continue;
      const int64_t now = owner_->clock_->MonotonicNs();
      roster_.Heard(id, now);
      if (message.has_clock_reply()) {
        const auto sent = member.pings.find(message.clock_reply().id());
        if (sent == member.pings.end()) return;
        member.estimator.Add(sent->second, message.clock_reply().received_ns(),
                             message.clock_reply().replied_ns(), now);
        member.pings.erase(sent);
        return;
      }
      if (message.has_heartbeat()) return;
      return owner_->coordinator_->OnMessage(id, message);
    }
  }
  void Closed(const std::shared_ptr<Connection>& c) {
    for (auto& [id, member] : members_) {
      if (member.connection != c) continue;
      member.connection = nullptr;
      roster_.Disconnected(id);
    }
  }
  void Tick() {
    for (const auto& gone : roster_.Expire(owner_->clock_->MonotonicNs())) {
      owner_->world_->Note(absl::StrCat("controller ", owner_->place_, " gives up worker ",
                                        gone.worker_id.substr(0, 4), ": ", gone.reason));
      members_.erase(gone.worker_id);
      owner_->world_->GivenUp(gone.worker_id);
      owner_->coordinator_->OnLost(gone.worker_id, gone.reason);
    }
    for (const auto& [id, member] : members_) Ping(id);
    owner_->Do(kSecond, [this] { Tick(); });
  }
  bool Attached(const std::string& id) const { return roster_.Has(id); }

 private:
  struct Member {
    v1::Hello hello;
    std::shared_ptr<Connection> connection;
    controller::ClockEstimator estimator;
    std::map<uint64_t, int64_t> pings;
  };
  void Ping(const std::string& id) {
    const auto found = members_.find(id);
    if (found == members_.end() || found->second.connection == nullptr) return;
    v1::ControllerMessage ping;
    ping.set_epoch(epoch_);
    ping.mutable_clock_ping()->set_id(++pings_);
    found->second.pings[pings_] = owner_->clock_->MonotonicNs();
    Down(found->second.connection, std::move(ping));
  }
  Controller* owner_;
  const uint64_t epoch_;
  controller::Roster roster_;
  std::map<std::string, Member> members_;
  uint64_t pings_ = 0;
};

Controller::Controller(World* world, int place) : world_(world), place_(place) {}
Controller::~Controller() { Kill(); }

bool Controller::paused() const { return world_->now() < paused_until_; }

void Controller::Do(int64_t after_ns, std::function<void()> call) {
  world_->In(after_ns + world_->Between(0, 30000),
             [this, life = life_, call = std::move(call)]() mutable {
               if (life_ != life || !running()) return;
               if (paused()) return Do(paused_until_ - world_->now(), std::move(call));
               call();
             });
}

bool Controller::Start() {
  ++life_;
  paused_until_ = 0;
  store_ = std::make_unique<storage::MemoryStore>(&world_->database(), world_->guards());
  store_->set_fate([this](bool changing) { return world_->StoreFate(place_, changing); });
  const auto epoch = store_->AcquireEpoch("simulated");
  if (!epoch.ok()) return false;
  epoch_ = *epoch;
  clock_ = std::make_unique<NodeClock>(world_, world_->Between(0, 1000000 * kSecond),
                                       static_cast<double>(world_->Between(-50, 50)) * 1e-6);
  loop_ = std::make_unique<SimLoop>(this);
  fleet_ = std::make_unique<SimFleet>(this, epoch_);
  controller::IngestPipeline::Options options;
  options.store = store_.get();
  options.spool = &world_->spools[place_];
  options.clock = clock_.get();
  options.guards = world_->guards();
  options.fenced = [this](const std::string&) {
    world_->Note(absl::StrCat("controller ", place_, " is fenced by its samples"));
    world_->In(0, [this, life = life_] {
      if (life_ == life) Kill();
    });
  };
  options.store_state = [this](bool away, const std::string& reason) {
    coordinator_->OnStoreState(away, reason);
  };
  options.spool_full = [this](const std::string& reason) { coordinator_->OnSpoolFull(reason); };
  options.work = [this] {
    if (pump_due_) return;
    pump_due_ = true;
    Do(world_->Between(100000, 3 * kMs), [this] { Pump(); });
  };
  ingest_ = std::make_unique<controller::IngestPipeline>(std::move(options));
  pump_due_ = false;
  absl::StatusOr<controller::Inheritance> inheritance = controller::Inheritance();
  if (!ingest_->Replay().ok() || !(inheritance = controller::Inherit(store_.get())).ok()) {
    Kill();
    return false;
  }
  coordinator_ = std::make_unique<controller::Coordinator>(controller::Coordinator::Options{
      store_.get(), &watchers_, clock_.get(), loop_.get(), world_->guards(), ""});
  world_->Note(absl::StrCat("controller ", place_, " is active with epoch ", epoch_));
  coordinator_->Start(fleet_.get(), ingest_.get(), *std::move(inheritance));
  Do(kSecond, [this] { fleet_->Tick(); });
  Do(kSecond, [this] { CheckLock(); });
  return true;
}

// As the program does with its lock on a table.
void Controller::CheckLock() {
  // Its way to the database may be slow, or cut for a while.
  if (world_->ActiveController() == place_) {
    return Do(world_->Between(kSecond, 12 * kSecond), [this] { CheckLock(); });
  }
  world_->Note(absl::StrCat("controller ", place_, " finds another one in its place"));
  world_->In(0, [this, life = life_] {
    if (life_ == life) Kill();
  });
}

void Controller::Kill() {
  if (life_ == 0) return;
  ++life_;
  coordinator_.reset();
  ingest_.reset();
  fleet_.reset();
  loop_.reset();
}

void Controller::Pump() {
  pump_due_ = false;
  const int64_t again = ingest_->Pump();
  if (again == std::numeric_limits<int64_t>::max() || pump_due_) return;
  pump_due_ = true;
  Do(std::max<int64_t>(0, again - clock_->MonotonicNs()), [this] { Pump(); });
}

void Controller::Submit(const measure::RunRecord& run) {
  // As Submit does: the store first, again while it does not answer, whatever becomes of this
  // process then.
  if (!store_->Enqueue(run).ok()) return Do(250 * kMs, [this, run] { Submit(run); });
  coordinator_->Enqueue(run, [](uint32_t) {});
}

void Controller::StopRun(const std::string& run_id, bool now) {
  coordinator_->StopRun(run_id, now, "a person", [](const absl::StatusOr<std::string>&) {});
}

void Controller::EndLoad(const std::string& run_id) {
  coordinator_->EndLoad(run_id, "a person", [](const absl::Status&) {});
}

void Controller::OnHello(const std::shared_ptr<Connection>& c, const v1::Hello& hello) {
  Do(0, [this, c, hello] {
    if (c->open) fleet_->Hello(c, hello);
  });
}
void Controller::OnMessage(const std::shared_ptr<Connection>& c, const v1::WorkerMessage& message) {
  if (paused()) return Do(0, [this, c, message] { fleet_->Message(c, message); });
  fleet_->Message(c, message);
}
void Controller::OnDeliver(const std::shared_ptr<Connection>& c, const std::string& worker_id,
                           const v1::DeliveryBatch& batch) {
  if (paused()) return Do(0, [this, c, worker_id, batch] { OnDeliver(c, worker_id, batch); });
  if (!fleet_->Attached(worker_id)) return;
  const auto acknowledge = [this, c, worker_id](const v1::DeliveryAck& ack) {
    if (ack.final() && !ack.refused().empty()) {
      world_->Note(absl::StrCat("refused for good: ", ack.refused()));
    }
    // What is said to be committed is in the store.
    const auto run = world_->database().runs.find(ack.phase().run_id());
    if (ack.committed() != 0 && run != world_->database().runs.end()) {
      const auto& phase = run->second.phases[{ack.phase().phase(), ack.phase().attempt()}];
      for (const measure::RunWorker& member : run->second.workers) {
        if (member.worker_id != worker_id) continue;
        const auto cursor = phase.cursors.find(member.worker_index);
        if (cursor == phase.cursors.end() || cursor->second < ack.committed()) {
          world_->Violation(absl::StrCat("acknowledged ", ack.committed(),
                                         " samples that the store does not have"));
        }
      }
    }
    if (!ack.refused().empty() && ack.final() &&
        ack.refused().find("not in progress") == std::string::npos &&
        ack.refused().find("not this worker's") == std::string::npos) {
      world_->Violation(
          absl::StrCat("a worker's good samples were refused for good: ", ack.refused()));
    }
    World* world = world_;
    world->At(Arrival(world, *c, &c->last_ack), [world, c, ack] {
      if (c->open) world->workers[static_cast<size_t>(c->worker)]->OnAck(c, ack);
    });
  };
  ingest_->Deliver(worker_id, batch, acknowledge);
}
void Controller::OnClosed(const std::shared_ptr<Connection>& c) {
  Do(0, [this, c] { fleet_->Closed(c); });
}

// -------------------------------------------------------------------------------------------------
// the worker

// Devices and threads, as far as the protocol can tell.
class Worker::Executor final : public worker::PhaseExecutor {
 public:
  explicit Executor(Worker* owner) : owner_(owner) {}

  absl::Status Assign(const v1::Assignment& assignment) override {
    if (busy_) return absl::FailedPreconditionError("busy");
    World* world = owner_->world_;
    if (owner_->obeys_old()) world->Violation("an assignment of an older epoch was taken");
    assignment_ = assignment;
    busy_ = true;
    armed_ = stop_ = going_ = doing_io_ = false;
    interval_ = 0;
    ends_after_.reset();
    sums_ = measure::OperationStats();
    ++turn_;
    if (world->Chance(0.004)) {
      world->ExecutorFault(assignment.phase().run_id());
      After(world->Between(kMs, 20 * kMs), [this] { Fail("a device is missing"); });
    } else {
      const bool hangs = world->Chance(0.004);
      if (hangs) world->ExecutorFault(assignment.phase().run_id());
      After(hangs ? 30 * kSecond : world->Between(kMs, 60 * kMs), [this] {
        if (stop_) return End(true);
        armed_ = true;
        owner_->world_->ArmedFor(owner_->number_, assignment_.phase());
        v1::Armed armed;
        *armed.mutable_phase() = assignment_.phase();
        owner_->armed_since_ns_ = owner_->clock_->MonotonicNs();
        owner_->protocol_->OnArmed(armed);
      });
    }
    return absl::OkStatus();
  }
  absl::Status Go(const v1::Go& go) override {
    if (owner_->obeys_old()) owner_->world_->Violation("a go of an older epoch was obeyed");
    if (!busy_ || stop_ || going_) return absl::OkStatus();
    going_ = true;
    at_ = go.at_ns();
    const int64_t wait = owner_->clock_->ToWorld(at_) - owner_->world_->now();
    After(std::max<int64_t>(0, wait), [this] { Begin(); });
    return absl::OkStatus();
  }
  void StopAt(const v1::StopAt& stop) override {
    if (owner_->obeys_old()) owner_->world_->Violation("an end of an older epoch was obeyed");
    if (busy_ && stop.phase().phase() == assignment_.phase().phase() &&
        stop.phase().attempt() == assignment_.phase().attempt()) {
      ends_after_ = stop.interval();
      owner_->world_->LoadIsToEnd(assignment_.phase(), stop.interval());
    }
  }
  void StopNow(const std::string& run_id) override {
    if (owner_->obeys_old()) owner_->world_->Violation("a stop of an older epoch was obeyed");
    if (!busy_ || stop_ || (!run_id.empty() && run_id != assignment_.phase().run_id())) return;
    stop_ = true;
    if (!armed_) return;  // looked at once it has armed
    if (going_ && !doing_io_) return After(kMs, [this] { End(true); });
    After(owner_->world_->Between(kMs, 200 * kMs), [this] { End(true); });
  }
  bool doing_io() const { return doing_io_; }
  bool armed_without_go() const { return busy_ && armed_ && !going_ && !stop_; }
  int64_t hard_stop_at() const { return at_ + assignment_.hard_stop_ns(); }
  const v1::Assignment& assignment() const { return assignment_; }
  void Dead() {
    if (doing_io_) owner_->world_->EndIo(owner_->number_, assignment_.phase());
  }

 private:
  void After(int64_t ns, std::function<void()> call) {
    owner_->Do(ns, [this, turn = turn_, call = std::move(call)] {
      if (turn == turn_ && busy_) call();
    });
  }
  void Begin() {
    if (stop_) return;
    // A process that was stopped meanwhile finds the load's end passed when it is continued.
    if (owner_->clock_->MonotonicNs() >= hard_stop_at()) return End(true);
    doing_io_ = true;
    owner_->world_->BeginIo(owner_->number_, assignment_.phase(), at_,
                            owner_->clock_->MonotonicNs(), assignment_.has_run());
    if (!assignment_.has_run()) {
      // Laying out files, and now and then a device that takes for ever: its hard stop ends it.
      const bool endless = owner_->world_->Chance(0.01);
      if (endless) owner_->world_->ExecutorFault(assignment_.phase().run_id());
      return After(endless ? 100000 * kSecond : owner_->world_->Between(10 * kMs, 2 * kSecond),
                   [this] { End(false); });
    }
    NextInterval();
  }
  void NextInterval() {
    const int64_t end = at_ + (interval_ + 1) * assignment_.interval_ns();
    After(std::max<int64_t>(0, owner_->clock_->ToWorld(end) - owner_->world_->now()), [this] {
      if (stop_) return;
      Sample();
      const bool ends_early = ends_after_ && interval_ > *ends_after_;
      if (ends_early ||
          (assignment_.run().duration_ns() > 0 &&
           interval_ * assignment_.interval_ns() >= assignment_.run().duration_ns())) {
        return End(ends_early);
      }
      NextInterval();
    });
  }
  void Sample() {
    v1::IntervalSample sample;
    sample.set_interval(interval_);
    sample.set_interval_class(v1::INTERVAL_CLASS_MEASURED);
    sample.set_begin_ns(interval_ * assignment_.interval_ns());
    sample.set_end_ns((interval_ + 1) * assignment_.interval_ns());
    v1::WorkloadSample* workload = sample.add_workloads();
    workload->add_thread_operations(owner_->world_->Draw(1 << 20));
    *workload->add_operations() = Operations();
    ++interval_;
    v1::DeliveryItem item;
    *item.mutable_interval() = sample;
    owner_->world_->Measured(owner_->number_, assignment_.phase(), item);
    owner_->protocol_->OnSample(assignment_.phase(), sample);
    owner_->Deliver();
  }
  // What an interval of the load comes to: the rate that was asked for, or some.
  v1::OperationCounters Operations() {
    double rate = 0;
    for (const v1::WorkloadAssignment& w : assignment_.run().workloads()) {
      rate += w.rate_per_second();
    }
    measure::OperationCounts counts;
    counts.operations =
        rate > 0 ? static_cast<uint64_t>(rate) + 1 : 100 + owner_->world_->Draw(100);
    counts.bytes = 4096 * counts.operations;
    counts.latency_sum_ns = 1000 * counts.operations;
    counts.latency_min_ns = counts.latency_max_ns = 1000;
    std::vector<uint32_t> latencies(common::kBucketCount, 0);
    latencies[common::BucketOf(1000)] = static_cast<uint32_t>(counts.operations);
    measure::OperationStats interval;
    interval.Add(counts, {latencies.data(), nullptr, nullptr});
    sums_.Add(interval);
    return interval.Encode(v1::OPERATION_KIND_READ);
  }
  void Fail(const std::string& reason) {
    busy_ = false;
    v1::PhaseFailed failed;
    *failed.mutable_phase() = assignment_.phase();
    failed.set_reason(reason);
    owner_->protocol_->OnFailed(failed);
  }
  void End(bool early) {
    if (doing_io_) owner_->world_->EndIo(owner_->number_, assignment_.phase());
    doing_io_ = busy_ = false;
    v1::PhaseResult result;
    result.set_stopped_early(early);
    result.set_intervals(static_cast<uint32_t>(interval_));
    if (!sums_.empty()) {
      *result.add_workloads()->add_measured() = sums_.Encode(v1::OPERATION_KIND_READ);
    }
    result.set_end_ns(owner_->clock_->MonotonicNs());
    v1::DeliveryItem item;
    *item.mutable_result() = result;
    owner_->world_->Measured(owner_->number_, assignment_.phase(), item);
    owner_->protocol_->OnResult(assignment_.phase(), result);
    owner_->Deliver();
  }

  Worker* owner_;
  v1::Assignment assignment_;
  uint64_t turn_ = 0;
  bool busy_ = false, armed_ = false, going_ = false, stop_ = false, doing_io_ = false;
  int64_t at_ = 0;
  int64_t interval_ = 0;
  std::optional<uint32_t> ends_after_;
  measure::OperationStats sums_;
};

Worker::Worker(World* world, int number)
    : world_(world), number_(number), id_(world->Uuid()), host_id_(world->Uuid()) {
  clock_ = std::make_unique<NodeClock>(world, world->Between(0, 100000 * kSecond),
                                       static_cast<double>(world->Between(-100, 100)) * 1e-6);
}
Worker::~Worker() = default;

void Worker::Do(int64_t after_ns, std::function<void()> call) {
  world_->In(after_ns, [this, life = life_, call = std::move(call)]() mutable {
    if (life_ != life || !alive()) return;
    if (world_->now() < paused_until_) return Do(paused_until_ - world_->now(), std::move(call));
    call();
  });
}

void Worker::Start() {
  if (alive()) return;
  ++life_;
  instance_ = world_->Uuid();
  paused_until_ = 0;
  outbox_ = std::make_unique<worker::Outbox>(worker::Outbox::Limits(), world_->guards());
  executor_ = std::make_unique<Executor>(this);
  worker::Protocol::Ports ports;
  ports.executor = executor_.get();
  ports.outbox = outbox_.get();
  ports.send = [this](const v1::WorkerMessage& message) {
    if (attached_) Send(message);
  };
  ports.inspect = [this](const v1::Inspect& inspect) {
    v1::WorkerMessage message;
    v1::Inspection& inspection = *message.mutable_inspection();
    inspection.set_run_id(inspect.run_id());
    for (int t = 0; t < inspect.targets_size(); ++t) {
      v1::TargetInspection* target = inspection.add_targets();
      target->set_target(static_cast<uint32_t>(t));
      target->add_paths("/san/lun");
      target->add_places()->set_thing(1);
      target->set_size_bytes(1 << 30);
      target->set_device_name("sda");
    }
    if (attached_) Send(message);
  };
  ports.now = [this] { return clock_->MonotonicNs(); };
  ports.guards = world_->guards();
  protocol_ = std::make_unique<worker::Protocol>(std::move(ports));
  connection_ = nullptr;
  attached_ = dialling_ = false;
  greeted_epoch_ = 0;
  worker::ConnectionKeeper::Options keeping;
  keeping.controllers = 2;
  keeping.first = static_cast<size_t>(world_->Draw(2));
  keeping.random = [this] { return world_->Draw(~uint64_t{0}); };
  keeper_ = std::make_unique<worker::ConnectionKeeper>(std::move(keeping));
  Do(world_->Between(0, 300 * kMs), [this] { Tick(); });
}

void Worker::Kill() {
  if (!alive()) return;
  executor_->Dead();
  ++life_;
  // The kernel ends its connections; the other side hears of it.
  if (connection_ != nullptr) {
    const auto c = connection_;
    world_->In(world_->Between(100000, 5 * kMs), [world = world_, c] {
      if (!c->open) return;
      c->open = false;
      if (Controller* controller = world->controllers[static_cast<size_t>(c->controller)].get();
          controller->running() && controller->life() == c->controller_life) {
        controller->OnClosed(c);
      }
    });
  }
  connection_ = nullptr;
  protocol_.reset();
  executor_.reset();
  outbox_.reset();
}

void Worker::Tick() {
  protocol_->Tick();
  const int64_t now = clock_->MonotonicNs();
  if (executor_->doing_io() && executor_->assignment().hard_stop_ns() > 0 &&
      now > executor_->hard_stop_at() + 2 * kSecond &&
      world_->now() > paused_until_ + 2 * kSecond) {
    world_->Violation("I/O goes on after the hard stop");
  }
  if (executor_->armed_without_go() &&
      now > armed_since_ns_ + executor_->assignment().go_within_ns() + 2 * kSecond &&
      world_->now() > paused_until_ + 2 * kSecond) {
    world_->Violation("a worker stays armed for ever");
  }
  if (connection_ == nullptr) {
    if (!dialling_) {
      dialling_ = true;
      Do(std::max<int64_t>(0, clock_->ToWorld(keeper_->dial_at_ns()) - world_->now()),
         [this] { Dial(); });
    }
  } else if (keeper_->IsSilent(now)) {
    Disconnect();
  } else if (keeper_->TakeHeartbeat(now)) {
    v1::WorkerMessage heartbeat;
    heartbeat.mutable_heartbeat();
    Send(heartbeat);
  }
  Do(400 * kMs, [this] { Tick(); });
}

v1::Hello Worker::MakeHello() {
  v1::Hello hello;
  hello.set_protocol_version(v1::PROTOCOL_VERSION_CURRENT);
  hello.set_worker_id(id_);
  hello.set_instance_id(instance_);
  hello.mutable_host()->set_host_id(host_id_);
  hello.mutable_host()->set_name(absl::StrCat("node", number_));
  hello.mutable_host()->set_boot_id(absl::StrCat("boot", number_));
  *hello.mutable_status() = protocol_->Introduce();
  return hello;
}

void Worker::Dial() {
  dialling_ = false;
  if (connection_ != nullptr) return;
  const int64_t now = clock_->MonotonicNs();
  const int place = static_cast<int>(keeper_->Dial(now));
  Controller* controller = world_->Reachable(number_, place);
  if (controller == nullptr) return keeper_->Closed(now);
  auto c = std::make_shared<Connection>();
  c->worker = number_;
  c->controller = place;
  c->controller_life = controller->life();
  c->worker_life = life_;
  c->base_delay = world_->Chance(0.1) ? world_->Between(0, 30 * kMs) : 0;
  connection_ = c;
  attached_ = false;
  const v1::Hello hello = MakeHello();
  world_->At(Arrival(world_, *c, &c->last_up), [world = world_, c, hello] {
    Controller* to = world->controllers[static_cast<size_t>(c->controller)].get();
    if (c->open && to->running() && to->life() == c->controller_life) to->OnHello(c, hello);
  });
}

void Worker::Send(const v1::WorkerMessage& message) {
  const auto c = connection_;
  if (c == nullptr) return;
  world_->At(Arrival(world_, *c, &c->last_up), [world = world_, c, message] {
    Controller* to = world->controllers[static_cast<size_t>(c->controller)].get();
    if (c->open && to->running() && to->life() == c->controller_life) to->OnMessage(c, message);
  });
}

void Worker::Deliver() {
  const auto c = connection_;
  if (c == nullptr || !attached_) return;
  while (auto batch = outbox_->NextBatch(0)) {
    world_->At(Arrival(world_, *c, &c->last_deliver),
               [world = world_, c, id = id_, batch = *batch] {
                 Controller* to = world->controllers[static_cast<size_t>(c->controller)].get();
                 if (c->open && to->running() && to->life() == c->controller_life) {
                   to->OnDeliver(c, id, batch);
                 }
               });
  }
}

void Worker::OnCommand(const std::shared_ptr<Connection>& c, const v1::ControllerMessage& message) {
  if (!alive() || c->worker_life != life_ || c != connection_) return;
  if (world_->now() < paused_until_) return Do(0, [this, c, message] { OnCommand(c, message); });
  keeper_->Heard(clock_->MonotonicNs());
  if (!attached_) {
    const absl::Status status = protocol_->OnFirst(message);
    if (!status.ok()) return Disconnect();
    greeted_epoch_ = std::max(greeted_epoch_, message.epoch());
    attached_ = true;
    keeper_->Attached(clock_->MonotonicNs(), message.welcome().lease_ns());
    protocol_->SayWhatChanged();
    outbox_->Rewind();
    return Deliver();
  }
  handling_epoch_ = message.epoch();
  protocol_->OnCommand(message, clock_->MonotonicNs());
  handling_epoch_ = 0;
}

void Worker::OnAck(const std::shared_ptr<Connection>& c, const v1::DeliveryAck& ack) {
  if (!alive() || c->worker_life != life_ || c != connection_) return;
  if (world_->now() < paused_until_) return Do(0, [this, c, ack] { OnAck(c, ack); });
  outbox_->OnAck(ack);
  Deliver();
}

void Worker::Disconnect() {
  const auto c = connection_;
  connection_ = nullptr;
  attached_ = false;
  keeper_->Closed(clock_->MonotonicNs());
  if (c == nullptr || !c->open) return;
  // The other side hears of it, unless the way is cut.
  world_->In(world_->Between(100000, 5 * kMs), [world = world_, c] {
    if (!c->open) return;
    c->open = false;
    Controller* controller = world->controllers[static_cast<size_t>(c->controller)].get();
    if (controller->running() && controller->life() == c->controller_life) controller->OnClosed(c);
  });
}

void Worker::OnClosed(const std::shared_ptr<Connection>& c) {
  if (!alive() || c != connection_) return;
  Do(0, [this, c] {
    if (c != connection_) return;
    connection_ = nullptr;
    attached_ = false;
    keeper_->Closed(clock_->MonotonicNs());
  });
}

// What is under way is lost. Noticed: both sides hear of it at once.
void Worker::CutConnection(bool noticed) {
  const auto c = connection_;
  if (c == nullptr) return;
  c->open = false;
  if (!noticed) return;
  OnClosed(c);
  Controller* controller = world_->controllers[static_cast<size_t>(c->controller)].get();
  if (controller->running() && controller->life() == c->controller_life) controller->OnClosed(c);
}

// The Deliver stream broke and was opened again: everything that is not committed is sent again.
void Worker::ResetDeliver() {
  if (!alive()) return;
  Do(0, [this] {
    outbox_->Rewind();
    Deliver();
  });
}

}  // namespace lockstep::simulation
