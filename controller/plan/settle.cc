#include "controller/plan/settle.h"

#include "controller/plan/next_phase.h"
#include "controller/plan/target_axes.h"
#include "controller/plan/validate.h"

namespace lockstep::controller {

std::vector<v1::Problem> SettleJob(v1::JobSpec* job) {
  // The other steps rely on the limits (controller/plan/validate.h).
  if (std::vector<v1::Problem> beyond = CheckLimits(*job); !beyond.empty()) return beyond;
  if (std::vector<v1::Problem> problems = ExpandTargets(job); !problems.empty()) return problems;
  FillJob(job);
  if (std::vector<v1::Problem> problems = FillSizes(job); !problems.empty()) return problems;
  if (std::vector<v1::Problem> problems = Validate(*job); !problems.empty()) return problems;
  // Curves become phases and shares become rates only now. A small job can pass the first check and
  // be beyond the limits when it is unrolled.
  return CheckLimits(Unrolled(*job));
}

}  // namespace lockstep::controller
