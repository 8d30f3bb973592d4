#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "controller/plan/selection.h"

namespace lockstep::controller {

// What the job would overwrite although it is not Lockstep's, in words: each device once, whatever
// hosts see it. What workers have approved by a label is left out.
std::vector<std::string> OverwritesOf(const v1::JobSpec& job,
                                      const std::vector<PlanWorker>& workers);

// Tokens by which a person confirms a plan: TIME-HASH, both in hexadecimal digits. The hash covers
// the time, the job, its workers, and what was found on their targets (each device's identity,
// attachment and content fingerprint), under a key that only controllers of one store have: a token
// is made by planning, and by nothing else. Immutable; thread-safe.
class PlanTokens {
 public:
  // `secret`: the store's.
  explicit PlanTokens(const std::string& secret);

  // The same again for the same plan in the same second.
  std::string Make(const v1::JobSpec& job, const std::vector<PlanWorker>& workers,
                   int64_t wall_ns) const;
  // When a job is submitted: INVALID_ARGUMENT for what is no token, FAILED_PRECONDITION for one
  // that is older than limits::kPlanTokenSeconds, or from the future.
  absl::Status CheckAge(const std::string& token, int64_t wall_ns) const;
  // When its run starts, however long it has waited: whether the token is of exactly this plan.
  bool IsOf(const std::string& token, const v1::JobSpec& job,
            const std::vector<PlanWorker>& workers) const;

 private:
  std::string Hash(uint64_t seconds, const v1::JobSpec& job,
                   const std::vector<PlanWorker>& workers) const;
  const std::string key_;
};

}  // namespace lockstep::controller
