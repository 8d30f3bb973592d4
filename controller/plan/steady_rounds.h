#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "controller/plan/next_phase.h"
#include "measure/steady_state.h"

namespace lockstep::controller {

// Rounds of a sweep that follow each other. A round is a repetition of all points; the first one,
// which may only warm up, is 0.
struct RoundWindow {
  uint32_t first = 0;
  uint32_t last = UINT32_MAX;
  bool Has(uint32_t round) const { return first <= round && round <= last; }
};

// Whether the rounds of a sweep are steady, by its `until_steady`.
struct RoundsState {
  // A point whose figure must be steady.
  struct Tracked {
    std::string point;  // NameOf(SweepPoint); empty if the sweep has no axes
    // The figure in each round, from the first after those that warm up; 0 if it is not known.
    std::vector<double> values;
    measure::Variation variation;  // over the window
    bool steady = false;
  };
  bool steady = false;
  uint32_t rounds = 0;  // complete ones, warm-up apart
  // The first window that is steady, or else the last one in which every figure is known.
  std::optional<RoundWindow> window;
  std::vector<Tracked> tracked;  // in the order of the axes' values; empty before the first round
};
// `results`: of one phase of the job, in any order.
RoundsState StateOfRounds(const v1::Sweep& sweep, const std::vector<StepResult>& results);

// Makes the load of a sweep's points of the phase: it has no sweep. If the rounds must be steady,
// no single point is expected to be.
void DropSweep(v1::RunPhase* run);

}  // namespace lockstep::controller
