#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "proto/job.pb.h"
#include "proto/result.pb.h"
#include "storage/store.h"

namespace lockstep::controller {

// One phase with load of a run, as the store holds it. Refers to what it was made of.
class PhaseView {
 public:
  PhaseView(const storage::RunData& data, const storage::PhaseData& phase);

  const storage::RunData& data() const { return data_; }
  const storage::PhaseData& phase() const { return phase_; }
  const v1::RunPhase& load() const { return load_; }
  // Null, and a stand-in name, for a worker that the run does not know.
  const storage::RunWorker* WorkerOf(uint32_t index) const;
  std::string HostOf(uint32_t index) const;
  // The run's workers that the phase's last attempt was begun without: lost earlier, and not back.
  std::vector<const storage::RunWorker*> Absent() const;
  // Whether its figures are made up (lockstep-worker --simulate).
  bool IsSynthetic() const;

  static bool Measured(const v1::IntervalSample& interval) {
    return interval.interval_class() == v1::INTERVAL_CLASS_MEASURED;
  }
  // Whether the worker has a workload in the phase and completed an I/O: others take part in no
  // comparison.
  static bool Worked(const storage::WorkerPhaseData& worker) {
    return worker.has_result && worker.result.last_io_ns() != 0;
  }

 private:
  const storage::RunData& data_;
  const storage::PhaseData& phase_;
  const v1::RunPhase load_;
};

struct IoSums {
  uint64_t operations = 0;
  uint64_t bytes = 0;
};
// Of all workloads; syncs are no I/Os.
IoSums SumsOf(const v1::IntervalSample& interval);

}  // namespace lockstep::controller
