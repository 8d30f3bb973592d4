#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "measure/common_window.h"
#include "measure/merged_interval.h"
#include "measure/operation_stats.h"
#include "measure/rollups.h"
#include "measure/sample_sums.h"
#include "measure/silences.h"
#include "measure/timeline.h"
#include "measure/worker_rates.h"
#include "proto/result.pb.h"

namespace lockstep::measure {

// ramp, measured or drain.
std::string ClassName(v1::IntervalClass interval_class);

// A class of intervals of one workload and operation kind.
struct OperationKey {
  uint32_t workload = 0;
  v1::IntervalClass interval_class = v1::INTERVAL_CLASS_UNSPECIFIED;
  v1::OperationKind kind = v1::OPERATION_KIND_UNSPECIFIED;
  auto operator<=>(const OperationKey&) const = default;
};

// A workload on a worker.
struct PartId {
  uint32_t worker = 0;
  uint32_t workload = 0;
  auto operator<=>(const PartId&) const = default;
};

// The measurements of one worker so far.
struct WorkerSeries {
  std::map<OperationKey, OperationStats> sums;
  double measured_seconds = 0;
  // The measured intervals reach from the one to the other, seconds from T.
  double first_measured_seconds = std::numeric_limits<double>::infinity();
  double last_measured_seconds = 0;
  // Rates over the measured intervals, which are equally long. They begin with the first one that
  // arrived.
  WorkerRates rates;
  int64_t longest_interval_ns = 0;
  // Intervals that are not there: first and last.
  std::vector<std::pair<uint32_t, uint32_t>> gaps;
  // Measured intervals in a row in which no I/O completed.
  Silences silences;
  std::map<std::string, DeviceSums> devices;  // by name
  HostSums host;
  QuotaSums quota;
  std::map<std::string, InterfaceSums> interfaces;             // by name
  std::map<std::pair<std::string, std::string>, NfsSums> nfs;  // by mount and operation
  uint32_t next_interval = 0;

  // Over the measured intervals.
  std::map<WorkloadKind, IoSums> Measured() const;
  uint64_t MeasuredIos() const;
};

// Adds up a phase's intervals as they come, live from the workers or out of the store: by worker,
// over the fleet, and into roll-ups of ten seconds. Pure; not thread-safe.
//
// For each worker it holds sums by workload, class and kind (20 KiB for each histogram), and one
// number for each measured interval, at most `max_points` in all: beyond that, every two points
// become one. It holds a single interval only until all workers have delivered it.
class PhaseSeries {
 public:
  struct Options {
    std::set<uint32_t> workers;  // from whom intervals come
    uint32_t workloads = 0;      // how many the phase has
    // Those that make the window, where they are known. While a phase runs they are those that did
    // I/O so far and were not lost.
    std::set<uint32_t> compared;
    // The compared workers' workloads and the instants at which they ended by themselves, from T,
    // 0 where they did not; where they are known. While a phase runs the samples say so.
    std::map<PartId, int64_t> parts;
    // When workloads begin that begin after T, nanoseconds from T.
    std::map<uint32_t, int64_t> begins;
    // Whether an interval must have histograms. Intervals from the store, already checked, have
    // none.
    bool needs_histograms = true;
    size_t max_points = 1 << 18;
    // Whether merged intervals have their latencies.
    bool keeps_latencies = false;
    // Whether there is a timeline; for it histograms are needed.
    bool keeps_timeline = false;
    // Whether workers have all rates, and not IOPS alone.
    bool keeps_all_rates = false;
  };
  explicit PhaseSeries(Options options) : options_(std::move(options)), parts_(options_.parts) {}

  // INVALID_ARGUMENT, with nothing changed, when the sample is invalid: unknown scheme, workload,
  // kind or metric, broken histogram, counts that differ, an interval that does not follow the
  // worker's last one, or times outside of the phase.
  absl::Status Add(uint32_t worker, const v1::IntervalSample& sample);
  // Whether the result is the sum of the worker's intervals, bucket by bucket. DATA_LOSS with what
  // differs.
  absl::Status CheckResult(uint32_t worker, const v1::PhaseResult& result) const;
  // This worker delivers nothing more, and is not waited for.
  void Leave(uint32_t worker) { absent_.insert(worker); }
  // Nor will its result: what it measured is in no figure of the phase, as in no report's.
  void Lose(uint32_t worker) {
    Leave(worker);
    lost_.insert(worker);
  }
  // Takes, in order, the intervals that all present workers have delivered. A worker that is more
  // than limits::kIntervalsAhead behind is not waited for: the interval is merged without it.
  std::vector<MergedInterval> TakeComplete();
  // Takes the rest; no further interval comes.
  std::vector<MergedInterval> Finish();

