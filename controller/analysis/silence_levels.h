#pragma once

#include <cstddef>
#include <vector>

#include "controller/analysis/silence_rule.h"

namespace lockstep::controller {

// The levels at which a host completed I/Os around its silences: the part of silence_rule.h that
// tells an outage from a load that became slow. Pure; does not own `ios`.
class SilenceLevels {
 public:
  // `turns`: instants at which workloads begin or end, seconds from T, in any order.
  SilenceLevels(const HostIos& ios, std::vector<double> turns);

  // Whether a lower level beside the silence explains it. `rate`: the I/Os per second that the
  // silence was expected to have. `needed`: so many missing I/Os are no chance.
  bool Explain(const SilentSpan& silence, double rate, double needed) const;

 private:
  struct Level;

  // Adds the points from `first` on, in the direction of the sign of `step`, until a time as long
  // as the silence holds too many I/Os for the level. Whether the level explains the silence.
  bool AddSide(std::ptrdiff_t first, std::ptrdiff_t step, const SilentSpan& piece,
               Level* level) const;
  bool IsIn(std::ptrdiff_t point, const SilentSpan& piece) const;

  const HostIos& ios_;
  const std::vector<double> turns_;
};

}  // namespace lockstep::controller
