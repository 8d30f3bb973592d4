// Requests of people, and failures during that time.
#include <iterator>

#include "absl/strings/str_cat.h"
#include "common/timing.h"
#include "controller/plan/validate.h"
#include "tests/simulation/nodes.h"
#include "tests/simulation/world.h"

namespace lockstep::simulation {
namespace {

using timing::kMs;
using timing::kSecond;
constexpr int64_t kFaultsUntil = 50 * kSecond;

}  // namespace

void World::Submit(int number) {
  Controller* active = active_ < 0 ? nullptr : controllers[static_cast<size_t>(active_)].get();
  if (active == nullptr || !active->running() || active->paused() || store_unavailable_) {
    return In(kSecond, [this, number] { Submit(number); });
  }
  measure::RunRecord run;
  run.run_id = Uuid();
  run.seed = 1;
  run.owner = "simulation";
  v1::JobSpec& job = run.job;
  job.set_name(absl::StrCat("job", number));
  job.mutable_hosts()->set_count(
      static_cast<uint32_t>(Between(1, static_cast<int64_t>(workers.size()))));
  v1::Target* target = job.add_targets();
  target->set_name("lun");
  target->mutable_file()->set_path("/san/lun");
  target->mutable_file()->set_size_bytes(1 << 30);
  target->set_sharing(v1::SHARING_SLICED);
  job.add_phases()->mutable_prepare();
  const int64_t runs = Between(1, 2);
  for (int64_t i = 0; i < runs; ++i) {
    v1::PhaseSpec* phase = job.add_phases();
    phase->set_name(absl::StrCat("mix", i));
    phase->mutable_run()->set_duration_ns((Chance(0.2) ? Between(10, 25) : Between(2, 8)) *
                                          kSecond);
    phase->mutable_run()->add_workloads()->set_read_ratio(0.5);
  }
  if (Chance(0.4)) {
    v1::RunPhase* curve = job.add_phases()->mutable_run();
    curve->set_duration_ns(Between(2, 4) * kSecond);
    for (const double share : {0.5, 1.0}) curve->mutable_curve()->add_share_ratio(share);
    curve->add_workloads()->mutable_open_loop()->mutable_measured()->set_phase("mix0");
  }
  job.add_phases()->mutable_cleanup();
  job.mutable_deadlines()->set_arm_ns(12 * kSecond);
  job.mutable_deadlines()->set_drain_ns(2 * kSecond);
  job.mutable_deadlines()->set_prepare_ns(20 * kSecond);
  job.mutable_deadlines()->set_rejoin_ns(8 * kSecond);
  job.set_on_worker_loss(
      static_cast<v1::LossPolicy>(Between(v1::LOSS_POLICY_ABORT, v1::LOSS_POLICY_RETRY)));
  if (job.on_worker_loss() != v1::LOSS_POLICY_ABORT) {
    job.set_min_hosts(static_cast<uint32_t>(Between(1, job.hosts().count())));
  }
  controller::FillJob(&job);
  run.state = measure::RunState::kQueued;
  Note(absl::StrCat("submit ", run.run_id.substr(0, 4), " on ", job.hosts().count(),
                    " workers, on loss ", job.on_worker_loss()));
  active->Submit(run);
  if (Chance(0.3)) EndLoads(run.run_id);
  if (Chance(0.1)) {
    At(now_ + Between(0, 20 * kSecond), [this, id = run.run_id, at_once = Chance(0.5)] {
      Controller* controller =
          active_ < 0 ? nullptr : controllers[static_cast<size_t>(active_)].get();
      if (controller == nullptr || !controller->running() || controller->paused()) return;
      Note(absl::StrCat("a person stops ", id.substr(0, 4)));
      Fault("stop by a person");
      stopped_.insert(id);
      controller->StopRun(id, at_once ? controller::Cleanup::kSkip : controller::Cleanup::kRun);
    });
  }
}

void World::EndLoads(const std::string& run_id) {
  At(now_ + Between(kSecond, 15 * kSecond), [this, run_id] {
    Controller* controller =
        active_ < 0 ? nullptr : controllers[static_cast<size_t>(active_)].get();
    if (controller == nullptr || !controller->running() || controller->paused()) return;
    Note(absl::StrCat("a person ends a load of ", run_id.substr(0, 4)));
    Fault("load ended by a person");
    controller->EndLoad(run_id);
    if (Chance(0.5)) EndLoads(run_id);
  });
}

// PostgreSQL's lock: when its holder is gone, or cannot be heard, another one takes over.
void World::Elect() {
  Controller* active = active_ < 0 ? nullptr : controllers[static_cast<size_t>(active_)].get();
  const bool deposed = active != nullptr && active->paused() && Chance(0.5);
  if (!store_unavailable_ && (active == nullptr || !active->running() || deposed)) {
    const int place = deposed ? 1 - active_ : static_cast<int>(Draw(2));
    if (deposed) Fault("takeover from a paused controller");
    if (!controllers[static_cast<size_t>(place)]->running() &&
        controllers[static_cast<size_t>(place)]->Start()) {
      active_ = place;
    }
  }
  In(Between(200 * kMs, 2 * kSecond), [this] { Elect(); });
}

void World::CutOff(int worker, int64_t for_ns) {
  Fault("partition from everybody");
  Note(absl::StrCat("worker ", worker, " can reach nobody"));
  cut_[worker][0] = cut_[worker][1] = true;
  workers[static_cast<size_t>(worker)]->CutConnection(Worker::Cut::kSilently);
  In(for_ns, [this, worker] { cut_[worker][0] = cut_[worker][1] = false; });
}

void World::KillWorker(size_t worker, int) {
  Fault("worker killed");
  Note(absl::StrCat("worker ", worker, " is killed"));
  workers[worker]->Kill();
  In(Between(100 * kMs, 9 * kSecond), [this, worker] { workers[worker]->Start(); });
}

void World::PauseWorker(size_t worker, int) {
  Fault("worker stopped and continued");
  const int64_t pause = Between(100 * kMs, 15 * kSecond);
  Note(absl::StrCat("worker ", worker, " is paused for ", pause / kMs, " ms"));
  workers[worker]->PauseUntil(now_ + pause);
}

void World::KillController(size_t, int) {
  if (active_ < 0) return;
  Fault("controller killed");
  Note("the active controller is killed");
  const int place = active_;
  controllers[static_cast<size_t>(place)]->Kill();
  for (const auto& w : workers) {
    if (w->connection_ != nullptr && w->connection_->controller == place)
      w->CutConnection(Worker::Cut::kNoticed);
  }
  if (Chance(0.3)) {
    Fault("spool lost with its host");
    spools[place].Clear();
  }
}

void World::PauseController(size_t, int) {
  if (active_ < 0) return;
  Fault("controller stopped and continued");
  const int64_t pause = Between(100 * kMs, 20 * kSecond);
  Note(absl::StrCat("the active controller is paused for ", pause / kMs, " ms"));
  controllers[static_cast<size_t>(active_)]->PauseUntil(now_ + pause);
}

void World::Partition(size_t worker, int place) {
  Fault("partition");
  Note(absl::StrCat("worker ", worker, " cannot reach controller ", place));
  cut_[worker][place] = true;
  if (workers[worker]->connection_ != nullptr &&
      workers[worker]->connection_->controller == place) {
    workers[worker]->CutConnection(Chance(0.3) ? Worker::Cut::kNoticed : Worker::Cut::kSilently);
  }
  if (Chance(0.5)) {
    return CutOff(static_cast<int>(worker), Between(10 * kSecond, 100 * kSecond));
  }
  In(Between(100 * kMs, 20 * kSecond), [this, worker, place] { cut_[worker][place] = false; });
}

void World::ResetConnection(size_t worker, int) {
  Fault("connection reset");
  Note(absl::StrCat("worker ", worker, " loses its connection"));
  workers[worker]->CutConnection(Worker::Cut::kNoticed);
}

void World::SendAgain(size_t worker, int) {
  Fault("samples sent again");
  workers[worker]->ResetDeliver();
}

void World::StoreUnavailable(size_t, int) {
  Fault("store unavailable");
  Note("the store becomes unavailable");
  store_unavailable_ = true;
  // Sometimes for longer than every deadline.
  In(Chance(0.2) ? Between(12 * kSecond, 90 * kSecond) : Between(100 * kMs, 12 * kSecond), [this] {
    Note("the store is back");
    store_unavailable_ = false;
  });
}

void World::ScheduleFaults() {
  using FaultCall = void (World::*)(size_t worker, int place);
  // Controllers are killed twice as often as any other fault comes.
  constexpr FaultCall kFaults[] = {
      &World::KillWorker,      &World::PauseWorker,     &World::KillController,
      &World::KillController,  &World::PauseController, &World::Partition,
      &World::ResetConnection, &World::SendAgain,       &World::StoreUnavailable};
  const int count = static_cast<int>(Between(0, 10));
  for (int i = 0; i < count; ++i) {
    const int64_t at = Between(300 * kMs, kFaultsUntil);
    const auto worker = static_cast<size_t>(Draw(workers.size()));
    const int place = static_cast<int>(Draw(2));
    const FaultCall fault = kFaults[Draw(std::size(kFaults))];
    At(at, [this, fault, worker, place] { (this->*fault)(worker, place); });
  }
}

}  // namespace lockstep::simulation
