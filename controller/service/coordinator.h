#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "common/clock.h"
#include "common/queue.h"
#include "controller/service/run_actor.h"

namespace lockstep::controller {

// The controller's one deciding thread: keeps the queue, gives workers and targets to runs, and owns the active ones. Public
// methods may be called from any thread; they post to that thread.
class Coordinator {
 public:
  struct Options {
    storage::Store* store = nullptr;        // outlives this, as do the next three
    Watchers* watchers = nullptr;
    const common::Clock* clock = nullptr;
    std::string store_device;               // "boot_id/device" underneath an embedded store; may be empty
  };

  explicit Coordinator(Options options);
  ~Coordinator();

  // Before anything else, once: the fleet and the pipeline exist now. Takes over the queue from the store.
  void Start(Fleet* fleet, IngestPipeline* ingest, std::vector<storage::RunRecord> queue);
  // Ends the active runs, waits for their ends to be stored (for some seconds at most) and stops the threads.
  void Shutdown();

  // --- From the fleet. ---
  void OnAttached(const v1::Hello& hello);
  void OnMessage(const std::string& worker_id, const v1::WorkerMessage& message);
  void OnLost(const std::string& worker_id, const std::string& reason);

  // --- From callers. Each answers through `done`, on the coordinator's thread. ---
  // A run that is in the store's queue already. Answers how many are before it.
  void Enqueue(storage::RunRecord run, std::function<void(uint32_t position)> done);
  void StopRun(const std::string& run_id, bool now, const std::string& reason, std::function<void(absl::StatusOr<std::string>)> done);
  // Inspects the targets on the workers that the job would take.
  void Plan(v1::JobSpec job, std::function<void(v1::PlanReply)> done);
  void Watch(const std::string& run_id, std::shared_ptr<WatchStream> stream, v1::RunSummary summary);
  // Worker id → run id.
  void Leases(std::function<void(std::map<std::string, std::string>)> done);
  // Whether enough workers are attached for the job, busy or not: OK or RESOURCE_EXHAUSTED in words.
  absl::Status CanEverRun(const v1::JobSpec& job) const;

 private:
  using Inspected = std::function<void(std::vector<PlanWorker>, const std::string& missing)>;
  struct PendingInspection {
    std::vector<PlanWorker> workers;
    size_t missing = 0;
    Inspected done;
  };
  struct Starting {
    std::vector<std::string> worker_ids;
    bool cancelled = false;
    std::string cancel_reason;
  };

  void Post(std::function<void()> call);
  void After(int64_t after_ns, std::function<void()> call);
  void Persist(std::function<absl::Status()> work, std::function<void(const absl::Status&)> then);
  void Main();
  void StoreMain();

  std::vector<PlanWorker> Attached() const;
  bool IsBusy(const std::string& worker_id) const;
  void Schedule();
  void StartRun(storage::RunRecord run, const std::vector<PlanWorker>& workers);
  void Launch(storage::RunRecord run, std::vector<PlanWorker> workers, const std::string& missing);
  void FailBeforeStart(const storage::RunRecord& run, const std::vector<PlanWorker>& workers, const std::string& state, const std::string& reason,
                       const std::vector<std::string>& notes);
  void Finish(const std::string& run_id);
  // All places of the run, but not those of the workers in `keep`.
  void ReleasePlaces(const std::string& run_id, const std::set<std::string>& keep);
  void Inspect(const std::string& id, const v1::JobSpec& job, std::vector<PlanWorker> workers, Inspected done);
  ActorServices Services();

  const Options options_;
  Fleet* fleet_ = nullptr;
  IngestPipeline* ingest_ = nullptr;

  // The deciding thread's own.
  std::deque<storage::RunRecord> queue_;
  std::map<std::string, Starting> starting_;
  std::map<std::string, std::shared_ptr<RunActor>> active_;
  std::map<std::string, PendingInspection> inspections_;
  struct Holder {
    std::string run_id;
    std::string worker_id;
  };
  std::map<std::string, Holder> places_;                  // written place → who writes there
  std::map<std::string, std::set<std::string>> lost_;     // run → its workers that were lost

  struct Work {
    std::function<absl::Status()> work;
    std::function<void(const absl::Status&)> then;
  };
  common::Queue<Work> store_queue_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> calls_;                       // guarded by mutex_
  std::multimap<int64_t, std::function<void()>> timers_;          // guarded by mutex_; by due time
  bool stopping_ = false;                                         // guarded by mutex_
  std::atomic<bool> store_stopping_{false};
  std::thread thread_;
  std::thread store_thread_;
};

}  // namespace lockstep::controller
