#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "controller/fleet/fleet_link.h"
#include "controller/plan/selection.h"
#include "controller/runs/loop.h"
#include "proto/job.pb.h"
#include "proto/worker.pb.h"

namespace lockstep::controller {

// Lets workers inspect the targets of a job. Each request is answered once: with all
// inspections, or with the reason why some are missing. Used only on the loop's deciding thread.
class Inspections {
 public:
  // `missing`: empty, or what is missing and from whom; `workers` then hold the inspections that
  // did come.
  using Done = std::function<void(std::vector<PlanWorker> workers, const std::string& missing)>;

  explicit Inspections(Loop* loop) : loop_(loop) {}
  // Before anything else, once.
  void Start(FleetLink* fleet) { fleet_ = fleet; }
  // Queries all workers; `id` is of the run, or of the plan. A run that waits is inspected several
  // times, under the same id.
  void Inspect(const std::string& id, const v1::JobSpec& job, std::vector<PlanWorker> workers,
               Done done);

  // The worker has attached again: repeats requests that may have been lost with its old
  // connection.
  void OnAttached(const std::string& worker_id);
  void OnAnswer(const std::string& worker_id, const v1::Inspection& inspection);
  void OnLost(const std::string& worker_id, const std::string& reason);
  // How many are under way.
  size_t pending() const { return pending_.size(); }
  // Answers all as incomplete.
  void Drop();

 private:
  struct Pending {
    v1::Inspect request;  // as it goes to every worker, but for its index
    std::vector<PlanWorker> workers;
    size_t missing = 0;
    Done done;
    uint64_t serial = 0;
  };
  using PendingMap = std::map<std::string, Pending>;

  void Send(const v1::Inspect& request, uint32_t worker_index, const std::string& worker_id);
  void Finish(PendingMap::iterator found, const std::string& missing);

  Loop* const loop_;
  FleetLink* fleet_ = nullptr;
  PendingMap pending_;
  uint64_t made_ = 0;
};

}  // namespace lockstep::controller
