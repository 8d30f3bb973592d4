#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace lockstep::worker {

// The header of a verifiable block, at its start, little endian. Every 512-byte sector of the block
// moreover ends with 8 bytes that name its generation and key, by which torn and misplaced
// sectors are known; the rest is pseudo-random content of `content_seed`, so that the whole block
// can be made again from its header.
struct BlockHeader {
  static constexpr uint64_t kMagic = 0x314b4c425053434cu;  // "LCSPBLK1"
  uint64_t magic = kMagic;
  uint64_t run_high = 0, run_low = 0;  // the run's UUID
  uint16_t phase = 0;
  uint16_t attempt = 0;
  uint32_t worker = 0;  // its number in the run
  uint16_t workload = 0;
  uint16_t thread = 0;
  uint32_t length = 0;  // of the block, bytes
  uint64_t key = 0;     // names the target: TargetKey() a device's identity or a file's path
  uint64_t offset = 0;  // in the target, bytes
  // how often this run has written the block, this time included
  uint32_t generation = 0;
  // fsyncs that this thread had acknowledged when it wrote this
  uint32_t sync_epoch = 0;
  uint64_t sequence = 0;  // of the thread's writes, from 1
  // all of the thread's writes up to this one were acknowledged by an fsync when it wrote this
  uint64_t durable_sequence = 0;
  int64_t written_ns = 0;  // the worker's wall clock, since 1970
  uint64_t content_seed = 0;
  // XXH3 of what follows the header, seeded with header_checksum
  uint64_t block_checksum = 0;
  uint64_t header_checksum = 0;  // XXH3 of what precedes block_checksum
};
static_assert(sizeof(BlockHeader) == 112, "the layout on disk");

inline constexpr size_t kMinVerifiableBlock = 512;

// Names a target in headers: by a device's identity, or a file's path.
uint64_t TargetKey(const std::string& thing);

// Makes the whole block: content, sector marks, and header with its checksums. header.length is a
// multiple of 512.
void MakeBlock(const BlockHeader& header, char* block);
// The same around the content that the block has, as far as sector marks and header leave it.
// header.content_seed should be what that content was made of.
void SealBlock(const BlockHeader& header, char* block);
// The header at a block's start. Its checksum says whether it is what was written.
BlockHeader HeaderOf(const char* block);
bool IsIntact(const BlockHeader& header);

// The expected contents of a block that was read from a target.
struct BlockExpectation {
  uint64_t run_high = 0, run_low = 0;
  bool any_run = false;  // blocks of other runs are as good
  uint64_t key = 0;
  bool any_key = false;  // the path may have been another when it was written
  uint64_t offset = 0;
  uint32_t length = 0;
  uint32_t generation = 0;  // what this run wrote last; 0 when not known
  bool at_least = false;    // or something newer
  // It may be written while it is read: what a write in progress explains is kUnsettled.
  bool written_since = false;
  // The names of the run's workers, by number, for messages; may be null.
  const std::vector<std::string>* writers = nullptr;
  uint32_t writer = ~0U;  // whose part of the target it is, where that is known
};

// kUnsettled: not what one write made, but nothing in it is older than what is known.
enum class BlockState { kGood, kCorrupt, kStale, kMisplaced, kTorn, kNeverWritten, kUnsettled };

struct BlockFinding {
  BlockState state = BlockState::kGood;
  std::string expected;  // in words; empty when good
  std::string found;
};

// Looks at a block. Allocates only when it is not good.
BlockFinding CheckBlock(const char* block, const BlockExpectation& expectation);

}  // namespace lockstep::worker
