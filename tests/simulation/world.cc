#include "tests/simulation/world.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/timing.h"
#include "spdlog/spdlog.h"
#include "tests/simulation/nodes.h"

namespace lockstep::simulation {
namespace {

using timing::kMs;
using timing::kSecond;
constexpr int64_t kSettled = 75 * kSecond;
constexpr int64_t kGiveUp = 900 * kSecond;

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
  if (store_unavailable_) return storage::MemoryStore::Fate::kUnavailable;
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
      if (run.record.state == measure::RunState::kQueued ||
          run.record.state == measure::RunState::kRunning)
        return false;
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
    CheckAtWork();
    if (outcome_.events % 256 == 0) CheckStore();
  }
  CheckStore();
  for (const auto& [id, run] : database_.runs) CheckEnd(id, run);
  return outcome_;
}

Outcome Simulate(const Settings& settings) {
  spdlog::set_level(settings.print ? spdlog::level::info : spdlog::level::off);
  World world(settings);
  return world.Run();
}

}  // namespace lockstep::simulation
