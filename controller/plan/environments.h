#pragma once

#include <string>
#include <vector>

#include "controller/plan/workload_rules.h"
#include "proto/job.pb.h"
#include "proto/worker.pb.h"

namespace lockstep::controller {

// The settings that the job's phases change, each once, with the targets underneath which it does;
// those of a sweep's points, too. Null targets have none, but the remounts of a phase that has no
// other targets.
std::vector<v1::EnvironmentUse> EnvironmentsOf(const v1::JobSpec& job);

// The settings in words: "scheduler kyber, nr_requests 64". Empty where none is changed.
std::string DescribeEnvironment(const v1::Environment& environment);

// Why a scheduler of kernels before Linux 5.0 cannot be set, with the name of its successor: "cfq
// was removed in Linux 5.0; …". Empty for all other names.
std::string FormerSchedulerText(const std::string& scheduler);

// Reports the problems that they have whatever the hosts are. `complain` gets the rest of the
// field's path.
void CheckEnvironment(const v1::Environment& environment, const Complain& complain);

}  // namespace lockstep::controller
