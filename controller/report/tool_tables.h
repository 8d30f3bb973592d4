#pragma once

#include <string>
#include <vector>

#include "proto/controller.pb.h"
#include "proto/report.pb.h"

namespace lockstep::controller {

// Tables of results that other tools write, for what reads them. Cells of what Lockstep does not
// know are empty in Iometer's, and n/a in vdbench's. Empty where a run has no phase with load.
// Pure.

// Iometer's results: a block for each phase with load, with a row of all hosts (ALL) and one for
// each host (MANAGER).
std::string RenderIometer(const v1::Report& report);

// vdbench's flatfile: a row for each interval of a phase with load, and one with its averages.
// `intervals`: their histograms. May be empty: then there are averages alone.
std::string RenderVdbench(const v1::Report& report,
                          const std::vector<v1::LatencyHistogram>& intervals);

}  // namespace lockstep::controller
