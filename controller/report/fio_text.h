#pragma once

#include <string>
#include <vector>

#include "proto/controller.pb.h"
#include "proto/report.pb.h"

namespace lockstep::controller {

// The run as fio's normal output (of fio 3.33): a job for each phase with load and workload, over
// all hosts. A group is a phase, or a part of one that a label of the run names. Figures that
// Lockstep does not measure stand as fio prints those that it has none of: the distributions of
// depths and the page faults are 0, and lines without samples are left out. `phases`: the
// histograms of the phases. `intervals`: those of their intervals, for the lines `bw` and `iops`;
// may be empty. Empty for a run without load. Pure.
std::string RenderFioText(const v1::Report& report, const std::vector<v1::LatencyHistogram>& phases,
                          const std::vector<v1::LatencyHistogram>& intervals);

}  // namespace lockstep::controller
