#pragma once

#include <cassert>
#include <cstdint>

#include "common/ids.h"

namespace lockstep::worker {

// A pseudo-random order of the numbers 0 … size-1, in constant memory: a Feistel network of four
// rounds over the smallest even power of two that holds them, walked on while it leads outside (M.
// Luby and C. Rackoff 1988; J. Black and P. Rogaway, "Ciphers with arbitrary finite domains",
// 2002). Equal keys give equal orders. Immutable; thread-safe.
class Permutation {
 public:
  // A permutation of `size` > 0 values.
  Permutation(uint64_t size, uint64_t key) : size_(size) {
    assert(size > 0);
    int bits = 2;
    while (bits < 64 && (size - 1) >> bits != 0) bits += 2;
    half_ = bits / 2;
    mask_ = (uint64_t{1} << half_) - 1;
    for (int round = 0; round < kRounds; ++round) keys_[round] = common::DeriveSeed(key, round);
  }

  // `index` < size. Every value below size is that of exactly one index.
  uint64_t At(uint64_t index) const {
    assert(index < size_);
    do {
      index = Once(index);
    } while (index >= size_);
    return index;
  }

 private:
  static constexpr int kRounds = 4;

  uint64_t Once(uint64_t value) const {
    uint64_t left = value >> half_;
    uint64_t right = value & mask_;
    for (uint64_t key : keys_) {
      // Fibonacci hashing, D. Knuth, volume 3, 6.4
      uint64_t mixed = (right ^ key) * 0x9e3779b97f4a7c15u;
      mixed ^= mixed >> 32;
      mixed *= 0xd6e8feb86659fd93u;
      const uint64_t next = left ^ ((mixed >> 29) & mask_);
      left = right;
      right = next;
    }
    return left << half_ | right;
  }

  uint64_t size_;
  int half_ = 1;
  uint64_t mask_ = 1;
  uint64_t keys_[kRounds];
};

}  // namespace lockstep::worker
