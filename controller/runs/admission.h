#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "controller/ingest/watchers.h"
#include "controller/plan/assign.h"
#include "controller/plan/plan_token.h"
#include "controller/plan/selection.h"
#include "controller/plan/stamp_registry.h"
#include "controller/runs/device_queries.h"
#include "controller/runs/inspections.h"
#include "controller/runs/loop.h"
#include "controller/runs/run_ends.h"
#include "controller/runs/target_locks.h"
#include "proto/controller.pb.h"
#include "storage/store.h"

namespace lockstep::controller {

using measure::RunState;
using measure::Severity;

// Decides whether a run may start on its workers: lets each of them inspect its targets, and checks
// that all of them are allowed and free, and that their files fit. A run that may start gets its
// targets, and its start is stored. A run that may not is ended in the store. A run whose targets
// another run holds goes back to the queue. Used only on the loop's deciding thread.
class Admission {
 public:
  struct Options {
    storage::RunStore* store = nullptr;  // outlives this, as do the next three
    Watchers* watchers = nullptr;
    const common::Clock* clock = nullptr;
    Loop* loop = nullptr;
    RunEnds* ends = nullptr;  // outlives this
    StoreLocation store_location = {};
    const PlanTokens* tokens = nullptr;  // outlives this, as does the next
    const StampRegistry* stamps = nullptr;
    // as Coordinator::Options::working
    std::function<std::shared_ptr<void>(const std::string& run_id)> working;
  };
  struct Admitted {
    SettledRun run;
    std::vector<std::string> warnings;
    bool cancelled = false;  // since it began to start
    std::string cancel_reason;
    std::map<std::string, std::string> lost;  // members that were lost since then, and why
  };
  struct Callbacks {
    std::function<void(Admitted)> admitted;                  // its start is in the store
    std::function<void(measure::RunRecord)> waits;           // another run has what it needs
    std::function<void(const std::string& run_id)> refused;  // its end is in the store
  };

  // The pointers outlive this.
  Admission(Options options, Callbacks callbacks, TargetLocks* locks, Inspections* inspections,
            DeviceQueries* kernels);

  void Begin(measure::RunRecord run, std::vector<PlanWorker> workers);
  // Ends a run before it has started. False when it is not being admitted.
  bool Cancel(const std::string& run_id, const std::string& reason);
  void OnLost(const std::string& worker_id, const std::string& reason);
  bool Has(const std::string& run_id) const { return starting_.contains(run_id); }
  bool Uses(const std::string& worker_id) const;
  // No run is on its way from the queue to its start.
  bool empty() const { return starting_.empty(); }
  // Worker id → run id, of all that are being admitted.
  std::map<std::string, std::string> Leases() const;

  // Inspects and checks the same, and starts nothing.
  void Plan(const std::shared_ptr<const v1::JobSpec>& shared, std::vector<PlanWorker> workers,
            std::function<void(v1::PlanReply)> done);

 private:
  struct Starting {
    std::vector<std::string> worker_ids;
    bool cancelled = false;
    std::string cancel_reason;
    std::map<std::string, std::string> lost;
    // Before its workers were asked: grants of space that had ended, and writers.
    uint64_t grants_ended = 0, writers_ended = 0;
  };
  // The answers of the workers and of the fleet's kernels.
  struct Found {
    std::vector<PlanWorker> workers;
    std::string missing;            // answers that did not arrive in time; empty if all did
    std::vector<std::string> uses;  // UsesInFleet()
  };
  // Lets the workers inspect the job's targets and, where it writes devices, the fleet's
  // kernels. The job is shared, not copied: one of a megabyte is a hundred thousand names.
  void Inspect(const std::string& id, const std::shared_ptr<const v1::JobSpec>& job,
               std::vector<PlanWorker> workers, std::function<void(Found)> done);
  void Decide(measure::RunRecord run, Found found);
  void Wait(measure::RunRecord run, const TargetLocks::Conflict& conflict);
  void Start(const measure::RunRecord& run, std::vector<PlanWorker> workers,
             const std::vector<std::string>& warnings);
  void Refuse(const measure::RunRecord& run, const std::vector<PlanWorker>& workers, RunState state,
              const std::string& reason, const std::vector<std::string>& notes);

  const Options options_;
  const Callbacks callbacks_;
  TargetLocks* const locks_;
  Inspections* const inspections_;
  DeviceQueries* const kernels_;
  std::map<std::string, Starting> starting_;  // by run
};

}  // namespace lockstep::controller
