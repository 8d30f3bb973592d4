#include "tests/simulation/world.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "controller/plan/next_phase.h"
#include "controller/plan/validate.h"
#include "spdlog/spdlog.h"
#include "tests/simulation/nodes.h"

namespace lockstep::simulation {
namespace {

constexpr int64_t kMs = 1000000;
constexpr int64_t kSecond = 1000 * kMs;
constexpr int64_t kFaultsUntil = 50 * kSecond;
constexpr int64_t kSettled = 75 * kSecond;
constexpr int64_t kGiveUp = 900 * kSecond;
// How late a load may begin by its own clock: what a thread's wake-up may take here.
constexpr int64_t kLate = 30 * kMs;

std::string NameOf(const v1::PhaseId& phase) {
  return absl::StrCat(phase.run_id().substr(0, 4), "/", phase.phase(), ".", phase.attempt());
}

// What was measured; why a phase counts as failed is the protocol's to say.
std::string Figures(v1::DeliveryItem item) {
  if (item.has_result()) item.mutable_result()->clear_error();
  return item.SerializeAsString();
}

}  // namespace

int64_t NodeClock::MonotonicNs() const {
  return offset_ns_ + world_->now() + std::llround(drift_ * static_cast<double>(world_->now()));
}
int64_t NodeClock::ToWorld(int64_t at_ns) const {
  return std::llround(static_cast<double>(at_ns - offset_ns_) / (1 + drift_)) + 1;
}

World::World(const Settings& settings) : settings_(settings), random_(settings.seed) {}
World::~World() = default;

void World::At(int64_t at_ns, std::function<void()> call) {
  events_.push({std::max(at_ns, now_), ++order_, std::move(call)});
}

std::string World::Uuid() {
  const uint64_t a = random_();
  const uint64_t b = random_();
  return absl::StrFormat("%08x-%04x-4%03x-8%03x-%012x", a >> 32, (a >> 16) & 0xffff, a & 0xfff,
                         b >> 52, b & 0xffffffffffff);
}

void World::Note(const std::string& text) {
  for (const char c : text) {
    outcome_.history = (outcome_.history ^ static_cast<uint8_t>(c)) * 1099511628211u;
  }
  outcome_.history ^= static_cast<uint64_t>(now_);
  if (settings_.print) absl::PrintF("%10.4f %s\n", static_cast<double>(now_) / 1e9, text);
}

void World::Violation(const std::string& text) {
  Note(absl::StrCat("VIOLATION: ", text));
  outcome_.violations.push_back(
      absl::StrFormat("%.3f s: %s", static_cast<double>(now_) / 1e9, text));
}

storage::MemoryStore::Fate World::StoreFate(int, bool changing) {
  if (store_away_) return storage::MemoryStore::Fate::kAway;
  if (changing && !settled_ && Chance(0.006)) {
    Fault("answer of the store lost");
    return Chance(0.5) ? storage::MemoryStore::Fate::kDoneButAnswerLost
                       : storage::MemoryStore::Fate::kDoneLater;
  }
  return storage::MemoryStore::Fate::kDone;
}

Controller* World::Reachable(int worker, int place) {
  Controller* controller = controllers[static_cast<size_t>(place)].get();
  return controller->running() && !cut_[worker][place] ? controller : nullptr;
}

int World::WorkerOf(const std::string& run_id, uint32_t index) const {
  const std::string& id = database_.runs.at(run_id).workers[index].worker_id;
  for (size_t i = 0; i < workers.size(); ++i) {
    if (workers[i]->id() == id) return static_cast<int>(i);
  }
  return -1;
}

void World::GivenUp(const std::string& worker_id) {
  for (const auto& [run_id, run] : database_.runs) {
    given_up_[{run_id, worker_id}] = run.phases.size();
  }
}

bool World::IsLost(const v1::PhaseId& phase, int worker) const {
  const std::string& id = workers[static_cast<size_t>(worker)]->id();
  const auto& run = database_.runs.at(phase.run_id());
  const auto attempt = run.phases.find({phase.phase(), phase.attempt()});
  const auto given_up = given_up_.find({phase.run_id(), id});
  if (given_up != given_up_.end() &&
      static_cast<size_t>(std::distance(run.phases.begin(), attempt)) < given_up->second + 1) {
    return true;
  }
  for (const measure::RunWorker& member : run.workers) {
    if (member.worker_id == id && member.lost) return true;
  }
  return false;
}

// -------------------------------------------------------------------------------------------------
// the invariants

void World::ArmedFor(int worker, const v1::PhaseId& phase) {
  armed_[KeyOf(phase)].insert(worker);
  Note(absl::StrCat("worker ", worker, " is armed for ", NameOf(phase)));
  if (!settled_ && Chance(0.004)) CutOff(worker, Between(50 * kSecond, 100 * kSecond));
}

void World::BeginIo(int worker, const v1::PhaseId& phase, int64_t at_own_ns, int64_t now_own_ns,
                    bool load) {
  Note(absl::StrCat("worker ", worker, " begins ", NameOf(phase)));
  const auto& run = database_.runs[phase.run_id()];
  const auto found = run.phases.find({phase.phase(), phase.attempt()});
  if (found == run.phases.end()) {
    return Violation(
        absl::StrCat("worker ", worker, " does I/O for an attempt that is not in the store"));
  }
  const auto& stored = found->second;
  const bool given_up = IsLost(phase, worker);
  const bool is_member = std::any_of(
      stored.cursors.begin(), stored.cursors.end(),
      [&](const auto& cursor) { return WorkerOf(phase.run_id(), cursor.first) == worker; });
  if (!is_member) {
    Violation(absl::StrCat("worker ", worker, " begins an attempt that it is not a member of"));
  }
  for (const auto& [index, cursor] : stored.cursors) {
    const int member = WorkerOf(phase.run_id(), index);
    if (!IsLost(phase, member) && armed_[KeyOf(phase)].count(member) == 0) {
      Violation(
          absl::StrCat("worker ", worker, " begins although worker ", member, " never armed"));
    }
    if (member != worker) continue;
    bool agreed = false;
    for (const measure::WorkerClock& clock : stored.clocks) {
      agreed = agreed ||
               (clock.worker_index == index && stored.record.go_ns + clock.offset_ns == at_own_ns);
    }
    if (!agreed) {
      Violation(absl::StrCat("worker ", worker, " begins at a T that is not in the store"));
    }
  }
  if (stored.ended && !given_up) {
    Violation(absl::StrCat("worker ", worker, " begins an attempt that is closed"));
  }
  if (load && now_own_ns - at_own_ns > kLate &&
      now_ > workers[static_cast<size_t>(worker)]->paused_until_ + kLate) {
    Violation(
        absl::StrCat("worker ", worker, " begins ", (now_own_ns - at_own_ns) / kMs, " ms after T"));
  }
  for (const auto& [other, theirs] : at_work_) {
    // A stopped process does nothing; when it is continued, the first thing that it sees is that
    // its time is over, and it drains.
    if (now_ < workers[static_cast<size_t>(other)]->paused_until_ + 500 * kMs) continue;
    if (theirs.run_id() != phase.run_id()) {
      Violation(absl::StrCat("a device under two runs: worker ", other, " in ", NameOf(theirs),
                             ", worker ", worker, " in ", NameOf(phase)));
    } else if (KeyOf(theirs) != KeyOf(phase) && !IsLost(theirs, other) && !given_up) {
      Violation(absl::StrCat("two phases at once: ", NameOf(theirs), " and ", NameOf(phase)));
    }
  }
  at_work_[worker] = phase;
}

void World::EndIo(int worker, const v1::PhaseId& phase) {
  Note(absl::StrCat("worker ", worker, " has ended ", NameOf(phase)));
  at_work_.erase(worker);
}

void World::LoadIsToEnd(const v1::PhaseId& phase, uint32_t interval) {
  const auto& run = database_.runs[phase.run_id()];
  const auto found = run.phases.find({phase.phase(), phase.attempt()});
  if (found == run.phases.end() || found->second.record.end_of_load != interval) {
    Violation(absl::StrCat("the load of ", NameOf(phase), " is to end after interval ", interval,
                           ", which is not what the store has"));
  }
}

void World::Measured(int worker, const v1::PhaseId& phase, const v1::DeliveryItem& item) {
  measured_[KeyOf(phase)][worker].push_back(Figures(item));
}

// What is stored is what was measured, in order, once.
void World::CheckStore() {
  for (const auto& [run_id, run] : database_.runs) {
    for (const auto& [key, phase] : run.phases) {
      for (const auto& [index, items] : phase.items) {
        size_t& checked = checked_[{run_id, key.first, key.second}][index];
        if (checked == items.size()) continue;
        const auto& truth = measured_[{run_id, key.first, key.second}][WorkerOf(run_id, index)];
        for (; checked < items.size(); ++checked) {
          if (checked < truth.size() && truth[checked] == Figures(items[checked])) continue;
          Violation(absl::StrCat("sample ", checked, " of worker index ", index, " in phase ",
                                 key.first, ".", key.second,
                                 " is stored twice, out of order or changed"));
          checked = items.size();
          break;
        }
      }
    }
  }
}

// -------------------------------------------------------------------------------------------------
// the story

void World::Submit(int number) {
  Controller* active = active_ < 0 ? nullptr : controllers[static_cast<size_t>(active_)].get();
  if (active == nullptr || !active->running() || active->paused() || store_away_) {
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
  run.state = "queued";
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
      controller->StopRun(id, at_once);
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
  if (!store_away_ && (active == nullptr || !active->running() || deposed)) {
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
  workers[static_cast<size_t>(worker)]->CutConnection(false);
  In(for_ns, [this, worker] { cut_[worker][0] = cut_[worker][1] = false; });
}

void World::ScheduleFaults() {
  const int count = static_cast<int>(Between(0, 10));
  for (int i = 0; i < count; ++i) {
    const int64_t at = Between(300 * kMs, kFaultsUntil);
    const auto worker = static_cast<size_t>(Draw(workers.size()));
    const int place = static_cast<int>(Draw(2));
    switch (Draw(9)) {
      case 0:
        At(at, [this, worker] {
          Fault("worker killed");
          Note(absl::StrCat("worker ", worker, " is killed"));
          workers[worker]->Kill();
          In(Between(100 * kMs, 9 * kSecond), [this, worker] { workers[worker]->Start(); });
        });
        break;
      case 1:
        At(at, [this, worker] {
          Fault("worker stopped and continued");
          const int64_t pause = Between(100 * kMs, 15 * kSecond);
          Note(absl::StrCat("worker ", worker, " is paused for ", pause / kMs, " ms"));
          workers[worker]->PauseUntil(now_ + pause);
        });
        break;
      case 2:
      case 3:
        At(at, [this] {
          if (active_ < 0) return;
          Fault("controller killed");
          Note("the active controller is killed");
          const int place = active_;
          controllers[static_cast<size_t>(place)]->Kill();
          for (const auto& w : workers) {
            if (w->connection_ != nullptr && w->connection_->controller == place) {
              w->CutConnection(true);
            }
          }
          if (Chance(0.3)) {
            Fault("spool lost with its host");
            spools[place].Clear();
          }
        });
        break;
      case 4:
        At(at, [this] {
          if (active_ < 0) return;
          Fault("controller stopped and continued");
          const int64_t pause = Between(100 * kMs, 20 * kSecond);
          Note(absl::StrCat("the active controller is paused for ", pause / kMs, " ms"));
          controllers[static_cast<size_t>(active_)]->PauseUntil(now_ + pause);
        });
        break;
      case 5:
        At(at, [this, worker, place] {
          Fault("partition");
          Note(absl::StrCat("worker ", worker, " cannot reach controller ", place));
          cut_[worker][place] = true;
          if (workers[worker]->connection_ != nullptr &&
              workers[worker]->connection_->controller == place) {
            workers[worker]->CutConnection(Chance(0.3));
          }
          if (Chance(0.5)) {
            return CutOff(static_cast<int>(worker), Between(10 * kSecond, 100 * kSecond));
          }
          In(Between(100 * kMs, 20 * kSecond),
             [this, worker, place] { cut_[worker][place] = false; });
        });
        break;
      case 6:
        At(at, [this, worker] {
          Fault("connection reset");
          Note(absl::StrCat("worker ", worker, " loses its connection"));
          workers[worker]->CutConnection(true);
        });
        break;
      case 7:
        At(at, [this, worker] {
          Fault("samples sent again");
          workers[worker]->ResetDeliver();
        });
        break;
      default:
        At(at, [this] {
          Fault("store away");
          Note("the store goes away");
          store_away_ = true;
          // Now and then for longer than every deadline.
          In(Chance(0.2) ? Between(12 * kSecond, 90 * kSecond) : Between(100 * kMs, 12 * kSecond),
             [this] {
               Note("the store is back");
               store_away_ = false;
             });
        });
    }
  }
}

// It ended as on_worker_loss and min_hosts say.
void World::CheckPolicy(const std::string& id, const storage::MemoryDatabase::Run& run) {
  const v1::LossPolicy policy = run.record.job.on_worker_loss();
  const size_t least = std::max<size_t>(1, run.record.job.min_hosts());
  size_t lost = 0;
  for (const measure::RunWorker& member : run.workers) lost += member.lost ? 1u : 0u;
  const std::string what =
      absl::StrCat("run ", id.substr(0, 4), " (", v1::LossPolicy_Name(policy), ", ", lost, " of ",
                   run.workers.size(), " lost, ", least, " needed): ", run.record.outcome);
  if (run.record.state == "aborted" && run.record.outcome.find("(attempt ") == std::string::npos) {
    const bool too_few = run.workers.size() - lost < least;
    const bool by_policy =
        policy == v1::LOSS_POLICY_ABORT ? lost > 0
        : policy == v1::LOSS_POLICY_CONTINUE
            ? too_few
            : too_few && run.record.outcome.find("did not return") != std::string::npos;
    if (!by_policy) Violation(absl::StrCat("aborted against its policy: ", what));
  }
  if (run.record.state != "done") return;
  for (const auto& [key, phase] : run.phases) {
    if (phase.record.state != "done") continue;
    const size_t needed = policy == v1::LOSS_POLICY_ABORT ? run.workers.size() : least;
    if (phase.results.size() < needed) {
      Violation(absl::StrCat("done with ", phase.results.size(), " results of phase ", key.first,
                             ": ", what));
    }
    // Under retry a phase without a member's part is begun again.
    if (policy == v1::LOSS_POLICY_RETRY && phase.results.size() != phase.cursors.size()) {
      Violation(absl::StrCat("done without a member's result of phase ", key.first, ": ", what));
    }
  }
}

// Its phases are those that the job and the results ask for, one after the other, whoever planned
// them.
void World::CheckPlan(const std::string& id, const storage::MemoryDatabase::Run& run) {
  std::vector<controller::StepResult> results;
  std::map<uint32_t, const measure::PhaseRecord*> last_attempts;
  for (const auto& [key, phase] : run.phases) {
    const auto earlier = last_attempts.find(key.first);
    if (earlier != last_attempts.end() && (earlier->second->job_phase != phase.record.job_phase ||
                                           earlier->second->step != phase.record.step)) {
      Violation(absl::StrCat("run ", id.substr(0, 4), ": attempts of phase ", key.first,
                             " are of different steps"));
    }
    last_attempts[key.first] = &phase.record;
  }
  bool ending = false;
  uint32_t due = 0;
  for (const auto& [number, record] : last_attempts) {
    auto next = controller::NextPhase(run.record.job, results, ending);
    // How a run ends is not part of its phases: what is not the next one cleans up.
    if (!next.ok() || !next->has_value() || (*next)->job_phase != record->job_phase) {
      ending = true;
      next = controller::NextPhase(run.record.job, results, true);
    }
    if (number != due++ || !next.ok() || !next->has_value() ||
        (*next)->job_phase != record->job_phase || (*next)->step != record->step ||
        (*next)->spec.SerializeAsString() != record->spec.SerializeAsString()) {
      return Violation(absl::StrCat("run ", id.substr(0, 4), ": phase ", number, " (", record->name,
                                    ") is not what comes next"));
    }
    // It came to nothing, and the run ended before it was begun again: a cleanup is tried once
    // more.
    if (record->state == "void") continue;
    results.push_back(
        {record->job_phase, record->step, record->name, record->state == "done", record->figures});
  }
  if (run.record.state != "done") return;
  const auto more = controller::NextPhase(run.record.job, results, false);
  if (ending || !more.ok() || more->has_value()) {
    Violation(absl::StrCat("run ", id.substr(0, 4), " is done before its job is"));
  }
}

Outcome World::Run() {
  const int count = static_cast<int>(Between(1, 4));
  for (int i = 0; i < 2; ++i) controllers.push_back(std::make_unique<Controller>(this, i));
  for (int i = 0; i < count; ++i) workers.push_back(std::make_unique<Worker>(this, i));
  Elect();
  for (const auto& worker : workers) worker->Start();
  const int runs = Chance(0.7) ? 2 : 1;
  At(500 * kMs, [this] { Submit(0); });
  if (runs == 2) At(Between(kSecond, 10 * kSecond), [this] { Submit(1); });
  ScheduleFaults();
  At(kSettled, [this] { settled_ = true; });
  const auto over = [&] {
    if (static_cast<int>(database_.runs.size()) != runs) return false;
    for (const auto& [id, run] : database_.runs) {
      if (run.record.state == "queued" || run.record.state == "running") return false;
    }
    return at_work_.empty();
  };
  int64_t over_since = 0;
  while (!events_.empty() && now_ < kGiveUp && outcome_.violations.size() < 5) {
    // Some time is left after the last run's end for what might still come.
    if (outcome_.events % 64 == 0) over_since = over() ? (over_since == 0 ? now_ : over_since) : 0;
    if (over_since != 0 && now_ > over_since + 3 * kSecond) break;
    Event event = events_.top();
    events_.pop();
    now_ = event.at;
    ++outcome_.events;
    event.call();
    if (database_.epoch < last_epoch_) Violation("the epoch went back");
    last_epoch_ = database_.epoch;
    for (const auto& [worker, phase] : at_work_) {
      const auto& run = database_.runs[phase.run_id()];
      const auto stored = run.phases.find({phase.phase(), phase.attempt()});
      if (stored == run.phases.end() || !stored->second.ended || IsLost(phase, worker) ||
          now_ < workers[static_cast<size_t>(worker)]->paused_until_) {
        continue;
      }
      Violation(
          absl::StrCat("worker ", worker, " does I/O in ", NameOf(phase), ", which is closed"));
      break;
    }
    if (outcome_.events % 256 == 0) CheckStore();
  }
  CheckStore();
  for (const auto& [id, run] : database_.runs) {
    const std::string& state = run.record.state;
    ++outcome_.ended[state];
    Note(absl::StrCat("run ", id.substr(0, 4), " is ", state,
                      run.record.degraded ? " (degraded)" : "", ": ", run.record.outcome));
    if (state == "queued" || state == "running") {
      Violation(absl::StrCat("run ", id.substr(0, 4), " does not end: it is ", state));
    }
    // A barrier is missed, rightly, where a worker or the way to it stood still for longer than its
    // deadline; and one that stood still for the whole of a phase has measured nothing.
    const bool stood_still = outcome_.faults.count("worker stopped and continued") +
                                 outcome_.faults.count("partition") +
                                 outcome_.faults.count("controller stopped and continued") !=
                             0;
    // So has one that a person stopped; the run may end otherwise where the store never heard of
    // it.
    const bool measured_nothing = (stood_still || stopped_.count(id) != 0) &&
                                  run.record.outcome.find("reached no IOPS") != std::string::npos;
    const bool excused =
        measured_nothing ||
        (stood_still && (run.record.outcome.find("before the deadline") != std::string::npos ||
                         run.record.outcome.find("at its hard stop") != std::string::npos)) ||
        (run.workers.empty() || run.phases.empty() ? !given_up_.empty() : false);
    if (state == "failed" && blamed_.count(id) == 0 && !excused) {
      Violation(absl::StrCat("run ", id.substr(0, 4),
                             " failed though no device did: ", run.record.outcome));
    }
    if (state == "cancelled" && stopped_.count(id) == 0) {
      Violation(absl::StrCat("run ", id.substr(0, 4), " was cancelled by nobody"));
    }
    CheckPolicy(id, run);
    CheckPlan(id, run);
    if (state != "done") continue;
    for (const auto& [key, phase] : run.phases) {
      if (phase.record.state != "done") continue;
      for (const auto& [index, cursor] : phase.cursors) {
        if (phase.results.count(index) == 0 && !run.record.degraded) {
          Violation(absl::StrCat("phase ", key.first, ".", key.second,
                                 " is done without the result of worker index ", index));
        }
      }
    }
  }
  return outcome_;
}

Outcome Simulate(const Settings& settings) {
  spdlog::set_level(settings.print ? spdlog::level::info : spdlog::level::off);
  World world(settings);
  return world.Run();
}

}  // namespace lockstep::simulation
