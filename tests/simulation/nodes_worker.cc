// A worker process in virtual time.

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "common/timing.h"
#include "measure/operation_stats.h"
#include "tests/simulation/nodes.h"

namespace lockstep::simulation {
namespace {

using timing::kMs;
using timing::kSecond;

}  // namespace

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
    armed_ = stop_ = ordered_ = going_ = doing_io_ = false;
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
        if (stop_) return End(LoadEnd::kEarly);
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
      const int64_t end = at_ + (stop.interval() + 1) * assignment_.interval_ns();
      owner_->world_->LoadIsToEnd(assignment_.phase(), stop.interval(),
                                  owner_->clock_->ToWorld(end));
    }
  }
  void StopNow(const std::string& run_id) override {
    if (owner_->obeys_old()) owner_->world_->Violation("a stop of an older epoch was obeyed");
    if (!busy_ || stop_ || (!run_id.empty() && run_id != assignment_.phase().run_id())) return;
    stop_ = true;
    ordered_ = owner_->obeys_order_;
    if (!armed_) return;  // looked at once it has armed
    if (going_ && !doing_io_) return After(kMs, [this] { End(LoadEnd::kEarly); });
    After(owner_->world_->Between(kMs, 200 * kMs), [this] { End(LoadEnd::kEarly); });
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
    // A process that was stopped during that time finds the load's end passed when it is continued.
    if (owner_->clock_->MonotonicNs() >= hard_stop_at()) return End(LoadEnd::kEarly);
    doing_io_ = true;
    owner_->world_->BeginIo(owner_->number_, assignment_.phase(), at_,
                            owner_->clock_->MonotonicNs(), assignment_.has_run());
    if (!assignment_.has_run()) {
      // Laying out files, and sometimes a device that takes for ever: its hard stop ends it.
      const bool endless = owner_->world_->Chance(0.01);
      if (endless) owner_->world_->ExecutorFault(assignment_.phase().run_id());
      return After(endless ? 100000 * kSecond : owner_->world_->Between(10 * kMs, 2 * kSecond),
                   [this] { End(LoadEnd::kAsPlanned); });
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
        return End(ends_early ? LoadEnd::kEarly : LoadEnd::kAsPlanned);
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
    v1::OperationCounters* counters = workload->add_operations();
    *counters = Operations();
    counters->set_latency_sum_ns(owner_->world_->Draw(1 << 20));  // no two samples are the same
    ++interval_;
    v1::DeliveryItem item;
    *item.mutable_interval() = sample;
    owner_->world_->Measured(owner_->number_, assignment_.phase(), item);
    owner_->protocol_->OnSample(assignment_.phase(), sample);
    owner_->Deliver();
  }
  // The operations of an interval: those of the offered rate, or some.
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
  enum class LoadEnd { kAsPlanned, kEarly };
  void End(LoadEnd end) {
    const bool early = end == LoadEnd::kEarly;
    if (doing_io_) owner_->world_->EndIo(owner_->number_, assignment_.phase());
    doing_io_ = busy_ = false;
    if (early && ordered_) owner_->world_->CutShort(owner_->number_, assignment_.phase());
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
  bool ordered_ = false;  // by a controller's order, not by its own hard stop
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
  outbox_ = std::make_unique<worker::Outbox>(worker::Outbox::Limits(), world_->safeguards());
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
      target->add_ranges()->set_thing(1);
      target->set_size_bytes(1 << 30);
      target->set_device_name("sda");
    }
    if (attached_) Send(message);
  };
  ports.now = [this] { return clock_->MonotonicNs(); };
  ports.safeguards = world_->safeguards();
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

v1::Hello Worker::MakeHello() const {
  v1::Hello hello;
  hello.set_protocol_version(v1::PROTOCOL_VERSION_CURRENT);
  hello.set_worker_id(id_);
  hello.set_instance_id(instance_);
  hello.mutable_host()->set_host_id(host_id_);
  hello.mutable_host()->set_name(absl::StrCat("node", number_));
  hello.mutable_host()->set_boot_id(absl::StrCat("boot", number_));
  return hello;
}

worker::Handshake::Ports Worker::HandshakePorts() {
  worker::Handshake::Ports ports;
  ports.keeper = keeper_.get();
  ports.protocol = protocol_.get();
  ports.welcomed = [this](const v1::ControllerMessage& welcome) {
    greeted_epoch_ = std::max(greeted_epoch_, welcome.epoch());
    attached_ = true;
  };
  ports.rejected = [](const std::string&) {};
  return ports;
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
  handshake_ = std::make_unique<worker::Handshake>(HandshakePorts());
  const v1::Hello hello = handshake_->Hello(MakeHello()).hello();
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
  const bool first = !attached_;
  if (!first) handling_epoch_ = message.epoch();
  obeys_order_ = message.stop_now().has_order();
  const absl::Status status = handshake_->OnMessage(message, clock_->MonotonicNs());
  handling_epoch_ = 0;
  obeys_order_ = false;
  if (!status.ok()) return Disconnect();
  if (!first) return;
  outbox_->Rewind();
  Deliver();
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

// Messages in flight are lost. Noticed: both sides hear of it at once.
void Worker::CutConnection(Cut cut) {
  const auto c = connection_;
  if (c == nullptr) return;
  c->open = false;
  if (cut == Cut::kSilently) return;
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
