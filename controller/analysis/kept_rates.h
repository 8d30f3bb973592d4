#pragma once

#include "controller/analysis/phase_view.h"
#include "proto/load.pb.h"
#include "proto/report.pb.h"

namespace lockstep::controller {

// Of the rate that a job asks for: what is below was not kept, so that it did not limit.
inline constexpr double kKeptRate = 0.95;

// Whether the workload came close to its rate, or to one of its limits, which are those of all of
// its hosts. A rate that stalls kept the load from is not made up for: what was below it was
// limited by them. True where nothing limits it.
bool KeepsItsRate(const PhaseView& view, const v1::Workload& w, const v1::WorkloadReport& out);

}  // namespace lockstep::controller
