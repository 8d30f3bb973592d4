#pragma once

#include <string>

#include "measure/operation_stats.h"
#include "proto/report.pb.h"
#include "proto/result.pb.h"

namespace lockstep::controller {

// Counters, and percentiles of response times where there are any, else of service times; without
// rates.
v1::OperationReport ReportOf(const measure::OperationStats& stats, const std::string& kind);
// Counts and percentiles of service time or submission latency; average, smallest and largest are
// the histogram's, within its error.
v1::OperationReport ReportOfMetric(const measure::OperationStats& stats, v1::Metric metric,
                                   const std::string& kind);

// One of the report's percentiles; null where it was not computed. It may be without a latency.
const v1::Percentile* FindPercentile(const v1::OperationReport& report, double percent);
// Its latency, nanoseconds; 0 where it has none.
double PercentileOf(const v1::OperationReport& report, double percent);
// Whether it has a latency, and fewer than ten I/Os took longer.
bool IsUncertain(const v1::OperationReport& report, double percent);

// Fewer I/Os above a percentile than this make it uncertain.
inline constexpr uint64_t kFewAbove = 10;

std::string KindText(v1::OperationKind kind);

}  // namespace lockstep::controller
