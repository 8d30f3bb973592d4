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

// A workload, by number, and a kind of its operations.
using WorkloadKind = std::pair<uint32_t, v1::OperationKind>;

// The metrics of proto/result.proto, from 0.
inline constexpr int kMetrics = 3;
inline constexpr int IndexOf(v1::Metric metric) { return static_cast<int>(metric) - 1; }

// Whether an operation of this kind counts as an I/O. A sync does not.
inline constexpr bool IsIo(v1::OperationKind kind) { return kind != v1::OPERATION_KIND_FSYNC; }

// Counters of one operation kind. The latencies are response times in an open loop, otherwise
// service times. Nanoseconds.
struct OperationCounts {
  uint64_t operations = 0, bytes = 0, errors = 0, short_transfers = 0;
  uint64_t latency_sum_ns = 0, latency_max_ns = 0;
  uint64_t latency_min_ns = std::numeric_limits<uint64_t>::max();  // before the first operation

  void Add(const OperationCounts& other);
  // Whether nothing was recorded.
  bool empty() const { return operations == 0 && errors == 0; }
};

// One operation kind over one interval in the form in which it is sent: the counters, and the
// occupied buckets of each recorded metric.
struct OperationDelta {
  v1::OperationKind kind = v1::OPERATION_KIND_UNSPECIFIED;
  OperationCounts counts;
  std::array<std::optional<common::Buckets>, kMetrics> histograms;

  // INVALID_ARGUMENT for an unknown kind or metric, a metric that comes twice, another scheme or a
  // broken histogram.
  static absl::StatusOr<OperationDelta> Decode(const v1::OperationCounters& encoded);
  // The metric that reports show first: response time if it was recorded, otherwise service time.
  v1::Metric main_metric() const;
};

// Counters of one operation kind and a histogram of each metric, added up over any number of
// intervals, threads, workers or workloads. A value; not thread-safe.
//
// In a closed loop an I/O is due when it is submitted. When stats with and stats without response
// times are added up, the service times of the latter therefore count as response times, too.
class OperationStats {
 public:
  void Add(const OperationDelta& delta);
  void Add(const OperationStats& other);
  // `dense`: by metric, a count for each bucket. Null if the metric is not recorded.
  void Add(const OperationCounts& counts, const std::array<const uint32_t*, kMetrics>& dense);

  const OperationCounts& counts() const { return counts_; }
  bool empty() const { return counts_.empty(); }
  bool has(v1::Metric metric) const { return histograms_[IndexOf(metric)].has_value(); }
  // Empty if nothing was recorded.
  const common::Histogram& histogram(v1::Metric metric) const;
  v1::Metric main_metric() const {
    return has(v1::METRIC_RESPONSE_TIME) ? v1::METRIC_RESPONSE_TIME : v1::METRIC_SERVICE_TIME;
  }
  // How long the operations were in flight, all added up, nanoseconds: their service times. The
  // counters have the sum of response times in an open loop, which also waits for free slots. The
  // sum is then that of the buckets' midpoints.
  double InFlightNs() const;
  // A percentile of the main metric.
  double Percentile(double percent) const { return histogram(main_metric()).Percentile(percent); }
  v1::OperationCounters Encode(v1::OperationKind kind) const;
  // Whether the delta equals this sum: operations, bytes, errors and every bucket.
  bool Equals(const OperationDelta& delta) const;

 private:
  common::Histogram* Recorded(int metric);
  // Copies the existing service times. Called before the first response times are added.
  void BeginResponse();

  OperationCounts counts_;
  std::array<std::optional<common::Histogram>, kMetrics> histograms_;
};

}  // namespace lockstep::measure
