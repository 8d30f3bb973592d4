#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/files.h"
#include "proto/worker.pb.h"
#include "worker/host/guard.h"

namespace lockstep::worker {

// Files that Lockstep did not make are overwritten only where the job and the worker declare them
// expendable, and only as they were when the run was confirmed.

// How much of a file its fingerprint covers. The time of modification alone would not do, because
// it may lag behind writes through memory maps.
enum class FileDepth {
  kWhole,
  kSamples,  // the first and the last MiB, and blocks between
};

// The file's identity and content as they are now. `number`: among its target's files. Dirty pages
// of the file are written to its storage first. UNAVAILABLE if the file cannot be read,
// FAILED_PRECONDITION if its file system gives it no identity.
absl::StatusOr<v1::ForeignFile> DescribeForeign(uint32_t number, const common::FileDescriptor& fd,
                                                const std::string& path, FileDepth depth);

// Decides whether a file of a target may be overwritten, laid out anew or cut to nothing. The
// constructor's arguments outlive it. Thread-safe.
class FileConsent {
 public:
  FileConsent(const Guard& guard, const v1::TargetAssignment& target,
              const std::vector<std::string>& expendable)
      : guard_(guard), target_(target), expendable_(expendable) {}

  struct Answer {
    bool is_foreign = false;  // Lockstep did not make it: it gets no mark, and is never removed
  };
  // `fd`: the target's file `number`, open at `allowed` for reading. Errors name the path and the
  // remedy.
  absl::StatusOr<Answer> Check(const Guard::AllowedPath& allowed, uint32_t number,
                               const common::FileDescriptor& fd) const;

 private:
  const Guard& guard_;
  const v1::TargetAssignment& target_;
  const std::vector<std::string>& expendable_;
};

}  // namespace lockstep::worker
