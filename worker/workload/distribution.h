#pragma once

#include <cstdint>
#include <memory>
#include <variant>
#include <vector>

#include "worker/workload/permutation.h"
#include "worker/workload/random.h"

namespace lockstep::worker {

// How popular each of a number of blocks is. Shares and ratios lie in [0, 1].
struct UniformOffsets {};
struct ZipfOffsets {
  double theta = 0.99;     // > 0
  bool clustered = false;  // popular blocks first, instead of scattered
};
struct ParetoOffsets {
  double h = 0.2;  // in (0, 1): 1-h of the draws fall on h of the blocks
  bool clustered = false;
};
struct NormalOffsets {
  double deviation = 0.1;  // > 0, of the whole
  double center = 0.5;
};
struct ZonedOffsets {
  struct Zone {
    double draws = 0;
    double size = 0;
  };
  std::vector<Zone> zones;  // one after the other
};
using Offsets =
    std::variant<UniformOffsets, ZipfOffsets, ParetoOffsets, NormalOffsets, ZonedOffsets>;

// Draws block numbers in [0, size) by a popularity, in constant memory and time. Immutable but for
// the caller's Random; thread-safe.
class Distribution {
 public:
  virtual ~Distribution() = default;
  virtual uint64_t Draw(Random* random) const = 0;
};

// Scattered popular blocks lie where `seed` puts them. `size` > 0; parameters lie in the ranges of
// proto/load.proto.
std::unique_ptr<Distribution> MakeDistribution(const Offsets& offsets, uint64_t size,
                                               uint64_t seed);

}  // namespace lockstep::worker
