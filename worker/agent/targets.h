#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/files.h"
#include "proto/worker.pb.h"
#include "worker/host/guard.h"
#include "worker/workload/block_space.h"

namespace lockstep::worker {

// Who a worker is in a run: fills in {host} and {worker}.
struct RunIdentity {
  std::string host;
  uint32_t worker_index = 0;
};

// The path of one file of a file target, {host}, {worker} and {file} filled in.
std::string FilePath(const v1::FileTarget& target, uint32_t file, const RunIdentity& who);
// The device's path on this host.
std::string DevicePath(const v1::DeviceTarget& target, const RunIdentity& who);

// The descriptors of the targets that one workload uses, and the bytes of them that it may touch.
struct OpenTargets {
  std::vector<common::FileDescriptor> files;
  std::vector<std::string> paths;  // of each descriptor
  std::vector<BlockSpace::Extent> extents;
  std::vector<int> descriptors() const;
};

// How a workload opens its targets.
struct OpenOptions {
  bool write = false;
  bool direct = false;
  std::vector<std::string> expendable;
};

// Opens every file or device of `targets`. What is opened for writing was made by Lockstep (a prepare phase) or is
// named under `expendable`, or is a device that the guard lets through. Errors name the path and the remedy.
absl::StatusOr<OpenTargets> OpenAll(const Guard& guard, const std::vector<v1::TargetAssignment>& targets,
                                    const RunIdentity& who, const OpenOptions& options);

}  // namespace lockstep::worker
