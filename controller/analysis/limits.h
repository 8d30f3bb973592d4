#pragma once

#include "controller/analysis/phase_view.h"
#include "proto/result.pb.h"

namespace lockstep::controller {

// Says for each workload what limited it, and how that was decided. Devices, kernels and threads
// must have been added.
//
// The first of these that holds, over the workload's threads and the devices and kernels under
// them: no storage (a null target); think time, rate, fsync: more than half of the threads' time
// went there; page cache: the device served less than half of the bytes; generator CPU: the threads
// were on a processor for more than 90 % of their time; network: the target lies on a network file
// system; device: its queue was never empty (busy 95 % and at least as many requests in it as 4, or
// 16 per host in all); queue depth: the queue was full of few I/Os, and each waited for the one
// before; device otherwise.
void AddLimits(const PhaseView& view, v1::PhaseReport* report);

}  // namespace lockstep::controller
