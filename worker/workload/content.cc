#include "worker/workload/content.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "common/ids.h"

namespace lockstep::worker {
namespace {

// Four xorshift64 generators (G. Marsaglia 2003) side by side, which compilers turn into vector
// instructions.
void FillRandom(char* bytes, size_t length, uint64_t seed) {
  constexpr int kLanes = 4;
  uint64_t lanes[kLanes];
  // xorshift never leaves the state 0: the lane would yield zeros.
  for (int i = 0; i < kLanes; ++i) lanes[i] = common::DeriveSeed(seed, i) | 1;
  size_t at = 0;
  for (; at + sizeof lanes <= length; at += sizeof lanes) {
    for (uint64_t& lane : lanes) {
      lane ^= lane << 13;
      lane ^= lane >> 7;
      lane ^= lane << 17;
    }
    memcpy(bytes + at, lanes, sizeof lanes);
  }
  memcpy(bytes + at, lanes, length - at);
}

}  // namespace

void FillContent(char* block, size_t length, double compressed_ratio, uint64_t seed) {
  if (compressed_ratio >= 1) return FillRandom(block, length, seed);
  // Each unit has its own share of zeros. With all zeros at the block's end, storage that
  // compresses small units would find some that it can drop and others that it cannot shrink.
  for (size_t at = 0; at < length; at += kContentUnit) {
    const size_t unit = std::min(kContentUnit, length - at);
    const size_t random =
        static_cast<size_t>(std::llround(static_cast<double>(unit) * compressed_ratio));
    FillRandom(block + at, random, common::DeriveSeed(seed, at));
    memset(block + at + random, 0, unit - random);
  }
}

void StampContent(char* block, size_t length, uint64_t offset, uint64_t number) {
  const uint64_t stamp[2] = {offset, number};
  // At another line of the unit each time: the first lines of all blocks would share one set of the
  // processor's cache.
  const size_t line = number % 4 * 64;
  for (size_t at = line; at + sizeof stamp <= length; at += kContentUnit) {
    memcpy(block + at, stamp, sizeof stamp);
  }
}

}  // namespace lockstep::worker
