#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "measure/latency_blocks.h"
#include "measure/merged_interval.h"

namespace lockstep::measure {

// Quantiles of the IOPS over hosts: minimum, 10th percentile, median, 90th percentile and maximum.
inline constexpr size_t kHostQuantiles = 5;
std::array<double, kHostQuantiles> QuantilesOf(std::vector<double> values);
// Jain's index, (sum x)^2 / (n * sum x^2). Fewer than two values have none, and values that are all
// 0: nobody shared anything with another.
std::optional<double> JainOf(const std::vector<double>& values);

// The whole fleet over one interval, or over some in a row.
struct FleetPoint {
  struct Counts {
    uint64_t operations = 0, bytes = 0, errors = 0;
  };
  uint32_t interval = 0, intervals = 1;  // the first, and how many
  v1::IntervalClass interval_class = v1::INTERVAL_CLASS_UNSPECIFIED;
  int64_t begin_ns = 0, end_ns = 0;  // from T
  std::map<v1::OperationKind, Counts> kinds;
  uint64_t latency_sum_ns = 0, latency_max_ns = 0;  // of I/Os
  common::Buckets latencies;                        // of I/Os, as they are reported
  uint32_t hosts = 0;
  // A span of several intervals has the means of theirs.
  std::array<double, kHostQuantiles> host_iops = {};
  // Intervals without one have no part in the mean.
  std::optional<double> jain;
  uint32_t jain_intervals = 0;  // those with one; 0 beside a jain: all, as in stored points
  DeviceLoad devices;

  // Adds the point that follows this one: counters and latencies are summed. `host_iops` and `jain`
  // become means, weighted by intervals, and `hosts` the larger of both.
  void Append(const FleetPoint& later);
  Counts Ios() const;
  double seconds() const { return static_cast<double>(end_ns - begin_ns) / 1e9; }
  // Nanoseconds: the midpoint of its bucket, at most the longest latency; 0 where no I/O is above
  // it.
  double Percentile(double percent) const;
};

// Neighbours of one class made into one until each is `step_ns` long and there are at most
// `max_points`, as far as that is possible.
std::vector<FleetPoint> Thinned(const std::vector<FleetPoint>& points, int64_t step_ns,
                                size_t max_points);

// The work of each host, in columns.
struct HostTable {
  struct Span {
    int64_t begin_ns = 0, end_ns = 0;
    v1::IntervalClass interval_class = v1::INTERVAL_CLASS_UNSPECIFIED;
  };
  // As long as `spans`. Not a number: the host has none. p99: the worst interval's.
  struct Line {
    std::vector<float> iops, p99_ns;
  };
  std::vector<Span> spans;
  std::map<uint32_t, Line> lines;  // by worker index

  // Every two neighbours become one, of one class or of any: IOPS weighted by time, the larger p99.
  enum class Neighbours { kOfOneClass, kAny };
  void Halve(Neighbours which);
  // Until there are at most so many spans, each at least so long where it has a neighbour.
  void Thin(size_t max_spans, int64_t step_ns = 0);
};

// A phase as it went, collected from its merged intervals. When there are too many, neighbours
// become one: the fleet's latencies are added up exactly. Not thread-safe.
class Timeline {
 public:
  struct Limits {
    size_t max_points = 1 << 12;
    size_t max_cells = 1 << 18;  // hosts times spans
  };
  Timeline() : Timeline(Limits{}) {}
  explicit Timeline(Limits limits) : limits_(limits) {}

  // In ascending order.
  void Add(const MergedInterval& merged);
  const std::vector<FleetPoint>& points() const { return points_; }
  const HostTable& hosts() const { return hosts_; }
  // The blocks of the measured intervals.
  const std::vector<LatencyBlock>& blocks() const { return blocks_.blocks(); }
  bool empty() const { return points_.empty(); }

 private:
  void AddHosts(const MergedInterval& merged, int64_t begin_ns, int64_t end_ns);

  Limits limits_;
  std::vector<FleetPoint> points_;
  uint32_t point_intervals_ = 1;  // that make a point
  LatencyBlocks blocks_;
  HostTable hosts_;
  uint32_t span_intervals_ = 1;  // that make a span of hosts_
  uint32_t last_span_intervals_ = 0;
};

}  // namespace lockstep::measure
