#pragma once

#include "measure/report_states.h"
#include "proto/report.pb.h"

namespace lockstep::controller {

// Sums of one kind over the workloads of a phase.
struct KindSum {
  // Rates over the window of the phase. Counts and latencies (summed up) of the workloads.
  double iops = 0, bytes_per_second = 0, operations = 0, latency_ns = 0;
};
// Pure.
KindSum SumOfKind(const v1::PhaseReport& phase, measure::Operations kind);
// The host's part of that. The phase is the host's.
KindSum SumOfKind(const v1::PhaseReport& phase, const v1::HostReport& host,
                  measure::Operations kind);

}  // namespace lockstep::controller
