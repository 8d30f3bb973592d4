#pragma once

#include <cstdint>

#include "common/ids.h"

namespace lockstep::worker {

// xoshiro256++ 1.0 (D. Blackman and S. Vigna, "Scrambled linear pseudorandom number generators",
// 2021). Not thread-safe; equal seeds give equal sequences on every machine.
class Random {
 public:
  explicit Random(uint64_t seed) {
    for (int i = 0; i < 4; ++i) state_[i] = common::DeriveSeed(seed, i);
  }

  uint64_t Next() {
    const uint64_t result = Rotate(state_[0] + state_[3], 23) + state_[0];
    const uint64_t t = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= t;
    state_[3] = Rotate(state_[3], 45);
    return result;
  }

  // Uniform in [0, bound); the bias is below bound / 2^64.
  uint64_t Below(uint64_t bound) {
    return static_cast<uint64_t>((static_cast<unsigned __int128>(Next()) * bound) >> 64);
  }

  // Uniform in [0, 1), all 53 bits.
  double Unit() { return static_cast<double>(Next() >> 11) * 0x1p-53; }

 private:
  static uint64_t Rotate(uint64_t x, int bits) { return (x << bits) | (x >> (64 - bits)); }
  uint64_t state_[4];
};

}  // namespace lockstep::worker
