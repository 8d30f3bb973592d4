#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "common/histogram.h"
#include "proto/result.pb.h"

namespace lockstep::measure {

// The metrics of proto/result.proto, from 0.
inline constexpr int kMetrics = 3;
inline constexpr int IndexOf(v1::Metric metric) { return static_cast<int>(metric) - 1; }

// Whether it counts among the I/Os: a sync does not.
inline constexpr bool IsIo(v1::OperationKind kind) { return kind != v1::OPERATION_KIND_FSYNC; }

// Counters of one operation kind. The latencies are response times in an open loop, else service
// times; nanoseconds.
struct OperationCounts {
  uint64_t operations = 0, bytes = 0, errors = 0, short_transfers = 0;
  uint64_t latency_sum_ns = 0, latency_max_ns = 0;
  uint64_t latency_min_ns = std::numeric_limits<uint64_t>::max();  // of no operation

  void Add(const OperationCounts& other);
  // Whether nothing was recorded.
  bool empty() const { return operations == 0 && errors == 0; }
};

// One operation kind over one interval as it is sent: counters, and the occupied buckets of each
// metric that was recorded.
struct OperationDelta {
  v1::OperationKind kind = v1::OPERATION_KIND_UNSPECIFIED;
  OperationCounts counts;
  std::array<std::optional<common::Buckets>, kMetrics> histograms;

  // INVALID_ARGUMENT for an unknown kind or metric, a metric that comes twice, another scheme or a
  // broken histogram.
  static absl::StatusOr<OperationDelta> Decode(const v1::OperationCounters& encoded);
  // Response time where it was recorded, else service time: what people look at first.
  v1::Metric main_metric() const;
};

// Counters of one operation kind and a histogram of each metric, added up over any number of
// intervals, threads, workers or workloads. A value; not thread-safe.
//
// In a closed loop an I/O is due when it is submitted. When stats with response times and stats
// without are added up, the service times of the latter therefore count as response times, too.
class OperationStats {
 public:
  void Add(const OperationDelta& delta);
  void Add(const OperationStats& other);
  // `dense`: a count for each bucket, by metric; null where the metric is not recorded.
  void Add(const OperationCounts& counts, const std::array<const uint32_t*, kMetrics>& dense);

  const OperationCounts& counts() const { return counts_; }
  bool empty() const { return counts_.empty(); }
  bool has(v1::Metric metric) const { return histograms_[IndexOf(metric)].has_value(); }
  // Empty where nothing was recorded.
  const common::Histogram& histogram(v1::Metric metric) const;
  v1::Metric main_metric() const {
    return has(v1::METRIC_RESPONSE_TIME) ? v1::METRIC_RESPONSE_TIME : v1::METRIC_SERVICE_TIME;
  }
  // Of the main metric.
  double Percentile(double percent) const { return histogram(main_metric()).Percentile(percent); }
  v1::OperationCounters Encode(v1::OperationKind kind) const;
  // Whether the delta is this sum: operations, bytes, errors, and every bucket.
  bool Equals(const OperationDelta& delta) const;

 private:
  common::Histogram* Recorded(int metric);
  // Called before the first response times are added: copies the service times that are there.
  void BeginResponse();

  OperationCounts counts_;
  std::array<std::optional<common::Histogram>, kMetrics> histograms_;
};

}  // namespace lockstep::measure
