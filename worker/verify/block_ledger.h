#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "common/check.h"
#include "common/mutex.h"
#include "measure/block_runs.h"
#include "proto/result.pb.h"

namespace lockstep::worker {

// The generation that a run wrote last to each block of one file: four bytes a block, and a bit for
// what was written since somebody took note. Thread-safe, without locks.
class BlockLedger {
 public:
  // A block's state as a reader finds it. Two equal ones, before and after a read, mean that
  // nothing was written in between.
  using State = uint32_t;

  // RESOURCE_EXHAUSTED when the memory cannot be had.
  static absl::StatusOr<std::shared_ptr<BlockLedger>> Make(uint64_t blocks);
  ~BlockLedger();
  BlockLedger(const BlockLedger&) = delete;
  BlockLedger& operator=(const BlockLedger&) = delete;

  uint64_t blocks() const { return blocks_; }
  // Claims the block for a write, and says which generation that will be; 0 when another write has
  // it.
  uint32_t BeginWrite(uint64_t block) {
    State state = Cell(block).load(std::memory_order_relaxed);
    do {
      if ((state & kWriting) != 0) return 0;
    } while (
        !Cell(block).compare_exchange_weak(state, state | kWriting, std::memory_order_acq_rel));
    // The block may hold a newer generation than the known one: the next one is beyond any of them.
    const State known = state & kGeneration;
    return ((state & kAtLeast) != 0 ? known | kSkipped : known) + 1;
  }
  // A write that failed leaves a block of which nothing is known until the next one.
  enum class WriteEnd : uint8_t { kAcknowledged, kFailed };
  void EndWrite(uint64_t block, uint32_t generation, WriteEnd end) {
    LOCKSTEP_CHECK((Cell(block).load(std::memory_order_relaxed) & kWriting) != 0,
                   "a write ends of a block that nobody had claimed");
    Cell(block).store(end == WriteEnd::kFailed ? generation | kUnknown : generation,
                      std::memory_order_release);
    dirty_[block / 64].fetch_or(uint64_t{1} << block % 64, std::memory_order_release);
  }
  State StateOf(uint64_t block) const { return Cell(block).load(std::memory_order_acquire); }
  static bool IsKnown(State state) { return (state & (kWriting | kUnknown)) == 0; }
  // A worker was lost that may have written it later than anybody knows.
  static bool IsAtLeast(State state) { return (state & kAtLeast) != 0; }
  // 0: this run has not written the block.
  static uint32_t GenerationOf(State state) { return state & kGeneration; }

  // A write of another worker of the run, or of this one before: the later generation counts.
  void Expect(uint64_t first, uint64_t count, uint32_t generation, measure::BlockContent content);
  // The same of BlockWrites::runs. INVALID_ARGUMENT when they are no such encoding; the blocks
  // before the error are expected as they say.
  absl::Status ExpectRuns(const std::string& runs);
  // All of it was written without headers, or in blocks of another size.
  void ExpectNothing();
  // These blocks may hold newer contents than those that are known so far.
  void ExpectUnfinished(uint64_t first, uint64_t count);
  // Calls `take`, in ascending order, for the blocks that were written since the last time, and
  // with kAll also for those of which a write has not ended.
  enum class Writes { kEnded, kAll };
  void TakeWrites(Writes which, const std::function<void(uint64_t block, uint32_t generation,
                                                         measure::BlockContent content)>& take);

 private:
  static constexpr State kWriting = 1u << 31;
  static constexpr State kUnknown = 1u << 30;
  static constexpr State kAtLeast = 1u << 29;
  static constexpr State kGeneration = kAtLeast - 1;
  // More than a worker writes to a block without anybody hearing of it.
  static constexpr State kSkipped = 0xffff;

  BlockLedger(std::atomic<State>* cells, uint64_t blocks)
      : cells_(cells), blocks_(blocks), dirty_((blocks + 63) / 64) {}
  std::atomic<State>& Cell(uint64_t block) const {
    LOCKSTEP_CHECK(block < blocks_, "a block lies beyond its file");
    return cells_[block];
  }
  std::atomic<State>* const cells_;
  const uint64_t blocks_;
  std::vector<std::atomic<uint64_t>> dirty_;  // a bit for each block
};

// The ledgers of one run on this worker, kept from phase to phase; of a file by its path, of a
// device or LUN by its identity. Thread-safe.
class LedgerBook {
 public:
  // Forgets everything of other runs.
  void BeginRun(const std::string& run_id);
  // The file is about to be written in verifiable blocks of this size (0: in none): drops its
  // ledgers for other sizes.
  void Forget(const std::string& path, uint64_t but_block_size_bytes);
  // BlockLedger::TakeWrites() of each, as messages of some 48 KiB.
  void TakeWrites(BlockLedger::Writes which,
                  const std::function<void(const v1::BlockWrites&)>& take);
  // The ledger of a file in blocks of this size, from an earlier phase. Null if there is none.
  std::shared_ptr<BlockLedger> Find(const std::string& path, uint64_t block_size_bytes);
  // The same, or a new one. RESOURCE_EXHAUSTED when a quarter of the host's memory does not hold
  // all ledgers.
  absl::StatusOr<std::shared_ptr<BlockLedger>> FindOrMake(const std::string& path,
                                                          uint64_t size_bytes,
                                                          uint64_t block_size_bytes);

 private:
  common::Mutex mutex_;
  std::string run_id_ ABSL_GUARDED_BY(mutex_);
  // by path and block size
  std::map<std::pair<std::string, uint64_t>, std::shared_ptr<BlockLedger>> ledgers_
      ABSL_GUARDED_BY(mutex_);
  uint64_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace lockstep::worker
