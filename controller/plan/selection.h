#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "common/limits.h"
#include "controller/core/range_locks.h"
#include "proto/controller.pb.h"
#include "proto/job.pb.h"
#include "proto/worker.pb.h"

namespace lockstep::controller {

// A worker as the planner sees it.
struct PlanWorker {
  v1::Hello hello;
  v1::Inspection inspection;  // of the job's targets; empty before
};

// Expands `node[1-3,x]` to node1, node2, node3, nodex; leading zeros are kept. A text without
// brackets stands for itself. INVALID_ARGUMENT when it stands for more than `max_names` names
// (checked before any is made), or for an invalid host name.
absl::StatusOr<std::vector<std::string>> ExpandHostNames(const std::string& text,
                                                         size_t max_names = limits::kHostNames);

// Indices into `workers` of those that a selector takes, ordered by host name and worker id.
// RESOURCE_EXHAUSTED when there are fewer than it asks for, naming what is there and what is
// missing.
absl::StatusOr<std::vector<uint32_t>> Select(const v1::HostSelector& selector,
                                             const std::vector<PlanWorker>& workers);

// The ranges that a worker named.
std::vector<ByteRange> RangesOf(const v1::TargetInspection& found);
std::vector<ByteRange> RangesOf(const std::string& file_ranges,
                                const google::protobuf::RepeatedPtrField<v1::ByteRange>& extents);

// The location of an embedded store; empty when there is none on a device of its own.
struct StoreLocation {
  std::string device;         // "boot_id/name" of the whole disk
  std::string filesystem_id;  // as TargetInspection::filesystem_id
  bool may_fill = false;      // the operator has said that jobs may lay out files there
};

// The result of checking a fleet's inspections before a run. Refusals: refused targets, two workers
// or two targets on the same bytes, a file system that would be filled. Warnings: targets beside
// the store.
struct FleetCheck {
  std::vector<std::string> refusals;
  // Those that are of one target on one worker, by the numbers of both.
  std::map<std::pair<uint32_t, uint32_t>, std::string> refused;
  std::vector<std::string> warnings;
  // For each file system on which the job will lay out files: the bytes that it needs, and the most
  // that it may use.
  struct Space {
    std::string path;  // of one of the files
    double needed_bytes = 0, usable_bytes = 0;
  };
  std::map<std::string, Space> spaces;  // by filesystem_id
};
FleetCheck CheckFleet(const v1::JobSpec& job, const std::vector<PlanWorker>& workers,
                      const StoreLocation& store);

}  // namespace lockstep::controller
