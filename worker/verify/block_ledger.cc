#include "worker/verify/block_ledger.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "absl/strings/str_cat.h"
#include "common/files.h"
#include "common/mutex.h"
#include "common/units.h"
#include "worker/workload/block_header.h"

namespace lockstep::worker {

absl::StatusOr<std::shared_ptr<BlockLedger>> BlockLedger::Make(uint64_t blocks) {
  const size_t bytes = blocks * sizeof(State);
  // Populated now, so that no page fault lies in a measurement.
  void* base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (base == MAP_FAILED) {
    return common::ErrnoStatus(errno,
                               absl::StrCat("a ledger of ", bytes, " bytes for verification"));
  }
  // Fresh pages are zero, the state of a block that this run has not written.
  return std::shared_ptr<BlockLedger>(
      new BlockLedger(static_cast<std::atomic<State>*>(base), blocks));
}

BlockLedger::~BlockLedger() { munmap(cells_, blocks_ * sizeof(State)); }

void BlockLedger::Expect(uint64_t first, uint64_t count, uint32_t generation,
                         measure::BlockContent content) {
  const State reported = (generation & kGeneration) |
                         (content == measure::BlockContent::kUnknown ? kUnknown : State{0});
  for (uint64_t block = first; block < std::min(first + count, blocks_); ++block) {
    // A load and a store suffice. Reports are taken before the I/O threads start, or, while they
    // run, for targets that no thread of this worker writes (DescribeWriters() in
    // controller/plan/assign.cc).
    State state = Cell(block).load(std::memory_order_relaxed);
    // Reports arrive late and in any order: an older one must not lower what is expected. A block
    // that is being written belongs to its writer.
    if ((state & kWriting) == 0 && GenerationOf(state) <= GenerationOf(reported)) {
      Cell(block).store(reported, std::memory_order_release);
    }
  }
}

absl::Status BlockLedger::ExpectRuns(const std::string& runs) {
  // The target may be smaller than when it was written: Expect() passes over blocks that it no
  // longer has.
  constexpr uint64_t kMaxBlocks = uint64_t{1} << 52;
  return measure::ReadBlockRuns(
      runs, kMaxBlocks,
      [this](uint64_t first, uint64_t count, uint32_t generation, measure::BlockContent content) {
        Expect(first, count, generation, content);
      });
}

void BlockLedger::ExpectNothing() {
  for (uint64_t block = 0; block < blocks_; ++block) {
    Cell(block).store(0, std::memory_order_release);
  }
}

void BlockLedger::ExpectUnfinished(uint64_t first, uint64_t count) {
  // A lost worker may have written more than it reported: the generation stays, as the smallest one
  // that counts as good.
  for (uint64_t block = first; block < blocks_ && block - first < count; ++block) {
    Cell(block).fetch_or(kAtLeast, std::memory_order_release);
  }
}

void BlockLedger::TakeWrites(Writes which,
                             const std::function<void(uint64_t block, uint32_t generation,
                                                      measure::BlockContent content)>& take) {
  for (uint64_t word = 0; word < dirty_.size(); ++word) {
    uint64_t bits = 0;
    // A mere load leaves the line in the caches of the I/O threads, which an exchange takes away.
    if (dirty_[word].load(std::memory_order_relaxed) != 0) {
      // The bits are taken before the states are read. A write that ends in between sets its bit
      // again, and is reported twice rather than never.
      bits = dirty_[word].exchange(0, std::memory_order_acquire);
    }
    if (bits == 0 && which == Writes::kEnded) continue;
    for (uint64_t block = word * 64; block < std::min(word * 64 + 64, blocks_); ++block) {
      const State state = StateOf(block);
      const bool written = (bits >> block % 64 & 1) != 0;
      const bool hangs = which == Writes::kAll && (state & kWriting) != 0;
      if (!written && !hangs) continue;
      // While the next write is on its way, the last one that was acknowledged.
      take(block, GenerationOf(state),
           hangs || (state & kUnknown) != 0 ? measure::BlockContent::kUnknown
                                            : measure::BlockContent::kKnown);
    }
  }
}

void LedgerBook::TakeWrites(BlockLedger::Writes which,
                            const std::function<void(const v1::BlockWrites&)>& take) {
  std::map<std::pair<std::string, uint64_t>, std::shared_ptr<BlockLedger>> ledgers;
  {
    common::MutexLock lock(&mutex_);
    // The lock of the book is not held while the writes are taken: Find() must not wait for that.
    ledgers = ledgers_;
  }
  for (const auto& entry : ledgers) {
    const auto& key = entry.first;
    measure::BlockRunsWriter writer([&take, &key](std::string runs) {
      v1::BlockWrites writes;
      writes.set_target_key(TargetKey(key.first));
      writes.set_block_size_bytes(static_cast<uint32_t>(key.second));
      writes.set_runs(std::move(runs));
      take(writes);
    });
    entry.second->TakeWrites(
        which, [&writer](uint64_t block, uint32_t generation, measure::BlockContent content) {
          writer.Add(block, generation, content);
        });
    writer.Finish();
  }
}

void LedgerBook::BeginRun(const std::string& run_id) {
  common::MutexLock lock(&mutex_);
  if (run_id == run_id_) return;
  run_id_ = run_id;
  ledgers_.clear();
  bytes_ = 0;
}

void LedgerBook::Forget(const std::string& path, uint64_t but_block_size_bytes) {
  common::MutexLock lock(&mutex_);
  for (auto ledger = ledgers_.begin(); ledger != ledgers_.end();) {
    const bool stale = ledger->first.first == path && ledger->first.second != but_block_size_bytes;
    if (stale) {
      const uint64_t bytes = ledger->second->blocks() * sizeof(BlockLedger::State);
      LOCKSTEP_CHECK(bytes_ >= bytes, "a ledger was not counted when it was made");
      bytes_ -= bytes;
    }
    ledger = stale ? ledgers_.erase(ledger) : std::next(ledger);
  }
}

std::shared_ptr<BlockLedger> LedgerBook::Find(const std::string& path, uint64_t block_size_bytes) {
  common::MutexLock lock(&mutex_);
  const auto found = ledgers_.find(std::pair(path, block_size_bytes));
  return found == ledgers_.end() ? nullptr : found->second;
}

absl::StatusOr<std::shared_ptr<BlockLedger>> LedgerBook::FindOrMake(const std::string& path,
                                                                    uint64_t size_bytes,
                                                                    uint64_t block_size_bytes) {
  common::MutexLock lock(&mutex_);
  const auto key = std::pair(path, block_size_bytes);
  const auto found = ledgers_.find(key);
  if (found != ledgers_.end()) return found->second;
  const uint64_t blocks = size_bytes / block_size_bytes;
  // A ledger is populated when it is made. Without this limit the OOM killer, not an error, would
  // end a phase that verifies a target which is too large.
  const uint64_t limit = static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) *
                         static_cast<uint64_t>(sysconf(_SC_PAGESIZE)) / 4;
  if (bytes_ + blocks * sizeof(BlockLedger::State) > limit) {
    return absl::ResourceExhaustedError(absl::StrCat(
        path, ": verify keeps 4 bytes in memory for each block of ", block_size_bytes, ", ",
        common::FormatSize(static_cast<double>(bytes_ + blocks * sizeof(BlockLedger::State))),
        " with this file; that is more than a quarter of this host's memory. Use larger blocks or "
        "a smaller target"));
  }
  auto ledger = BlockLedger::Make(blocks);
  if (!ledger.ok()) return ledger.status();
  bytes_ += blocks * sizeof(BlockLedger::State);
  ledgers_[key] = *ledger;
  return *ledger;
}

}  // namespace lockstep::worker
