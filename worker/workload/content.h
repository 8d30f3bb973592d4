#pragma once

#include <cstddef>
#include <cstdint>

namespace lockstep::worker {

// The contents of written blocks. Ratios lie in [0, 1].
struct ContentOptions {
  bool zeros = false;
  bool fresh = false;           // new bytes for every block
  double compressed_ratio = 1;  // share that is left when a block is compressed well
  double duplicate_ratio = 0;   // share of the blocks that are copies of one of duplicate_blocks
  uint64_t duplicate_blocks = 16;
};
// As many blocks that others are copies of are kept in memory.
inline constexpr uint32_t kDuplicateBlocks = 16;

// Content is made in units of this many bytes: the first part of each random, the rest zeros.
inline constexpr size_t kContentUnit = 4096;

// Fills a block: per unit the share that does not compress away with pseudo-random bytes of `seed`,
// the rest with zeros. Equal arguments give equal bytes. Pure.
void FillContent(char* block, size_t length, double compressed_ratio, uint64_t seed);

// Makes a block differ from all others: 16 bytes near the start of each unit, of which no two
// blocks of a thread have the same.
void StampContent(char* block, size_t length, uint64_t offset, uint64_t number);

}  // namespace lockstep::worker
