#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/controller.pb.h"
#include "proto/job.pb.h"
#include "proto/worker.pb.h"

namespace lockstep::controller {

// A worker as the planner sees it.
struct PlanWorker {
  v1::Hello hello;
  v1::Inspection inspection;  // of the job's targets; empty before
};

// `node[1-3],x` to node1, node2, node3, x; leading zeros are kept. A text without brackets stands for itself.
std::vector<std::string> ExpandHostNames(const std::string& text);

// Indices into `workers` of those that a selector takes, ordered by host name and worker id. RESOURCE_EXHAUSTED when there
// are fewer than it asks for, naming what is there and what is missing.
absl::StatusOr<std::vector<uint32_t>> Select(const v1::HostSelector& selector, const std::vector<PlanWorker>& workers);

// What speaks against running the job on these workers, from their inspections: refused targets, two workers in one
// file, and (as warnings) targets beside the store. `store_device` is "boot_id/device" of an embedded store, or empty.
struct FleetCheck {
  std::vector<std::string> refusals;
  std::vector<std::string> warnings;
};
FleetCheck CheckFleet(const v1::JobSpec& job, const std::vector<PlanWorker>& workers, const std::string& store_device);

}  // namespace lockstep::controller
