#pragma once

#include <string>
#include <vector>

#include "controller/analysis/comparison.h"
#include "proto/comparison.pb.h"

namespace lockstep::controller {

// The sentences about a comparison of sets of runs. All functions are pure.

// A title for each set. A set that is named by a label keeps its name. Others have the labels that
// its runs share and that differ between the sets ("firmware=1.3"), if these tell all sets apart.
std::vector<std::string> TitlesOf(const std::vector<RunSet>& sets);

// Adds the labels, fields of the job and facts of the hosts in which the sets' runs differ.
void AddDifferences(const std::vector<RunSet>& sets, v1::Comparison* comparison);

// Adds a sentence for each set after the first. The figures, their tests and the titles must be
// there.
void AddConclusions(v1::Comparison* comparison);

}  // namespace lockstep::controller
