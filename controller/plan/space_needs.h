#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "controller/plan/selection.h"
#include "controller/plan/validate.h"

namespace lockstep::controller {

// The bytes that the files of a job need on one file system.
struct SpaceNeed {
  double needed = 0;            // by all workers, at the time when there are most of them
  double free = 0, total = 0;   // of the file system
  std::set<std::string> hosts;  // that see it
  std::string path;             // one of the files
};
// By filesystem_id, of the targets that the job prepares. `use` is UseOfTargets(). Pure.
std::map<std::string, SpaceNeed> SpaceNeeds(const v1::JobSpec& job,
                                            const std::vector<PlanWorker>& workers,
                                            const std::vector<TargetUse>& use);

}  // namespace lockstep::controller
