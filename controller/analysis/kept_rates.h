#pragma once

#include "controller/analysis/phase_view.h"
#include "proto/load.pb.h"
#include "proto/report.pb.h"

namespace lockstep::controller {

// The share of a job's rate from which on the rate counts as reached. A rate that was not reached
// did not limit the load.
inline constexpr double kKeptRate = 0.95;

// Whether the workload came close to its rate, or to one of its limits, which are those of all of
// its hosts. A rate that stalls kept the load from is not made up for: what was below it was
// limited by them. True where nothing limits it.
bool KeepsItsRate(const PhaseView& view, const v1::Workload& w, const v1::WorkloadReport& out);

}  // namespace lockstep::controller
