#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/files.h"
#include "proto/worker.pb.h"
#include "worker/engine/engine_file.h"
#include "worker/fence/fences.h"
#include "worker/host/guard.h"
#include "worker/workload/block_space.h"

namespace lockstep::worker {

// A worker's host and number in a run: they replace {host} and {worker}.
struct RunIdentity {
  std::string host;
  uint32_t worker_index = 0;
};

// The path of one file of a file target, {host}, {worker} and {file} filled in.
std::string FilePath(const v1::FileTarget& target, uint32_t file, const RunIdentity& who);
// The device's path on this host.
std::string DevicePath(const v1::DeviceTarget& target, const RunIdentity& who);

// One file, device or stand-in of a target, and what keeps it open.
struct OpenedFile {
  common::FileDescriptor descriptor;  // invalid where the engine's way is another one
  EngineFile engine_file;
  std::string path;  // as messages name it
  // The same on every host: a device's or LUN's identity, a file's path.
  std::string thing;
  std::shared_ptr<const LunSpec> lun;
  // Workloads of this worker write it in the phase; another worker does.
  bool written = false, written_since = false;
  uint32_t target = 0;       // its index in the job
  uint64_t stamp_bytes = 0;  // of an enrolled device: at each of its ends
  uint32_t number = 0;       // among the target's files
  bool is_foreign = false;   // a file that Lockstep did not make
  bool is_writable = false;  // opened for writing
};

// The opened targets of one workload, and the bytes of them that the workload may touch.
struct OpenTargets {
  std::vector<OpenedFile> files;
  std::vector<BlockSpace::Extent> extents;
  // The extents of a copy's destination. Its source has the extents above.
  std::vector<BlockSpace::Extent> copy_extents;
  // all are devices in memory (zram, ram, pmem): I/O completes in the call
  bool in_memory = false;
  std::optional<v1::NullTarget> null_target;  // a workload on one has no other targets
  std::string file_ranges;                    // of what is written: as TargetInspection says ranges
  std::vector<v1::ByteRange> ranges;
  std::vector<EngineFile> engine_files() const;
  std::vector<std::string> paths() const;
};

// How a workload opens its targets.
struct OpenOptions {
  bool write = false;
  bool direct = false;
  bool create = false;           // files begin empty
  bool changes_content = false;  // afterwards they are not filled as prepare filled them
  bool owner_only = false;       // files that are written are for this worker's user alone (0600)
  int flags = 0;                 // O_SYNC, O_DSYNC
  std::vector<std::string> expendable;
  DeviceClaims* claims = nullptr;  // of the devices that are written; outlives what is opened
  Fences* fences = nullptr;        // of those that are reserved; outlives what is opened
  std::string run_id;
};

// Opens every file or device of `targets`; with `create`, files are made or cut to nothing first.
// Files that are opened for writing were made by Lockstep (a prepare phase) or are named under
// `expendable`; devices are let through by the guard. Errors name the path and the remedy.
absl::StatusOr<OpenTargets> OpenAll(const Guard& guard,
                                    const std::vector<v1::TargetAssignment>& targets,
                                    const RunIdentity& who, const OpenOptions& options);

}  // namespace lockstep::worker
