#pragma once

#include <string>
#include <vector>

#include "proto/controller.pb.h"
#include "proto/job.pb.h"
#include "proto/report.pb.h"

namespace lockstep::controller {

// What sysbench's layout shows beside the report. Each part may be empty: the preamble and the
// interval lines are then left out, and percentiles are of I/Os without syncs.
struct SysbenchData {
  v1::JobSpec job;                              // as it ran, its defaults filled in
  std::vector<v1::LatencyHistogram> phases;     // of whole phases
  std::vector<v1::LatencyHistogram> intervals;  // if WantsSysbenchIntervals()
};

// Whether a line of the job has --report-interval.
bool WantsSysbenchIntervals(const v1::JobSpec& job);

// sysbench fileio 1.0's output: a block for each phase of kind `run` with I/O; and, of lines of
// sysbench that were translated, for prepare and cleanup. Events are I/Os and syncs, as in
// sysbench. Empty where a run has nothing of the kind. Pure.
std::string RenderSysbench(const v1::Report& report, const SysbenchData& data);

}  // namespace lockstep::controller
