#pragma once

#include <cstdint>
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

// "+12 %", "−3.4 %", "0.0 %".
std::string SignedPercent(double share);

// That so few runs prove nothing, behind what they found: with the commands that make more of them.
// Both sets have a run.
using RunIds = google::protobuf::RepeatedPtrField<std::string>;
std::string TooFewRuns(const std::string& figures, const RunIds& before, const RunIds& after,
                       uint32_t fewest);

// That a drift of the machine may be the cause of so many figures' differences. `what`: "" or
// "observed ".
std::string DriftWarning(size_t count, const std::string& what, const std::string& first,
                         const std::string& other);

// Whether a part of the run is compared: its loads, or its observe phases.
bool IsCompared(const v1::RunFigures& run);

}  // namespace lockstep::controller
