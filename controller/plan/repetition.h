#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controller/plan/next_phase.h"

namespace lockstep::controller {

// How well a sweep's repetitions know its figure so far: after how many, warm-up apart, and the
// widest margin of all points, as a share of the mean.
struct RepetitionState {
  uint32_t repetitions = 0;  // whole ones
  double margin_ratio = 0;
  bool enough = false;
};
// `results`: of one phase of the job, in any order.
RepetitionState StateOfRepetitions(const v1::Sweep& sweep, const std::vector<StepResult>& results);

// The value of the figure; 0 if it is not known.
double ValueOfFigure(v1::RepeatFigure figure, const v1::PhaseFigures& figures);
// "IOPS", …
std::string NameOf(v1::RepeatFigure figure);

}  // namespace lockstep::controller
