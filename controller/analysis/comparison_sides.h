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
  std::map<FigureKey, size_t> partial;  // judged figures that only some runs have, and how many
};

// The figures that sets lack, for a comparison's warnings.
struct MissingFigures {
  std::vector<std::string> sentences;
  // Those whose change matters and is not known: a gate must not pass.
  uint32_t count = 0;
};
// How a gate takes a judged figure of `side`, beside the first set. `requested`: names of figures
// that the request asks to judge. Pure.
v1::Judgement JudgementOf(const FigureKey& key, const ComparedSide& first, const ComparedSide& side,
                          const std::set<std::string>& requested);
// `titles`: of the sides. Pure.
MissingFigures MissingFiguresOf(const std::vector<ComparedSide>& sides,
                                const std::vector<std::string>& titles,
                                const std::set<std::string>& requested);

}  // namespace lockstep::controller
