#pragma once

#include <string>
#include <vector>

#include "controller/plan/loads.h"
#include "controller/plan/selection.h"
#include "controller/plan/workload_rules.h"
#include "proto/job.pb.h"

namespace lockstep::controller {

// Reports every problem of where the I/Os of a workload go: its pattern, sequence and region, as
// CheckWorkload() does. Regions of targets whose size only the workers know are left to
// RegionProblems(). Pure.
void CheckPattern(const v1::JobSpec& job, const TargetIndex& targets, const v1::Workload& workload,
                  const Complain& complain);

// The regions of the job's workloads that do not lie in the targets of these inspected workers, as
// sentences, at most 100. Pure.
std::vector<std::string> RegionProblems(const v1::JobSpec& job,
                                        const std::vector<PlanWorker>& workers);

}  // namespace lockstep::controller
