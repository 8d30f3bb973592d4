#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "controller/plan/loads.h"
#include "controller/plan/selection.h"
#include "controller/plan/workload_rules.h"
#include "proto/job.pb.h"

namespace lockstep::controller {

// ".targets[1]", or the field of the copy that names this target.
std::string TargetField(const v1::Workload& workload, int index);

// Reports every problem of one copy of a valid workload's other fields, as CheckWorkload() does.
// Targets whose size only the workers know are left to CopyProblems(). Pure.
void CheckCopy(const v1::JobSpec& job, const TargetIndex& targets, const v1::Workload& workload,
               const Complain& complain);

// The reasons why the job's copies cannot be whole on these inspected workers, as sentences: parts
// that do not fit each other, and sizes; at most 100. Pure.
std::vector<std::string> CopyProblems(const v1::JobSpec& job,
                                      const std::vector<PlanWorker>& workers);

// Follows which targets carry block headers of their own from phase to phase. A copy without verify
// leaves the source's headers on its destination. Pure; the phases come in order.
class HeaderOwners {
 public:
  // Reports where the phase verifies a target that carries other headers, or none, because of a
  // copy; then takes note of what the phase writes. Fields are paths below the phase.
  void Check(const v1::PhaseSpec& phase, const Complain& complain);

 private:
  void CheckReaders(const v1::PhaseSpec& phase, const Complain& complain) const;
  void Note(const v1::PhaseSpec& phase);

  std::map<std::string, int64_t> verified_;  // block size of the headers, by target
  std::set<std::string> copied_;             // carry headers of another target
};

}  // namespace lockstep::controller
