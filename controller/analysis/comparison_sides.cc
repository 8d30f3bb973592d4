#include "controller/analysis/comparison_sides.h"

#include <algorithm>

namespace lockstep::controller {

bool ComparedSide::HasRow(const FigureKey& key) const {
  const auto is_row = [&](const v1::FigureRow* row) {
    return row->workload() == key.workload && row->operation().kind() == key.kind;
  };
  const auto is_phase = [&](const v1::PhaseOfRun& phase) {
    if (phase.name() != key.phase) return false;
    const std::vector<const v1::FigureRow*> rows = ComparedRowsOf(phase);
    return std::any_of(rows.begin(), rows.end(), is_row);
  };
  return std::any_of(runs.begin(), runs.end(), [&](const v1::RunFigures* run) {
    return std::any_of(run->phases().begin(), run->phases().end(), is_phase);
  });
}

}  // namespace lockstep::controller
