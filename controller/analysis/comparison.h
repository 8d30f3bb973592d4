#pragma once

#include <optional>
#include <string>
#include <vector>

#include "proto/comparison.pb.h"

namespace lockstep::controller {

// One side of a comparison, with what its runs came to.
struct RunSet {
  std::string name;
  std::vector<v1::RunFigures> runs;
  // Warnings of what is not in `runs`, such as a report that cannot be read.
  std::vector<std::string> warnings;
};

// Compares every set with the first: phases of one name, figure by figure. Runs that are not done,
// are invalid or lost hosts are left out, with a warning. Pure.
//
// `max_regression`: a figure that is worse by more than this share, and not by chance, is a
// regression; without it none is. Not by chance: p < 5 % over all figures and sets together.
// `judged`: figures out of JudgedOnRequest() that are judged like the others. One that the first
// set lacks counts as missing. A percentile that it lacks does so only if it is among these.
v1::Comparison Compare(const std::vector<RunSet>& sets, std::optional<double> max_regression,
                       const std::vector<std::string>& judged = {});

// The figures that say where the time went and can be judged, each that more of is worse; and the
// percentiles, which are judged wherever both sets have them.
std::vector<std::string> JudgedOnRequest();

}  // namespace lockstep::controller
