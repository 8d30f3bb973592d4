#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace lockstep::worker {

// Blocks that did not match, saved for people to look at. They are a target's contents, so that
// only this worker's user may read them (directories 0700, files 0600). At most
// limits::kMismatchRunBytes are saved of one run, and limits::kMismatchBytes in all: then the
// oldest runs' files go. One at a time; workers have a directory of their own each.
class MismatchFiles {
 public:
  // Nothing is saved where `directory` is empty.
  explicit MismatchFiles(std::string directory) : directory_(std::move(directory)) {}

  // Saves `bytes` as RUN-phaseN-attemptM/NAME and returns the path; RESOURCE_EXHAUSTED when the run
  // has saved enough.
  absl::StatusOr<std::string> Save(const std::string& run_id, uint32_t phase, uint32_t attempt,
                                   const std::string& name, const std::string& bytes) const;
  // Removes what was saved of these runs.
  void Remove(const std::vector<std::string>& run_ids) const;

 private:
  const std::string directory_;
};

}  // namespace lockstep::worker
