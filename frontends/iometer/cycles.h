#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "frontends/findings.h"
#include "frontends/iometer/config.h"

namespace lockstep::frontends::iometer {

inline constexpr size_t kMaxRuns = 1000;

// One of the runs that a test of Iometer has for each access specification: how many targets each
// worker works on, the first ones of its list. It covers the workers of all managers, in their
// order.
struct Run {
  std::string label;  // "2 targets", "3 workers"; empty if there is one run
  std::vector<std::vector<size_t>> targets;
};

// The runs for the specification with this number in the workers' lists. Workers without a
// specification of that number, and those that are idle then, have no targets.
std::vector<Run> RunsFor(const Config& config, size_t spec, Findings* findings);

// The depths that the test goes through; empty if each worker has its own.
std::vector<int64_t> DepthsOf(const Setup& setup, Findings* findings);

// Whether the worker does I/O for the specification of that number.
bool IsActive(const Worker& worker, size_t spec);

}  // namespace lockstep::frontends::iometer
