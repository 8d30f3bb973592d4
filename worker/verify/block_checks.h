#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "proto/result.pb.h"
#include "worker/verify/block_ledger.h"
#include "worker/workload/block_header.h"

namespace lockstep::worker {

// Verification on one I/O thread: makes the blocks that are written and checks those that are read.
// Belongs to that thread; allocates only for a block that is not what it should be.
class BlockChecks {
 public:
  struct Options {
    bool writes = false;   // blocks written carry a header
    bool reads = false;    // blocks read are checked
    bool any_run = false;  // a block that another run has written is as good
    bool sparse = false;   // a block without a header is no mismatch
    BlockHeader header;    // run, phase, worker, workload, thread
    uint32_t block_size_bytes = 0;
    std::vector<uint64_t> keys;  // of each file, as TargetKey() says
    // The run whose blocks are expected, where it is not the header's.
    uint64_t expected_run_high = 0, expected_run_low = 0;
    // The wall clock minus the monotonic clock, which Progress::now_ns is of, nanoseconds.
    int64_t wall_offset_ns = 0;
    std::vector<std::string> writers;  // as BlockExpectation's
    // If the target is one file: the bytes that each writer writes, in this order, and the offset
    // at which the first one begins. 0: not known.
    uint64_t each_slice_bytes = 0, slices_begin_bytes = 0;
    // of each file; null where nothing is known
    std::vector<std::shared_ptr<BlockLedger>> ledgers;
    // of each file: another worker writes it in the same phase, and its ledger learns of that
    std::vector<bool> written_since;
    uint64_t seed = 0;
  };
  // The facts about a block that are kept while its I/O is in flight.
  struct Ticket {
    uint32_t generation = 0;  // a write's
    BlockLedger::State state = 0;
  };
  // How far the thread's writes were durable when a block was written.
  struct Progress {
    uint64_t sequence = 0;
    uint64_t durable_sequence = 0;
    uint32_t sync_epoch = 0;
    int64_t now_ns = 0;
  };

  explicit BlockChecks(Options options) : options_(std::move(options)) {}
  bool writes() const { return options_.writes; }
  bool reads() const { return options_.reads; }

  // Claims the block for a write. False when another write has it.
  bool BeginWrite(uint16_t file, uint64_t offset, Ticket* ticket);
  void Make(uint16_t file, uint64_t offset, const Ticket& ticket, const Progress& progress,
            char* block) const;
  // Gives a verified block the header of this file and offset, and keeps its content.
  void MakeCopy(uint16_t file, uint64_t offset, const Ticket& ticket, const Progress& progress,
                char* block) const;
  void EndWrite(uint16_t file, uint64_t offset, const Ticket& ticket, BlockLedger::WriteEnd end);
  void BeginRead(uint16_t file, uint64_t offset, Ticket* ticket) const;
  // kNotCheckable: nothing is known of the block, a sparse target has a hole there, or a write in
  // progress explains it.
  enum class Verdict { kGood, kMismatch, kNotCheckable };
  Verdict EndRead(uint16_t file, uint64_t offset, const Ticket& ticket, const char* block);

  // A block that is not what was expected of a known generation.
  struct Missing {
    uint64_t key = 0, block = 0;  // of the target; the block's number: its offset / block size
    uint32_t generation = 0;
    std::string* expected = nullptr;  // the words for it
  };
  // The missing writes among the mismatches that are described.
  std::vector<Missing> missing();
  uint32_t block_size_bytes() const { return options_.block_size_bytes; }
  // Adds what was found, without the mismatches themselves.
  void AddCounts(v1::Verification* out) const;
  // Describes the first mismatches with paths[file]; `save`, given a name and a block's bytes,
  // saves it and returns its path, or nothing.
  using SaveBlock = std::function<std::string(const std::string& name, const std::string& bytes)>;
  void Describe(const std::vector<std::string>& paths, const SaveBlock& save,
                v1::Verification* out) const;

 private:
  // So many mismatches are described, of each block one, and of so many the blocks are saved.
  static constexpr size_t kDescribed = 200;
  static constexpr size_t kSaved = 8;
  struct Kept {
    BlockState state = BlockState::kGood;
    uint16_t file = 0;
    uint64_t offset = 0;
    uint32_t generation = 0;                  // that was expected; 0 when none was known
    std::string expected, found;              // in words
    std::string expected_block, found_block;  // bytes
  };
  // Without a seed of the content.
  BlockHeader HeaderFor(uint16_t file, uint64_t offset, const Ticket& ticket,
                        const Progress& progress) const;
  uint64_t ContentSeed(uint16_t file, uint64_t offset, uint32_t generation) const;
  void Keep(const BlockFinding& finding, uint16_t file, uint64_t offset, uint32_t generation,
            const char* block);

  const Options options_;
  uint64_t checked_ = 0, not_checkable_ = 0;
  uint64_t by_state_[7] = {};
  std::vector<Kept> kept_;
  std::set<std::pair<uint16_t, uint64_t>> kept_blocks_;  // files and offsets of those
};

}  // namespace lockstep::worker