  // From whom the oldest interval that is not complete has not come, while others have delivered
  // more than one beyond it.
  std::vector<uint32_t> Behind() const;

  // An empty one for a worker without an interval.
  const WorkerSeries& Of(uint32_t worker) const;
  // The time in which all workloads ran on all compared workers, without the parts that ended in
  // the ramp: these have no rate, and must not leave the others without one.
  const CommonWindow& window() const { return window_; }
  // The time in which this workload ran on all compared workers that have it, without these parts.
  // Empty if it ended in the ramp on all of them.
  const CommonWindow& WindowOf(uint32_t workload) const;
  // Those that make the window: see Options.
  std::set<uint32_t> Compared() const;
  // Failed operations of all kinds.
  uint64_t errors() const { return errors_; }
  // Over the workers that were not lost: rates over the window, as the report's, or over each
  // worker's own time where there is none.
  v1::PhaseFigures Figures() const;
  std::vector<Rollup> Rollups() const { return rollups_.Take(); }
  // The timeline of the merged intervals. It is empty if an interval was merged without a worker
  // whose part may have come later.
  Timeline TakeTimeline() { return all_whole_ ? std::move(timeline_) : Timeline(); }
  // Intervals that one point of WorkerSeries::rates stands for.
  uint32_t points_step() const { return step_; }

 private:
  struct Decoded {
    uint32_t workload;
    OperationDelta delta;
  };
  struct Part {
    v1::IntervalClass interval_class = v1::INTERVAL_CLASS_UNSPECIFIED;
    int64_t begin_ns = 0, end_ns = 0;
    std::vector<Decoded> operations;
    double longest_await_ns = 0;
    std::string slowest_device;
    DeviceLoad devices;
  };
  struct Pending {
    v1::IntervalClass interval_class = v1::INTERVAL_CLASS_UNSPECIFIED;
    std::map<uint32_t, Part> parts;  // by worker index
  };

  absl::Status CheckTimes(uint32_t worker, const v1::IntervalSample& sample) const;
  absl::StatusOr<std::vector<Decoded>> Decode(const v1::IntervalSample& sample) const;
  void AddUp(const v1::IntervalSample& sample, const std::vector<Decoded>& operations,
             WorkerSeries* series);
  // The rates of a measured interval.
  void AddPoints(const v1::IntervalSample& sample, const IoSums& ios, double latency_seconds,
                 WorkerSeries* series);
  // Points of measured intervals that did not arrive, before the one that did.
  void AddMissingPoints(uint32_t intervals, WorkerSeries* series);
  // Counts the points of a series that had so many before, and halves all if there are too many.
  void KeepPointsBounded(size_t before, const WorkerSeries& series);
  MergedInterval Merge(uint32_t interval, const Pending& pending) const;
  void ExtendWindows(const Pending& pending);
  std::vector<PartInterval> PartsOf(const Pending& pending) const;
  // Whether the part ended by itself before its worker measured anything.
  bool EndedInRamp(const PartId& id, int64_t ended_ns) const;
  void LearnParts(uint32_t worker, const v1::IntervalSample& sample);

  const Options options_;
  std::map<uint32_t, WorkerSeries> workers_;
  std::set<uint32_t> absent_;
  std::set<uint32_t> lost_;              // among them
  std::map<uint32_t, Pending> pending_;  // by interval
  uint32_t taken_ = 0;                   // intervals below were merged
  std::map<PartId, int64_t> parts_;      // as Options::parts
  CommonWindow window_;
  std::map<uint32_t, CommonWindow> windows_;  // by workload, where there are several
  RollupTable rollups_;
  Timeline timeline_;
  bool all_whole_ = true;  // no interval was merged without somebody who may deliver it yet
  uint64_t errors_ = 0;
  size_t points_ = 0;
  uint32_t step_ = 1;
};

}  // namespace lockstep::measure
