#pragma once

#include <cstdint>
#include <string>

#include "proto/comparison.pb.h"

namespace lockstep::controller {

// The cells of a comparison's tables. All functions are pure.

using ComparedFigures = google::protobuf::RepeatedPtrField<v1::ComparedFigure>;

// "1.20 ms", "76,949": a value of the unit that ComparedFigure::unit names.
std::string ValueText(const std::string& unit, double value);

// "+1.5", "-3.0", "0.0": a share in percent.
std::string SignedShare(double share);

// The pairs of a run of the first set and a run of this one. The change is their median, which is
// rarely the change of the two medians beside it.
uint64_t PairsOf(const v1::ComparedFigure& figure, int set);

// The head of the column: "change of 16 pairs [95 %]". Figures that some runs do not have are of
// fewer pairs, so that the head has no number then.
std::string ChangeTitle(const ComparedFigures& figures, int set);

// "-0.2 % [-7.0 +9.3]"; "-" without a change.
std::string ChangeCell(const v1::ComparedValue& value);

// Comparisons of earlier versions have no titles.
const std::string& TitleOf(const v1::ComparedSet& set);

}  // namespace lockstep::controller
