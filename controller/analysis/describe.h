#pragma once

#include <string>

#include "proto/job.pb.h"

namespace lockstep::controller {

// A workload in one line: "random 8 KiB, 70 % reads, 2 threads × depth 16, direct, open loop
// 20,000/s (poisson)". Pure.
std::string DescribeWorkload(const v1::Workload& workload);

}  // namespace lockstep::controller
