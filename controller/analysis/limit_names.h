#pragma once

#include <string>
#include <vector>

namespace lockstep::controller {

// Joins the limits of several runs by " or ", each different one once, the most frequent first.
// `limits` has a text for each run. An empty text is a run whose limit is not known, and is left
// out. Pure.
std::string LimitNames(const std::vector<std::string>& limits);

}  // namespace lockstep::controller
