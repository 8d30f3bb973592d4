#include "worker/workload/block_header.h"

// The I/O threads compute the checksums of each block: the functions are inlined here.
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cassert>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "measure/target_key.h"
#include "worker/workload/content.h"

namespace lockstep::worker {
namespace {

constexpr size_t kSector = 512;

struct SectorMark {
  uint32_t generation;
  uint32_t key;
};

uint32_t LocationMark(const BlockHeader& header, size_t sector) {
  // The mark names target and sector: a sector that was written to another place is not taken for
  // one of this block.
  const uint64_t mixed = (header.key ^ (header.offset / kSector + sector)) * 0x9e3779b97f4a7c15u;
  return static_cast<uint32_t>(mixed >> 32);
}

uint64_t HeaderChecksum(const BlockHeader& header) {
  return XXH3_64bits(&header, offsetof(BlockHeader, block_checksum));
}

uint64_t BlockChecksum(const BlockHeader& header, const char* block) {
  return XXH3_64bits_withSeed(block + sizeof header, header.length - sizeof header,
                              header.header_checksum);
}

// The generations that the sectors of a block name, as the first sector and how it goes on; true
// when they are not all one.
bool IsTorn(const BlockHeader& header, const char* block, size_t* first_other, uint32_t* other) {
  for (size_t sector = 0; sector < header.length / kSector; ++sector) {
    SectorMark mark;
    memcpy(&mark, block + (sector + 1) * kSector - sizeof mark, sizeof mark);
    if (mark.key != LocationMark(header, sector)) continue;  // not one of ours: corrupt, not torn
    if (mark.generation == header.generation) continue;
    *first_other = sector;
    *other = mark.generation;
    return true;
  }
  return false;
}

// Whether a sector with its mark is older than `generation`: no write in progress leaves one behind
// that was acknowledged before.
bool HasOlderSector(const BlockHeader& header, const char* block, uint32_t generation,
                    size_t* sector, uint32_t* older) {
  for (*sector = 0; *sector < header.length / kSector; ++*sector) {
    SectorMark mark;
    memcpy(&mark, block + (*sector + 1) * kSector - sizeof mark, sizeof mark);
    *older = mark.generation;
    if (mark.key == LocationMark(header, *sector) && mark.generation < generation) return true;
  }
  return false;
}

bool IsZero(const char* block, size_t length) {
  return block[0] == 0 && memcmp(block, block + 1, length - 1) == 0;
}

std::string Describe(const BlockHeader& h, const BlockExpectation& e) {
  const bool is_named = e.writers != nullptr && h.worker < e.writers->size();
  return absl::StrCat("generation ", h.generation, " by thread ", h.thread, " of worker ", h.worker,
                      is_named ? absl::StrCat(" (", (*e.writers)[h.worker], ")") : "", ", phase ",
                      h.phase, h.attempt > 1 ? absl::StrCat(" (attempt ", h.attempt, ")") : "",
                      ", write ", h.sequence, " at ",
                      absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", absl::FromUnixNanos(h.written_ns),
                                       absl::UTCTimeZone()),
                      " by its clock, offset ", h.offset, ", ", h.length, " bytes");
}

}  // namespace

uint64_t TargetKey(const std::string& thing) { return measure::TargetKey(thing); }

BlockHeader HeaderOf(const char* block) {
  BlockHeader header;
  memcpy(&header, block, sizeof header);
  return header;
}

bool IsIntact(const BlockHeader& header) {
  return header.magic == BlockHeader::kMagic && header.header_checksum == HeaderChecksum(header);
}

void MakeBlock(const BlockHeader& header, char* block) {
  assert(header.length % kSector == 0 && header.length >= kMinVerifiableBlock);
  FillContent(block, header.length, 1, header.content_seed);
  SealBlock(header, block);
}

void SealBlock(const BlockHeader& header, char* block) {
  for (size_t sector = 0; sector < header.length / kSector; ++sector) {
    const SectorMark mark = {header.generation, LocationMark(header, sector)};
    memcpy(block + (sector + 1) * kSector - sizeof mark, &mark, sizeof mark);
  }
  BlockHeader complete = header;
  // The checksum of the block is seeded with that of the header: the header of one write over the
  // content of another does not fit.
  complete.header_checksum = HeaderChecksum(header);
  complete.block_checksum = BlockChecksum(complete, block);
  memcpy(block, &complete, sizeof complete);
}

// The order of the checks matters. Run and generation are compared last, when both checksums have
// shown that the block is what one write made: a broken block must not be reported as stale.
BlockFinding CheckBlock(const char* block, const BlockExpectation& e) {
  BlockHeader header;
  memcpy(&header, block, sizeof header);
  const auto expected = [&] {
    return absl::StrCat("a block for offset ", e.offset,
                        e.generation == 0 ? "" : absl::StrCat(", generation ", e.generation),
                        e.at_least ? " or newer" : "",
                        e.writers != nullptr && e.writer < e.writers->size()
                            ? ", by " + (*e.writers)[e.writer]
                            : "");
  };
  if (header.magic != BlockHeader::kMagic) {
    // If a write of this run completed, the block was written: its bytes are lost or replaced.
    return {e.generation != 0 ? BlockState::kCorrupt : BlockState::kNeverWritten, expected(),
            IsZero(block, e.length) ? "zeros" : "no header: other bytes"};
  }
  if (header.header_checksum != HeaderChecksum(header)) {
    if (e.written_since) return {BlockState::kUnsettled, "", ""};
    return {BlockState::kCorrupt, expected(), "a header whose checksum does not match"};
  }
  // The length comes from the block: it must be right before the checksum reads so many bytes.
  if (header.length != e.length) {
    return {BlockState::kMisplaced, expected(),
            absl::StrCat("a block of another size: ", Describe(header, e))};
  }
  if (header.offset != e.offset || (!e.any_key && header.key != e.key)) {
    return {BlockState::kMisplaced, expected(),
            absl::StrCat(
                header.key != e.key ? "a block of another target: " : "a block of another offset: ",
                Describe(header, e))};
  }
  size_t sector = 0;
  uint32_t other = 0;
  if (header.block_checksum != BlockChecksum(header, block)) {
    if (e.written_since) {
      if (!HasOlderSector(header, block, e.generation, &sector, &other)) {
        return {BlockState::kUnsettled, "", ""};
      }
      return {BlockState::kTorn, expected(),
              absl::StrCat(Describe(header, e), ", but at byte ", sector * kSector, " generation ",
                           other)};
    }
    if (IsTorn(header, block, &sector, &other)) {
      return {BlockState::kTorn, expected(),
              absl::StrCat(Describe(header, e), ", but from byte ", sector * kSector,
                           " on of generation ", other)};
    }
    return {BlockState::kCorrupt, expected(),
            absl::StrCat(Describe(header, e), ", and bytes that do not match its checksum")};
  }
  const bool other_run = header.run_high != e.run_high || header.run_low != e.run_low;
  if (other_run && !e.any_run) {
    return {BlockState::kStale, expected(),
            absl::StrCat("what another run wrote: ", Describe(header, e))};
  }
  const bool is_expected =
      header.generation == e.generation || (e.at_least && header.generation > e.generation);
  if (!other_run && e.generation != 0 && !is_expected) {
    return {BlockState::kStale, expected(),
            absl::StrCat(header.generation < e.generation ? "an earlier content: "
                                                          : "a content that was not written: ",
                         Describe(header, e))};
  }
  return {};
}

}  // namespace lockstep::worker
