// A controller process in virtual time.

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
constexpr int64_t kLease = 5 * kSecond;

}  // namespace

// When a packet sent now arrives, after the one before it.
int64_t Arrival(World* world, const Connection& connection, int64_t* last) {
  int64_t delay = connection.base_delay + world->Between(20000, 400000);
  if (world->Chance(0.02)) delay += world->Between(0, 300 * kMs);
  if (world->Chance(0.001)) delay += world->Between(0, 3 * kSecond);
  *last = std::max(*last + 1, world->now() + delay);
  return *last;
}

class Controller::SimLoop final : public controller::Loop {
 public:
  explicit SimLoop(Controller* owner) : owner_(owner) {}
  void Post(std::function<void()> call) override { owner_->Do(0, std::move(call)); }
  void After(absl::Duration delay, std::function<void()> call) override {
    owner_->Do(absl::ToInt64Nanoseconds(delay), std::move(call));
  }
  void Persist(std::function<absl::Status()> work,
               std::function<void(const absl::Status&)> then) override {
    works_.push_back({std::move(work), std::move(then)});
    if (works_.size() == 1) Next(owner_->world_->Between(200000, 8 * kMs));
  }

  void RunInBackground(std::function<absl::Status()> work,
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
      for (int i = 0; i < 3; ++i) owner_->Do(int64_t{4} * i * kMs, [this, id] { Ping(id); });
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
    welcome.mutable_welcome()->set_protocol_version(hello.protocol_version());
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
  store_ = std::make_unique<storage::MemoryStore>(&world_->database(), world_->safeguards());
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
  options.safeguards = world_->safeguards();
  options.fenced = [this](const std::string&) {
    world_->Note(absl::StrCat("controller ", place_, " is fenced by its samples"));
    world_->In(0, [this, life = life_] {
      if (life_ == life) Kill();
    });
  };
  options.store_state = [this](const absl::Status& state) { coordinator_->OnStoreState(state); };
  options.spool_full = [this](const std::string& reason) { coordinator_->OnSpoolFull(reason); };
  options.work = [this] {
    if (pump_due_) return;
    pump_due_ = true;
    Do(world_->Between(100000, 3 * kMs), [this] { Pump(); });
  };
  ingest_ = std::make_unique<controller::IngestPipeline>(std::move(options));
  pump_due_ = false;
  absl::StatusOr<controller::RecoveredState> recovered = controller::RecoveredState();
  if (!ingest_->Replay().ok() ||
      !(recovered = controller::RecoverState(store_.get(), clock_.get())).ok()) {
    Kill();
    return false;
  }
  coordinator_ = std::make_unique<controller::Coordinator>(controller::Coordinator::Options{
      store_.get(), &watchers_, clock_.get(), loop_.get(), world_->safeguards(), {}});
  world_->Note(absl::StrCat("controller ", place_, " is active with epoch ", epoch_));
  coordinator_->Start(fleet_.get(), ingest_.get(), *std::move(recovered));
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

void Controller::StopRun(const std::string& run_id, controller::Cleanup cleanup) {
  coordinator_->StopRun(run_id, cleanup, "a person",
                        [this, run_id](const absl::StatusOr<v1::StopReply>& reply) {
                          if (reply.ok() && reply->warning().empty()) {
                            world_->StopAnswered(run_id);
                          }
                        });
}

void Controller::EndLoad(const std::string& run_id) {
  coordinator_->EndLoad(run_id, "a person", [this, run_id](const absl::Status& status) {
    if (status.ok()) world_->LoadEndAnswered(run_id);
  });
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
    // Items that are said to be committed are in the store.
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

}  // namespace lockstep::simulation
