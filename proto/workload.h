#pragma once

#include "proto/job.pb.h"

namespace lockstep::v1 {

// What a workload of a valid job, its defaults filled in, does; its access lines included. Pure.
bool Reads(const Workload& workload);
bool Writes(const Workload& workload);
bool Trims(const Workload& workload);

}  // namespace lockstep::v1
