#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "controller/analysis/figure_table.h"
#include "proto/comparison.pb.h"

namespace lockstep::controller {

// One set, without the runs that cannot be compared.
struct ComparedSide {
  // Whether a run has a row that is compared for the phase, workload and kind of the key. Its
  // figures may be unknown.
  bool HasRow(const FigureKey& key) const;

  std::vector<const v1::RunFigures*> runs;
  // A value for each run of the set: figures that all its runs have; of those that are not judged,
  // that any run has.
  std::map<FigureKey, std::vector<double>> table;
  std::set<FigureKey> partial;  // judged figures of only some of its runs
};

}  // namespace lockstep::controller
