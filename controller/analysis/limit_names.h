#pragma once

#include <string>
#include <vector>

namespace lockstep::controller {

// The limits of several runs, one text for each: every different one, the most frequent first,
// joined by " or ". Runs that do not know their limit (an empty text) are left out. Pure.
std::string LimitNames(const std::vector<std::string>& limits);

}  // namespace lockstep::controller
