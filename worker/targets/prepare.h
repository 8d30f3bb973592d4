#pragma once

#include <atomic>
#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/worker.pb.h"
#include "worker/host/block_devices.h"
#include "worker/host/guard.h"
#include "worker/targets/targets.h"

namespace lockstep::worker {

struct PrepareResult {
  uint64_t files_made = 0;
  uint64_t files_reused = 0;
  uint64_t bytes_written = 0;
  // The contents of files that Lockstep did not make and has laid out.
  std::vector<v1::LeftContent> left_contents;
};
// Called periodically with the bytes done and to do. From several threads.
using Progress = std::function<void(uint64_t done, uint64_t total)>;

// Lays out this worker's files of the assignment, many chunks at a time; those that fit are kept.
// Checks the free space for all of them first. When it fails or `stop` becomes true, it removes the
// files that it has made.
absl::StatusOr<PrepareResult> PrepareFiles(const Guard& guard, const v1::Assignment& assignment,
                                           const RunIdentity& who, const std::atomic<bool>& stop,
                                           const Progress& progress);

// Removes this worker's files of the assignment that carry the mark, the marks, and the directories
// made for them where empty. Returns how many files; files that do not exist are passed over,
// others without a mark refused. Once `too_late` nothing more is removed, since the paths may be
// another run's by then: DEADLINE_EXCEEDED.
absl::StatusOr<uint64_t> RemoveFiles(const Guard& guard, const v1::Assignment& assignment,
                                     const RunIdentity& who, const std::function<bool()>& too_late);

}  // namespace lockstep::worker
