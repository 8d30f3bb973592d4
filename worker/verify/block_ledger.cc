#include "worker/verify/block_ledger.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "common/files.h"
#include "common/mutex.h"
#include "common/units.h"

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
  return std::shared_ptr<BlockLedger>(
      new BlockLedger(static_cast<std::atomic<State>*>(base), blocks));
}

BlockLedger::~BlockLedger() { munmap(cells_, blocks_ * sizeof(State)); }

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
    if (stale) bytes_ -= ledger->second->blocks() * sizeof(BlockLedger::State);
    ledger = stale ? ledgers_.erase(ledger) : std::next(ledger);
  }
}

absl::StatusOr<std::shared_ptr<BlockLedger>> LedgerBook::Find(const std::string& path,
                                                              uint64_t size_bytes,
                                                              uint64_t block_size_bytes,
                                                              bool make) {
  common::MutexLock lock(&mutex_);
  const auto key = std::pair(path, block_size_bytes);
  const auto found = ledgers_.find(key);
  if (found != ledgers_.end()) return found->second;
  if (!make) return nullptr;
  const uint64_t blocks = size_bytes / block_size_bytes;
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
