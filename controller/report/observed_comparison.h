#pragma once

#include <cstddef>
#include <string>

#include "proto/comparison.pb.h"

namespace lockstep::controller {

// The part of a comparison on observe phases: the conclusions, unless the comparison begins with
// them, and a table of devices and hosts for each set after the first. Empty if no run observed.
std::string RenderObservedComparison(const v1::Comparison& comparison, size_t width);

// The same for a pull request. Texts from outside are made plain text.
std::string RenderObservedMarkdown(const v1::Comparison& comparison);

}  // namespace lockstep::controller
