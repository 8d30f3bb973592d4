#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "controller/plan/confirm_tokens.h"
#include "controller/plan/selection.h"

namespace lockstep::controller {

// The contents that the job would overwrite although they are not Lockstep's, in words: each device
// once, whatever hosts see it. Contents that workers have approved by a label are left out.
std::vector<std::string> OverwritesOf(const v1::JobSpec& job,
                                      const std::vector<PlanWorker>& workers);
// The same for what needs no token, since every worker that it lies on approves a label of the job.
std::vector<std::string> ApprovedOverwritesOf(const v1::JobSpec& job,
                                              const std::vector<PlanWorker>& workers);

// Tokens by which a person confirms a plan: of the job, its workers, and what was found on their
// targets (each device's identity, attachment and content fingerprint). Immutable; thread-safe.
class PlanTokens {
 public:
  // `secret`: the store's.
  explicit PlanTokens(const std::string& secret) : tokens_(secret, "lockstep plan token 1") {}

  // `wall_ns`: since 1970. Two calls in one second for one plan give the same token.
  std::string Make(const v1::JobSpec& job, const std::vector<PlanWorker>& workers,
                   int64_t wall_ns) const;
  // When a job is submitted, as ConfirmTokens::CheckAge().
  absl::Status CheckAge(const std::string& token, int64_t wall_ns) const;
  // When its run starts, however long it has waited: whether the token is of exactly this plan.
  bool IsOf(const std::string& token, const v1::JobSpec& job,
            const std::vector<PlanWorker>& workers) const;

 private:
  const ConfirmTokens tokens_;
};

}  // namespace lockstep::controller
