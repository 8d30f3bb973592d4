#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/histogram.h"
#include "proto/controller.pb.h"
#include "proto/worker.pb.h"
#include "storage/store.h"

namespace lockstep::controller {

// A phase as its samples arrive: merged over the fleet for those who watch and for brakes, added up
// by worker to check the result against, and rolled up to 10 seconds. Not thread-safe; pure.
class LivePhase {
 public:
  // `workloads`: how many the phase has.
  LivePhase(uint32_t phase, std::map<uint32_t, std::string> hosts, uint32_t workloads,
            v1::AbortIf abort_if)
      : phase_(phase),
        hosts_(std::move(hosts)),
        workloads_(workloads),
        abort_if_(std::move(abort_if)) {}

  // INVALID_ARGUMENT, with nothing changed, when the sample is not one: unknown scheme, workload,
  // kind or metric, broken histogram, counts that differ, an interval that does not follow the
  // worker's last one, or times that no phase has.
  absl::Status Add(uint32_t worker, const v1::IntervalSample& sample);
  // Whether the result is the sum of the worker's intervals, bucket by bucket. DATA_LOSS with what
  // differs.
  absl::Status CheckResult(uint32_t worker, const v1::PhaseResult& result) const;
  // A worker from which no more samples come.
  void Leave(uint32_t worker) { absent_.insert(worker); }

  // Intervals that all present workers have delivered and that were not taken yet, in order. Beyond
  // limits::kIntervalsAhead nobody is waited for: an interval is then merged of those who have
  // delivered it.
  std::vector<v1::FleetInterval> TakeComplete();
  // Why the run must end by its abort_if; empty while it need not.
  const std::string& abort_reason() const { return abort_reason_; }
  std::vector<storage::Rollup> Rollups() const;
  // I/Os per second over all workers, of what was measured; syncs are not I/Os.
  double MeasuredIops() const;

 private:
  struct Totals {
    uint64_t operations = 0, bytes = 0, errors = 0;
    common::Histogram latencies;
  };
  using Key = std::tuple<uint32_t, int, int, int>;  // workload, class, kind, metric
  struct HostPart {
    Totals totals;
    double seconds = 0;
    double longest_await_ns = 0;
    std::string slowest_device;
  };
  struct Interval {
    v1::IntervalClass interval_class = v1::INTERVAL_CLASS_UNSPECIFIED;
    double end_seconds = 0;
    std::map<uint32_t, HostPart> hosts;
  };

  v1::FleetInterval Merge(uint32_t number, const Interval& interval);
  void CheckBrakes(uint32_t number, const Interval& interval, const v1::FleetInterval& merged);

  const uint32_t phase_;
  const std::map<uint32_t, std::string> hosts_;
  const uint32_t workloads_;
  std::set<uint32_t> absent_;  // from whom nothing more comes
  const v1::AbortIf abort_if_;
  std::map<uint32_t, std::map<Key, Totals>> sums_;  // by worker
  // workload, kind, metric, begin
  std::map<std::tuple<uint32_t, int, int, int64_t>, Totals> rollups_;
  std::map<uint32_t, double> measured_seconds_;  // by worker
  // by worker: the interval that may come
  std::map<uint32_t, uint32_t> next_;
  std::map<uint32_t, Interval> pending_;  // by interval number
  uint32_t taken_ = 0;                    // intervals below were merged
  uint64_t errors_ = 0;
  std::string abort_reason_;
};

}  // namespace lockstep::controller
