#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "common/mutex.h"
#include "controller/plan/assign.h"
#include "proto/result.pb.h"

namespace lockstep::controller {

// Checks the reports of each worker of a run about blocks that it has written: that they are in its
// own part of a target. A worker's word about another's part would hide what is wrong there, or
// accuse what is right. Thread-safe.
class BlockClaims {
 public:
  // The workers that may have written a target: those that AddWriter() names, or any worker of the
  // run. kAny is for a run that was taken over: the earlier controller's phases may have had other
  // writers.
  enum class Writers { kNamed, kAny };
  BlockClaims(const SettledRun& run, Writers writers);

  // The worker writes the target, by its assignment of the present phase or of an earlier one.
  void AddWriter(uint32_t worker, uint32_t target);
  // PERMISSION_DENIED, naming blocks and target, when what the worker says is not its to say.
  absl::Status Check(uint32_t worker, const v1::BlockWrites& writes);

 private:
  // A file, device or LUN of a target.
  struct Thing {
    uint32_t target = 0;
    uint64_t base = 0;  // its first byte within the target, behind its stamp
    uint64_t size_bytes = 0;
    uint64_t stamp_bytes = 0;  // at its begin
  };
  using Things = std::map<uint64_t, Thing>;  // by target_key
  Things ThingsOf(uint32_t worker) const;
  absl::Status CheckRuns(uint32_t worker, const Thing& thing, const v1::BlockWrites& writes) const;

  const SettledRun run_;
  const Writers known_writers_;
  common::Mutex mutex_;
  std::map<uint32_t, Things> things_ ABSL_GUARDED_BY(mutex_);  // by worker, when first asked for
  std::set<std::pair<uint32_t, uint32_t>> writers_ ABSL_GUARDED_BY(mutex_);  // worker and target
};

}  // namespace lockstep::controller
