#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/safeguards.h"
#include "controller/core/range_locks.h"
#include "controller/core/space_ledger.h"
#include "controller/plan/selection.h"
#include "controller/runs/loop.h"
#include "storage/store.h"

namespace lockstep::controller {

// Keeps which bytes and how much free space each run in progress has, so that no two runs write the
// same bytes or fill the same file system. Targets to which a lost worker may still be writing stay
// held beyond its run, also by a later controller. Used only on the loop's deciding thread.
class TargetLocks {
 public:
  // `freed` is called when something has become free. The pointers outlive this.
  TargetLocks(storage::RunStore* store, const common::Clock* clock, Loop* loop,
              common::Safeguards safeguards, std::function<void()> freed);

  // Why a job cannot start on these workers now.
  struct Conflict {
    std::string run_id;  // whose it is
    std::string until;   // as "or its lost workers have left target x of node1"
  };
  // A conflict over bytes that another run writes, or may still be writing.
  std::optional<Conflict> FindWritten(const std::string& run_id, const v1::JobSpec& job,
                                      const std::vector<PlanWorker>& workers);
  // A conflict over free space that other runs are about to use, when it is not enough for both.
  std::optional<Conflict> FindFilled(const std::string& run_id, const FleetCheck& check) const;

  void Take(const std::string& run_id, const v1::JobSpec& job,
            const std::vector<PlanWorker>& workers);
  void TakeSpace(const std::string& run_id, const FleetCheck& check);
  // How many grants of space have ended. Free space measured before the last one ended may be too
  // high.
  uint64_t grants_ended() const { return spaces_.ended(); }
  // How often something that was written has become free. If an inspection began before the last
  // time, the targets that it found may have been written since.
  uint64_t writers_ended() const { return writers_ended_; }
  // Also holds what a worker has opened: since the inspection it may have been created or renamed.
  // Returns the run that holds it already; empty when there is none.
  std::string TakeOpened(const std::string& worker_id, const v1::Armed& armed);
  // The run's files are laid out: ends its grant of space, unless a lost worker may still be laying
  // out some.
  void SettleSpace(const std::string& run_id);
  // The worker was lost in the run, and may be writing for so long.
  void Lose(const std::string& run_id, const std::string& worker_id, int64_t quarantine_ns);
  // The worker is idle: frees what it held because it was lost.
  void Confirm(const std::string& worker_id);
  // The run is over: what its lost workers hold stays held until their hard stops.
  void End(const std::string& run_id);
  // From an earlier controller; `goes_on`: the run is still in progress.
  void Restore(const storage::Quarantine& held, bool goes_on);

 private:
  // Ends the holds whose time has passed, also in the store.
  void LetGo();
  void Release(const std::string& worker_id);
  void LetGoAt(int64_t free_ns);

  storage::RunStore* const store_;
  const common::Clock* const clock_;
  Loop* const loop_;
  const std::function<void()> freed_;
  RangeLocks locks_;
  SpaceLedger spaces_;
  uint64_t writers_ended_ = 0;
  std::set<std::string> held_;  // lost workers whose hold is in the store
};

}  // namespace lockstep::controller
