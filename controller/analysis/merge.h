#pragma once

#include <map>
#include <vector>

#include "common/histogram.h"
#include "proto/result.pb.h"

namespace lockstep::controller {

// Counters and latencies of any number of workers, added up exactly.
class MergedCounters {
 public:
  void Add(const v1::OperationCounters& counters);
  void Add(const MergedCounters& other);

  uint64_t operations() const { return operations_; }
  uint64_t bytes() const { return bytes_; }
  uint64_t errors() const { return errors_; }
  // Response times where the workload has them, else service times.
  const common::Histogram& latencies() const { return latencies_; }
  bool has_response() const { return response_; }
  bool has_submission() const { return submission_; }
  // The figures over `seconds`.
  v1::OperationReport Report(const std::string& kind, double seconds) const;
  // Counts and percentiles of service time or submission latency; the average is the histogram's.
  v1::OperationReport ReportOf(v1::Metric metric, const std::string& kind) const;

 private:
  uint64_t operations_ = 0, bytes_ = 0, errors_ = 0, short_transfers_ = 0;
  double latency_sum_ns_ = 0;
  uint64_t latency_min_ns_ = 0, latency_max_ns_ = 0;
  bool response_ = false, submission_ = false;
  common::Histogram latencies_;
  common::Histogram services_;  // beside response times only
  common::Histogram submissions_;
};

using MergedKinds = std::map<v1::OperationKind, MergedCounters>;

std::string KindText(v1::OperationKind kind);

}  // namespace lockstep::controller
