#pragma once

#include <string>
#include <vector>

#include "common/histogram.h"
#include "controller/report/sysbench_preamble.h"
#include "proto/controller.pb.h"
#include "proto/job.pb.h"
#include "proto/report.pb.h"

namespace lockstep::controller {

// The lines of sysbench's layout beside the report. Each part may be empty: the preamble and the
// interval lines are then left out, and percentiles are of I/Os without syncs.
struct SysbenchData {
  v1::JobSpec job;                              // as it ran, its defaults filled in
  std::vector<v1::LatencyHistogram> phases;     // of whole phases
  std::vector<v1::LatencyHistogram> intervals;  // if WantsSysbenchIntervals()
  // The lines that were printed while the job's only phase ran: RenderSysbench() leaves them out.
  bool has_begun = false;
  int64_t printed_intervals = 0;
};

// The work between two interval lines.
struct SysbenchInterval {
  double read_bytes = 0, written_bytes = 0, syncs = 0;
  common::Histogram latencies;  // of events
};
// The line of the `number`th interval, from 1.
std::string SysbenchIntervalLine(const SysbenchLook& look, int64_t number,
                                 const SysbenchInterval& interval);
// All lines before the first interval line.
std::string SysbenchBegin(const SysbenchLook& look);

// Whether a line of the job has --report-interval.
bool WantsSysbenchIntervals(const v1::JobSpec& job);

// sysbench fileio 1.0's output: a block for each phase of kind `run` with I/O; and, of lines of
// sysbench that were translated, for prepare and cleanup. Events are I/Os and syncs, as in
// sysbench. Empty where a run has nothing of the kind. Pure.
std::string RenderSysbench(const v1::Report& report, const SysbenchData& data);

}  // namespace lockstep::controller
