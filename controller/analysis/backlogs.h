#pragma once

#include "controller/analysis/phase_view.h"
#include "proto/report.pb.h"

namespace lockstep::controller {

// Whether the open loop stays behind the rate that is due, so that its backlog grows. If it only
// stood still at times, or at its end, it does not. True if that is not known: a host was lost, or
// the phase has no blocks of the workload's latencies (LatencyBlocks) and its series is also of
// other loads. Needs the report's series and rates. `workload`: its index in the load.
bool StaysBehind(const PhaseView& view, int workload, const v1::PhaseReport& report);

}  // namespace lockstep::controller
