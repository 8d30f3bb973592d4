#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <queue>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/safeguards.h"
#include "proto/worker.pb.h"
#include "tests/fakes/memory_spool.h"
#include "tests/fakes/memory_store.h"

// A fleet in virtual time: the programs' own deciding parts (controller/runs' coordinator, run
// actor and ingest pipeline, controller/core, worker/link's protocol, outbox and connection keeper)
// on simulated clocks, networks, processes, disks and a simulated store, with faults of every kind
// at random instants. Everything is drawn from one seed: the same seed gives the same history.
namespace lockstep::simulation {

class World;
class Controller;
class Worker;

// A machine's monotonic clock: offset and rate of its own against the world's time.
class NodeClock final : public common::Clock {
 public:
  NodeClock(const World* world, int64_t offset_ns, double drift)
      : world_(world), offset_ns_(offset_ns), drift_(drift) {}
  int64_t MonotonicNs() const override;
  int64_t WallNs() const override { return MonotonicNs(); }
  void SleepUntil(int64_t) const override {}
  // The world's time at which this clock shows `at_ns`.
  int64_t ToWorld(int64_t at_ns) const;

 private:
  const World* world_;
  const int64_t offset_ns_;
  const double drift_;
};

struct Settings {
  uint64_t seed = 1;
  common::Safeguards safeguards;
  bool print = false;  // the history, as it happens
};

// The result of a seed.
struct Outcome {
  std::vector<std::string> violations;
  uint64_t history = 0;  // hash of everything that happened
  uint64_t events = 0;
  std::map<std::string, int> ended;   // runs by their end
  std::map<std::string, int> faults;  // what was done to them
};

Outcome Simulate(const Settings& settings);

class World {
 public:
  explicit World(const Settings& settings);
  ~World();
  Outcome Run();

  // --- Time and chance. ---
  int64_t now() const { return now_; }
  void At(int64_t at_ns, std::function<void()> call);
  void In(int64_t after_ns, std::function<void()> call) { At(now_ + after_ns, std::move(call)); }
  uint64_t Draw(uint64_t bound) { return bound == 0 ? 0 : random_() % bound; }
  bool Chance(double probability) {
    return static_cast<double>(random_() >> 11) / 9007199254740992.0 < probability;
  }
  int64_t Between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(Draw(static_cast<uint64_t>(high - low + 1)));
  }
  std::string Uuid();

  // --- History and invariants. ---
  void Note(const std::string& text);
  void Violation(const std::string& text);
  const common::Safeguards& safeguards() const { return settings_.safeguards; }

  // --- What nodes see. ---
  storage::MemoryDatabase& database() { return database_; }
  storage::MemoryStore::Fate StoreFate(int controller, bool changing);
  Controller* Reachable(int worker, int place);
  // Which one holds the lock; -1 when none does.
  int ActiveController() const { return active_; }
  void Fault(const std::string& kind) { ++outcome_.faults[kind]; }

  // --- From workers' executors: what really happens to devices. ---
  void ArmedFor(int worker, const v1::PhaseId& phase);
  void BeginIo(int worker, const v1::PhaseId& phase, int64_t at_own_ns, int64_t now_own_ns,
               bool load);
  void EndIo(int worker, const v1::PhaseId& phase);
  void Measured(int worker, const v1::PhaseId& phase, const v1::DeliveryItem& item);
  // `end_ns`: of that interval, in the world's time.
  void LoadIsToEnd(const v1::PhaseId& phase, uint32_t interval, int64_t end_ns);
  // A person was told that the load of the run's phase ends.
  void LoadEndAnswered(const std::string& run_id);
  // A person was told that the run is being stopped, without a warning that the store does not have
  // it yet.
  void StopAnswered(const std::string& run_id) { stop_answered_.insert(run_id); }
  // The worker ended its part of the attempt before its time, by a controller's order.
  void CutShort(int worker, const v1::PhaseId& phase) { cut_short_[KeyOf(phase)].insert(worker); }
  void GivenUp(const std::string& worker_id);
  void ExecutorFault(const std::string& run_id) { blamed_.insert(run_id); }
  void CheckStore();

  std::vector<std::unique_ptr<Worker>> workers;
  std::vector<std::unique_ptr<Controller>> controllers;  // places: 0 and 1
  storage::MemorySpool spools[2] = {storage::MemorySpool(1 << 20), storage::MemorySpool(1 << 20)};

 private:
  friend class Controller;
  using AttemptKey = std::tuple<std::string, uint32_t, uint32_t>;
  static AttemptKey KeyOf(const v1::PhaseId& phase) {
    return {phase.run_id(), phase.phase(), phase.attempt()};
  }
  void CutOff(int worker, int64_t for_ns);
  void Submit(int number);
  void EndLoads(const std::string& run_id);
  void ScheduleFaults();
  // The faults; each takes a worker and a place of controllers, and uses what it needs.
  void KillWorker(size_t worker, int place);
  void PauseWorker(size_t worker, int place);
  void KillController(size_t worker, int place);
  void PauseController(size_t worker, int place);
  void Partition(size_t worker, int place);
  void ResetConnection(size_t worker, int place);
  void SendAgain(size_t worker, int place);
  void StoreUnavailable(size_t worker, int place);
  void Elect();
  // Some controller held it for lost, so that what it does in this attempt concerns nobody else any
  // more.
  bool IsLost(const v1::PhaseId& phase, int worker) const;
  void CheckAtWork();
  bool IsExcused(const std::string& id, const storage::MemoryDatabase::Run& run) const;
  void CheckEnd(const std::string& id, const storage::MemoryDatabase::Run& run);
  void CheckPolicy(const std::string& id, const storage::MemoryDatabase::Run& run);
  void CheckPlan(const std::string& id, const storage::MemoryDatabase::Run& run);
  int WorkerOf(const std::string& run_id, uint32_t index) const;

  const Settings settings_;
  std::mt19937_64 random_;
  int64_t now_ = 0;
  uint64_t order_ = 0;
  struct Event {
    int64_t at;
    uint64_t order;
    std::function<void()> call;
    bool operator<(const Event& other) const {
      return std::tie(at, order) > std::tie(other.at, other.order);
    }
  };
  std::priority_queue<Event> events_;
  Outcome outcome_;
  storage::MemoryDatabase database_;
  bool store_unavailable_ = false;
  int active_ = -1;       // which controller holds the lock
  bool settled_ = false;  // no more faults
  bool cut_[8][2] = {};   // worker to controller
  uint64_t last_epoch_ = 0;
  std::map<AttemptKey, std::set<int>> armed_;
  // what each executor handed over, serialized
  std::map<AttemptKey, std::map<int, std::vector<std::string>>> measured_;
  std::map<int, v1::PhaseId> at_work_;  // workers that do I/O
  // Run and worker id → how many attempts of the run were recorded when some controller gave the
  // worker up. The worker counts as lost in those attempts, and in one that was being recorded at
  // that moment; in later ones only if the store says so.
  std::map<std::pair<std::string, std::string>, size_t> given_up_;
  std::set<std::string> blamed_;         // runs that a failing device may end
  std::set<std::string> stopped_;        // runs that a person may have ended
  std::set<std::string> stop_answered_;  // runs whose stop was answered
  std::map<AttemptKey, std::set<int>> cut_short_;
  std::map<AttemptKey, std::map<uint32_t, size_t>> checked_;
};

}  // namespace lockstep::simulation
