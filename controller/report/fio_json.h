#pragma once

#include <string>
#include <vector>

#include "proto/controller.pb.h"
#include "proto/report.pb.h"

namespace lockstep::controller {

// The run as fio's --output-format=json+: a job for each phase with load and workload, over all
// hosts. `histograms`: those of the phases. Bins are fio's own (the midpoints of its buckets), and
// counts above its last one are in that: fio's tools know no longer latency. Figures of fio that
// Lockstep does not measure are 0, as are the spreads of IOPS if a workload is not alone in its
// phase or mixes kinds; "lockstep" says so in each job.
std::string RenderFioJson(const v1::Report& report,
                          const std::vector<v1::LatencyHistogram>& histograms);

}  // namespace lockstep::controller
