#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "measure/phase_series.h"
#include "measure/run_data.h"
#include "measure/steady_state.h"
#include "proto/job.pb.h"
#include "proto/report.pb.h"

namespace lockstep::controller {

// One phase with load, as analyses see it: what the store holds of it, and its intervals added up.
// Does not own what it was made of.
class PhaseView {
 public:
  // `steady`: whether the load was, where the job asks for it; may be null.
  PhaseView(const measure::RunData& data, const measure::PhaseData& phase,
            const measure::PhaseSeries& series,
            const measure::SteadyState::Verdict* steady = nullptr);

  const measure::RunData& data() const { return data_; }
  const measure::PhaseData& phase() const { return phase_; }
  const measure::PhaseSeries& series() const { return series_; }
  const v1::RunPhase& load() const { return load_; }
  const measure::SteadyState::Verdict* steady() const { return steady_; }
  // For a worker that is not the run's: null, and a placeholder for the name.
  const measure::RunWorker* WorkerOf(uint32_t index) const;
  std::string HostOf(uint32_t index) const;
  // What the worker sent at the phase's end; null for one that was not part of the phase.
  const v1::PhaseResult* ResultOf(uint32_t index) const;
  // A number among the facts of the worker's host, as "cpu.count"; nothing where it is not known.
  std::optional<double> FactOf(uint32_t index, const std::string& fact) const;
  // The run's workers that the phase's last attempt was begun without: lost earlier, and not back.
  std::vector<const measure::RunWorker*> Absent() const;
  // Whether it samples devices and hosts, and has no load.
  bool IsObserve() const { return phase_.phase.spec.has_observe(); }
  // The devices that the worker said, when the run was admitted, that it sees in an observe phase;
  // null for another phase, and if it said nothing.
  const v1::ObservedDevices* ObservedBy(const measure::RunWorker& worker) const;
  // When the workload begins, nanoseconds from T.
  int64_t BeginNs(uint32_t workload) const;
  // Whether its figures are made up (lockstep-worker --simulate).
  bool IsSynthetic() const;
  // Whether the processor time of all results, and what their threads count, are of the measured
  // time, as their I/Os are.
  bool HasMeasuredUsage() const;
  // Whether the worker's counters of devices, host and interfaces are of the measured time: of at
  // most a tenth more or less. They are read a little before T, and a little after a load that
  // ended by itself, so that a load of a few milliseconds would get all that others did around it.
  bool SamplesFit(const measure::WorkerPhaseData& worker) const;
  // The time that these counters are of.
  double SampledSeconds(const measure::WorkerPhaseData& worker) const;
  // "the counters are of 25 ms, the measured time of 940 µs".
  std::string WhySamplesDoNotFit(const measure::WorkerPhaseData& worker) const;
  // Whether the workload's target is a null target.
  bool HasNullTarget(const v1::Workload& workload) const;
  // The time that rates of sums are over: the common window; the whole phase when no interval was
  // measured by all.
  double window_seconds() const { return SecondsOf(series_.window()); }
  // The same of one workload on all of its workers, without those on which it ended in the ramp. 0
  // if it ran for no part of the measured time.
  double WorkloadSeconds(uint32_t workload) const;
  // Whether the part ended by itself in the ramp; the same of all of a worker's parts.
  bool EndedInRamp(const v1::WorkloadResult& part) const;
  bool EndedInRamp(const measure::WorkerPhaseData& worker) const;
  // Whether the load ended before the workload's start delay did.
  bool NeverBegan(uint32_t workload) const;
  // The end of the measured time, from T; of the worker that measured longest.
  double LastMeasuredSeconds() const;
  // The begin of the phase's first point, seconds from T. Infinite if no interval was measured.
  double PointsBeginSeconds() const;
  // The points of a worker's series from that begin on. Those of intervals that it did not deliver
  // are not numbers, so that the i-th points of all workers are of the same time.
  std::vector<double> PointsOf(const measure::WorkerSeries& worker,
                               const measure::RateSeries& rates, double begin_seconds) const;
  // The worker's operations in the common window; of one workload in its own.
  std::map<measure::WorkloadKind, measure::IoSums> InWindow(uint32_t worker) const {
    return CountsIn(series_.window(), worker);
  }
  std::map<measure::WorkloadKind, measure::IoSums> InWindowOf(uint32_t workload,
                                                              uint32_t worker) const {
    return CountsIn(series_.WindowOf(workload), worker);
  }

  // Whether the worker has a workload in the phase and completed an I/O: others take part in no
  // comparison.
  static bool Worked(const measure::WorkerPhaseData& worker) {
    return worker.has_result && worker.result.last_io_ns() != 0;
  }
  // Whether the worker's load was ended before its own end.
  static bool CutShort(const measure::WorkerPhaseData& worker) {
    return worker.has_result && worker.result.stopped_early();
  }
  // From T to the last completion of the worker's load.
  static double DoneSeconds(const measure::WorkerPhaseData& worker) {
    return static_cast<double>(worker.result.last_io_ns() - worker.result.go_ns()) / 1e9;
  }

 private:
  double SecondsOf(const measure::CommonWindow& window) const;
  // Whether the workload ended by itself in the ramp, on all hosts.
  bool EndedInRamp(uint32_t workload) const;
  std::map<measure::WorkloadKind, measure::IoSums> CountsIn(const measure::CommonWindow& window,
                                                            uint32_t worker) const;

  const measure::RunData& data_;
  const measure::PhaseData& phase_;
  const measure::PhaseSeries& series_;
  const v1::RunPhase load_;
  const int observe_;  // ObserveIndexOf()
  const measure::SteadyState::Verdict* steady_;
};

// Whether the rate of an open loop changes while the phase runs, as its job says.
inline bool HasChangingRate(const v1::Workload& w) {
  return w.open_loop().has_ramp_to_ratio() && w.open_loop().ramp_to_ratio() != 1;
}

// When the first and the last of the phase's workers that did I/O were done, from T.
struct Done {
  bool any = false;  // without one both are 0
  double first_seconds = 0, last_seconds = 0;
};
Done DoneOf(const measure::PhaseData& phase);

// The sum over all workloads, without syncs.
measure::IoSums IosOf(const std::map<measure::WorkloadKind, measure::IoSums>& sums);

// The rates of each kind of operation over `seconds`, which are more than 0.
void SetKindRates(const std::map<measure::WorkloadKind, measure::IoSums>& sums, double seconds,
                  google::protobuf::RepeatedPtrField<v1::KindRate>* rates);

// `report` with rates of `sums` over `seconds`.
v1::OperationReport WithRate(v1::OperationReport report, const measure::IoSums& sums,
                             double seconds);

}  // namespace lockstep::controller
