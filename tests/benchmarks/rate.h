#pragma once

#include <functional>
#include <random>
#include <string>
#include <vector>

namespace lockstep::controller {

using Random = std::mt19937_64;

// How often something holds in simulated cases, and the bounds in which that share is to lie.
struct Rate {
  std::string name;
  double least, most;
  std::function<bool(Random*)> holds;
};

// How often the confidence intervals of a phase's percentiles hold the truth.
std::vector<Rate> PercentileRates();

// How often closed loops without a stall are said to hide some, and how often those that do are
// found.
std::vector<Rate> OmissionRates();

}  // namespace lockstep::controller
