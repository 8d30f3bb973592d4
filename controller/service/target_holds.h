#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/safeguards.h"
#include "controller/core/place_ledger.h"
#include "controller/core/space_ledger.h"
#include "controller/plan/selection.h"
#include "controller/service/loop.h"
#include "storage/store.h"

namespace lockstep::controller {

// Which bytes and which free space runs in progress have, so that no two write the same bytes or
// fill the same file system. What a lost worker may still be writing stays held beyond its run,
// also for a later controller. The loop's deciding thread's own.
class TargetHolds {
 public:
  // `freed` is called when something has become free. The pointers outlive this.
  TargetHolds(storage::Store* store, const common::Clock* clock, Loop* loop,
              common::Safeguards safeguards, std::function<void()> freed);

  // What keeps a job from these workers, for now.
  struct Conflict {
    std::string run_id;  // whose it is
    std::string until;   // as "or its lost workers have left target x of node1"
  };
  // Bytes that another run writes, or may still be writing.
  std::optional<Conflict> FindWritten(const std::string& run_id, const v1::JobSpec& job,
                                      const std::vector<PlanWorker>& workers);
  // Space that other runs are about to fill, where there is not enough for both.
  std::optional<Conflict> FindFilled(const std::string& run_id, const FleetCheck& check) const;

  void Take(const std::string& run_id, const v1::JobSpec& job,
            const std::vector<PlanWorker>& workers);
  void TakeSpace(const std::string& run_id, const FleetCheck& check);
  // How many grants of space have ended: what was free before the last one did says too much.
  uint64_t grants_ended() const { return spaces_.ended(); }
  // What a worker has open may have come into being, or got another name, since it was inspected:
  // held, too. The run that has it already, if there is one.
  std::string TakeOpened(const std::string& worker_id, const v1::Armed& armed);
  // The run's files are laid out, but for what its lost workers may still be laying out.
  void SettleSpace(const std::string& run_id);
  // The worker was lost in the run, and may be writing for so long.
  void Lose(const std::string& run_id, const std::string& worker_id, int64_t hold_ns);
  // The worker does nothing: what it held after it was lost is free.
  void Confirm(const std::string& worker_id);
  // The run is over: what its lost workers hold stays held until their hard stops.
  void End(const std::string& run_id);
  // From an earlier controller; `goes_on`: the run is still in progress.
  void Inherit(const storage::HeldPlaces& held, bool goes_on);

 private:
  // Holds whose time has passed are over for a later controller, too.
  void LetGo();
  void Release(const std::string& worker_id);
  void LetGoAt(int64_t free_ns);

  storage::Store* const store_;
  const common::Clock* const clock_;
  Loop* const loop_;
  const std::function<void()> freed_;
  PlaceLedger places_;
  SpaceLedger spaces_;
  std::set<std::string> held_;  // lost workers whose hold is in the store
};

}  // namespace lockstep::controller
