#pragma once

#include <functional>
#include <string>
#include <vector>

#include "controller/analysis/report.h"
#include "measure/run_data.h"
#include "proto/controller.pb.h"

namespace lockstep::controller {

// The latency histograms of a run, by phase with load, workload, kind of operation and metric: of
// the whole fleet, or of one host where one is named. NOT_FOUND when the run has no such host. Pure
// apart from `read`.

// Over what each phase measured.
absl::StatusOr<std::vector<v1::LatencyHistogram>> PhaseHistograms(const measure::RunData& data,
                                                                  const std::string& host);

// Over each measured interval, in order of phases and intervals. An error of `put` ends it.
absl::Status IntervalHistograms(
    const measure::RunData& data, const std::string& host, const ReadIntervals& read,
    const std::function<absl::Status(const v1::LatencyHistogram&)>& put);

}  // namespace lockstep::controller
