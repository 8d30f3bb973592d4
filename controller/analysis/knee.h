#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace lockstep::controller {

// Knees by the method of V. Satopaa, J. Albrecht, D. Irwin, B. Raghavan, "Finding a 'Kneedle' in a
// Haystack" (2011), without its smoothing: the point that lies farthest from the straight line
// between the first and the last, when both axes are scaled to 1. None where there are fewer than
// four points, or the farthest is nearer than a tenth: then the curve has no knee. `x` ascends;
// where it spans a factor of eight or more it is taken logarithmically.

// Both ends lie on the line: of three points only the middle one could be the knee.
inline constexpr size_t kMinKneePoints = 4;

// The knee of a curve that rises steeply and then flattens: throughput over parallelism. Points
// after the last that is within 1 % of the highest are left out.
std::optional<size_t> KneeOfGain(const std::vector<double>& x, const std::vector<double>& y);
// The knee of a curve that is flat and then rises steeply: latency over load.
std::optional<size_t> KneeOfCost(const std::vector<double>& x, const std::vector<double>& y);

// From this share of what was due on, a rate counts as served.
inline constexpr double kServed = 0.97;

// The last rate that is served, with all before it. `served`: the share of each rate, ascending.
std::optional<size_t> LastServed(const std::vector<double>& served);

}  // namespace lockstep::controller
