#include "controller/daemon/controller.h"

#include <chrono>
#include <thread>

#include "common/limits.h"
#include "common/log.h"
#include "common/signing.h"
#include "controller/runs/crash_loop.h"
#include "controller/runs/recovered_state.h"

namespace lockstep::controller {
namespace {

constexpr auto kShutdownWait = std::chrono::seconds(8);

}  // namespace

// Gives up a store that hangs, 2 * kShutdownWait after this is made. Without it a statement in
// progress would keep the process from ending.
class Controller::StoreDeadline {
 public:
  explicit StoreDeadline(storage::PgStore* store)
      : thread_([this, store] {
          if (!over_.Pop(2 * kShutdownWait)) store->GiveUp();
        }) {}
  ~StoreDeadline() {
    over_.Push(0);
    thread_.join();
  }

 private:
  common::Queue<int> over_;
  std::thread thread_;
};

Controller::Controller(const Options& options, OpenedStore* opened, const common::Clock* clock)
    : opened_(opened),
      clock_(clock),
      loop_(clock, EndThisController),
      tls_(options.tls),
      callers_(tls_, clock),
      tls_ticker_(absl::Nanoseconds(limits::kTlsRefreshNs), [this] { RefreshTls(); }) {}

// loop_ is declared before the parts that its threads use, and would be destroyed after them.
Controller::~Controller() { loop_.Stop(); }

absl::StatusOr<std::unique_ptr<Controller>> Controller::Start(const Options& options,
                                                              OpenedStore* opened,
                                                              Election* election,
                                                              const common::Clock* clock) {
  std::unique_ptr<Controller> controller(new Controller(options, opened, clock));
  if (absl::Status status = controller->Acquire(options, election); !status.ok()) return status;
  if (absl::Status status = controller->GoOn(options, election); !status.ok()) return status;
  return controller;
}

absl::Status Controller::Acquire(const Options& options, Election* election) {
  storage::PgStore* store = opened_->store.get();
  // The epoch comes first. From here on the controller before this one can change nothing, and what
  // is read next stays true.
  absl::Status status = election->WhileUnavailable([&] {
    auto epoch = store->AcquireEpoch(options.self);
    if (epoch.ok()) epoch_ = *epoch;
    return epoch.status();
  });
  if (!status.ok()) return status;
  status = election->WhileUnavailable([&] {
    auto id = store->StoreId();
    if (id.ok()) store_id_ = *id;
    return id.status();
  });
  if (!status.ok()) return status;
  status = election->WhileUnavailable([&] {
    // The store keeps the first secret that it gets, so all its controllers have the same one.
    auto secret = store->Secret(common::SigningKey::Make().secret());
    if (secret.ok()) secret_ = *secret;
    return secret.status();
  });
  if (!status.ok()) return status;
  // A spool belongs to one store. In another store its samples would belong to no run.
  auto spool = storage::FileSpool::Open(options.state_directory + "/spool/" + store_id_,
                                        options.spool_bytes);
  if (!spool.ok()) return spool.status();
  spool_ = *std::move(spool);
  auto marks = CrashMarks::Open(options.state_directory);
  if (!marks.ok()) return marks.status();
  marks_ = *std::move(marks);
  return absl::OkStatus();
}

absl::Status Controller::GoOn(const Options& options, Election* election) {
  storage::PgStore* store = opened_->store.get();
  const auto working = [this](const std::string& run_id) { return marks_->WorkOn(run_id); };
  coordinator_ = std::make_unique<Coordinator>(Coordinator::Options{
      store, &watchers_, clock_, &loop_, {}, opened_->location, working, secret_});
  IngestPipeline::Options pipeline;
  pipeline.store = store;
  pipeline.spool = spool_.get();
  pipeline.clock = clock_;
  pipeline.fenced = EndThisController;
  pipeline.store_state = [this](const absl::Status& state) { coordinator_->OnStoreState(state); };
  pipeline.spool_full = [this](const std::string& reason) { coordinator_->OnSpoolFull(reason); };
  ingest_ = std::make_unique<IngestPipeline>(std::move(pipeline));
  RecoveredState recovered;
  std::vector<Roster::Owner> bindings;
  // The order matters. The spool's samples move the cursors that RecoverState() reads, and a run
  // that crashes controllers is ended before anything of it is taken over.
  const std::function<absl::Status()> steps[] = {
      [&] { return ingest_->Replay(); },
      [&] {
        auto owners = store->WorkerOwners();
        if (!owners.ok()) return owners.status();
        for (const storage::WorkerOwner& owner : *owners) {
          bindings.push_back({owner.worker_id, owner.host_id, owner.host, owner.certificate});
        }
        return absl::OkStatus();
      },
      [&] { return QuarantineCrashing(store, marks_->crashes(), clock_); },
      [&] {
        auto inherited = RecoverState(store, clock_);
        if (!inherited.ok()) return inherited.status();
        recovered = *std::move(inherited);
        return absl::OkStatus();
      }};
  for (const auto& step : steps) {
    if (absl::Status status = election->WhileUnavailable(step); !status.ok()) return status;
  }
  audit_ = std::make_unique<AuditLog>(store, clock_, &callers_);
  const auto authority = common::SigningKey::FromSecret(secret_);
  if (!authority.ok()) return authority.status();
  watchers_.Begin(static_cast<uint64_t>(epoch_));
  fleet_ = std::make_unique<Fleet>(
      Fleet::Options{epoch_, store_id_, options.lease_ns, bindings, *authority}, clock_,
      Fleet::Callbacks{
          [this](const v1::Hello& hello) { coordinator_->OnAttached(hello); },
          [this](const std::string& id, const v1::WorkerMessage& message) {
            coordinator_->OnMessage(id, message);
          },
          [this](const std::string& id, const std::string& why) { coordinator_->OnLost(id, why); },
          [this](const v1::Hello& hello, const std::string& peer, const std::string& reason) {
            audit_->AddRefusedWorker(hello, peer, reason);
            coordinator_->OnIntruder(reason);
          },
          [this](const std::string& id) { coordinator_->OnDetached(id); },
          [this](const std::string& text) { coordinator_->OnFleetEvent(text); }});
  // No port is open yet, so that no worker attaches before all this is done.
  coordinator_->Start(fleet_.get(), ingest_.get(), std::move(recovered));
  ingest_->StartThread();
  loop_.Start();
  return tls_ == nullptr ? absl::OkStatus() : tls_ticker_.Begin();
}

void Controller::RefreshTls() {
  if (const absl::Status changed = tls_->Refresh(); !changed.ok()) {
    log::Error("{}; the certificates and revocations of before stay in use",
               std::string(changed.message()));
  }
  callers_.Sweep();
}

ServiceParts Controller::parts() {
  return {epoch_,        opened_->store.get(), coordinator_.get(), fleet_.get(),
          ingest_.get(), &watchers_,           audit_.get(),       &callers_};
}

void Controller::Shutdown(const std::function<void()>& stop_listening) {
  const StoreDeadline deadline(opened_->store.get());
  common::Queue<int> ended;
  coordinator_->Shutdown([&ended] { ended.Push(0); });
  // The ends are stored while the loop still runs. After that the waiting callers are answered.
  // Only then do the watchers' streams end, which show until then how their runs end.
  ended.Pop(kShutdownWait);
  loop_.Stop();
  coordinator_->DropQueries();
  stop_listening();
  watchers_.Shutdown();
  fleet_->Shutdown();
}

}  // namespace lockstep::controller
