#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "frontends/findings.h"
#include "frontends/vdbench/translate.h"

namespace lockstep::frontends::vdbench {

// A workload of a run: a load on one storage.
struct Flow {
  v1::Workload workload;
  Origins origins;
  ptrdiff_t load = 0;               // which one of the file
  const Parameter* skew = nullptr;  // of the load
  double percent = 0;               // its share of the run's rate
};

// A run definition, as far as it is the same for all of its rates.
struct RunPlan {
  const Statement* statement = nullptr;
  std::vector<Flow> flows;
  int64_t duration_ns = 0, ramp_ns = 0;
  Origin duration_from, ramp_from;
};

struct Phase {
  v1::PhaseSpec spec;
  Origins origins;
};

// Adds the phases of a run: its loops are axes of a sweep, a curve is a phase that finds the
// maximum and one at shares of it. `smallest_storage`: bytes that a workload reaches.
void AddPhases(const RunPlan& plan, int64_t smallest_storage, std::set<std::string>* names,
               std::vector<Phase>* phases, Findings* findings);

// How many phases and workloads these become by their sweeps and curves.
size_t StepsOf(const std::vector<Phase>& phases);
size_t WorkloadsOf(const std::vector<Phase>& phases);

}  // namespace lockstep::frontends::vdbench
