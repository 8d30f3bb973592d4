// Copies on one I/O thread: in virtual time, on storage in memory, where everything can be seen.

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "common/timing.h"
#include "gtest/gtest.h"
#include "tests/worker/simulated_time.h"
#include "worker/load/io_thread.h"
#include "worker/workload/block_header.h"
#include "worker/workload/content.h"

namespace lockstep::worker {
namespace {

using timing::kMs;
using timing::kSecond;

constexpr uint64_t kBlock = 4096;
constexpr uint64_t kBlocks = 16;
constexpr int kFrom = 0, kTo = 1;  // files

// Two files, and all that was done to them.
struct Storage {
  std::string files[2];
  std::vector<IoRequest> log;
  size_t in_flight_max = 0;
  std::set<uint64_t> bad_reads, short_reads, bad_writes;  // offsets
  int64_t each_ns = 1000;                                 // that a call takes
  int calls_left = 1 << 30;                               // then the engine fails
  bool hangs = false;                                     // no I/O comes back any more
  // The last engine, and its buffers.
  const IoEngine* engine = nullptr;
  const IoBuffers* buffers = nullptr;
  bool is_left = false;
  // A thread with I/Os in flight leaves both to the kernel.
  ~Storage() { DeleteLeft(); }
  void DeleteLeft() {
    if (!is_left) return;
    delete engine;
    delete buffers;
    is_left = false;
  }
};

// Completes I/Os in their order, and no more than are waited for.
class StorageEngine final : public IoEngine {
 public:
  StorageEngine(Storage* storage, const SimulatedTime* time) : storage_(*storage), time_(time) {}
  absl::Status Open(const EngineSetup& setup) override {
    buffers_ = setup.buffers;
    storage_.engine = this;
    storage_.buffers = setup.buffers;
    return absl::OkStatus();
  }
  absl::StatusOr<int> Exchange(absl::Span<const IoRequest> requests, int min_complete, int64_t,
                               absl::Span<IoCompletion> completions) override {
    time_->Pass(storage_.each_ns);
    if (storage_.calls_left-- == 0) return absl::UnavailableError("the engine has failed");
    for (const IoRequest& request : requests) {
      storage_.log.push_back(request);
      pending_.push_back(request);
    }
    storage_.in_flight_max = std::max(storage_.in_flight_max, pending_.size());
    int count = 0;
    for (; count < min_complete && !pending_.empty() && !storage_.hangs; pending_.pop_front()) {
      completions[count++] = {pending_.front().slot, Do(pending_.front())};
    }
    return count;
  }
  std::string Describe() const override { return "storage in memory"; }

 private:
  int32_t Do(const IoRequest& r) {
    if (r.kind == IoKind::kSync) return 0;
    const bool reads = r.kind == IoKind::kRead;
    if ((reads ? storage_.bad_reads : storage_.bad_writes).contains(r.offset)) return -EIO;
    if (reads && storage_.short_reads.contains(r.offset)) return 512;
    char* at = storage_.files[r.file].data() + r.offset;
    char* buffer = buffers_->at(r.buffer);
    memcpy(reads ? buffer : at, reads ? at : buffer, r.length);
    return static_cast<int32_t>(r.length);
  }

  Storage& storage_;
  const SimulatedTime* time_;
  const IoBuffers* buffers_ = nullptr;
  std::deque<IoRequest> pending_;
};

class CopyTest : public testing::Test {
 protected:
  CopyTest() {
    for (std::string& file : storage_.files) file.assign(kBlocks * kBlock, 0);
    FillContent(storage_.files[kFrom].data(), storage_.files[kFrom].size(), 1, 7);
  }

  IoThreadSetup CopySetup(uint32_t depth, uint32_t passes = 1) {
    IoThreadSetup setup;
    setup.make_engine = [this] { return std::make_unique<StorageEngine>(&storage_, &time_); };
    setup.engine.files = {{OpenFile{}, kBlocks * kBlock}, {OpenFile{}, kBlocks * kBlock}};
    setup.engine.queue_depth = depth;
    setup.paths = {"/from", "/to"};
    setup.max_batch = std::max<uint32_t>(1, depth / 2);
    setup.drain_ns = kSecond;
    setup.quota = passes * kBlocks;
    setup.copy = std::make_shared<const CopyMap>(
        *CopyMap::Make({{kFrom, 0, kBlocks * kBlock}}, {{kTo, 0, kBlocks * kBlock}}, kBlock));
    return setup;
  }

  // Both files' blocks have headers; of the source's, all are known but `unknown`.
  IoThreadSetup VerifiedSetup(uint32_t depth, uint32_t passes = 1, uint64_t unknown = kBlocks) {
    IoThreadSetup setup = CopySetup(depth, passes);
    setup.checks.reads = setup.checks.writes = true;
    setup.checks.block_size_bytes = kBlock;
    setup.checks.keys = {TargetKey("/from"), TargetKey("/to")};
    setup.checks.ledgers = {*BlockLedger::Make(kBlocks), *BlockLedger::Make(kBlocks)};
    setup.checks.written_since = {false, false};
    setup.checks.header.run_high = 5;
    for (uint64_t block = 0; block < kBlocks; ++block) {
      BlockHeader header;
      header.run_high = 5;
      header.length = kBlock;
      header.key = TargetKey("/from");
      header.offset = block * kBlock;
      header.generation = 1;
      header.content_seed = 100 + block;
      MakeBlock(header, storage_.files[kFrom].data() + header.offset);
      if (block == unknown) continue;
      setup.checks.ledgers[kFrom]->EndWrite(block, setup.checks.ledgers[kFrom]->BeginWrite(block),
                                            BlockLedger::WriteEnd::kAcknowledged);
    }
    return setup;
  }

  // The state of the destination's block for a verify phase that expects this generation.
  BlockState StateOf(uint64_t block, uint32_t generation) const {
    BlockExpectation expected;
    expected.run_high = 5;
    expected.key = TargetKey("/to");
    expected.offset = block * kBlock;
    expected.length = kBlock;
    expected.generation = generation;
    return CheckBlock(storage_.files[kTo].data() + expected.offset, expected).state;
  }

  IoThreadOutcome Run(IoThreadSetup setup, int64_t load_ns = 10 * kSecond,
                      v1::Verification* verification = nullptr) {
    AccessOptions options;
    options.lines = {{}};
    options.order = Order::kSequential;
    Timeline timeline(load_ns, 0);
    go_ns_ = time_.MonotonicNs() + kMs;
    timeline.Begin(go_ns_, load_ns);
    time_.Drive();
    IoThread thread(std::move(setup), *Access::Make({{kFrom, 0, kBlocks * kBlock}}, options),
                    &timeline, &time_);
    EXPECT_TRUE(thread.Arm().ok());
    thread.Run();
    while (const IntervalStats* stats = thread.recorder().Front()) {
      for (size_t kind = 0; kind < counts_.size(); ++kind) {
        measure::OperationStats of_kind;
        (*stats)[kind].AddTo(&of_kind);
        counts_[kind].Add(of_kind.counts());
      }
      thread.recorder().Pop();
    }
    if (verification != nullptr) thread.checks().AddCounts(verification);
    storage_.is_left = thread.outcome().stuck;
    return thread.outcome();
  }

  const measure::OperationCounts& Of(IoKind kind) { return counts_[static_cast<size_t>(kind)]; }
  std::string BlockOf(int file, uint64_t block) const {
    return storage_.files[file].substr(block * kBlock, kBlock);
  }
  bool IsCopied(uint64_t block) const { return BlockOf(kTo, block) == BlockOf(kFrom, block); }

  Storage storage_;
  SimulatedTime time_;
  int64_t go_ns_ = 0;
  std::array<measure::OperationCounts, 2> counts_;  // of reads and writes
};

TEST_F(CopyTest, ABlockIsReadOnceAndThenWrittenToTheSamePlace) {
  for (const uint32_t depth : {1u, 4u, 64u}) {
    storage_.log.clear();
    storage_.files[kTo].assign(kBlocks * kBlock, 0);
    counts_ = {};
    const IoThreadOutcome outcome = Run(CopySetup(depth));
    EXPECT_EQ(outcome.fatal, "");
    EXPECT_EQ(outcome.uncopied, 0u);
    EXPECT_EQ(storage_.files[kTo], storage_.files[kFrom]) << depth;
    // One after the other in every queue: first reads of all blocks, each followed by its write.
    std::map<uint64_t, int> reads;
    std::map<uint64_t, int> writes;
    for (const IoRequest& request : storage_.log) {
      EXPECT_EQ(request.file, request.kind == IoKind::kRead ? kFrom : kTo);
      ++(request.kind == IoKind::kRead ? reads : writes)[request.offset];
      EXPECT_LE(writes[request.offset], reads[request.offset]);
    }
    ASSERT_EQ(storage_.log.size(), 2 * kBlocks);
    for (uint64_t block = 0; block < kBlocks; ++block) {
      EXPECT_EQ(reads[block * kBlock], 1);
      EXPECT_EQ(writes[block * kBlock], 1);
    }
    EXPECT_EQ(Of(IoKind::kRead).operations, kBlocks);
    EXPECT_EQ(Of(IoKind::kWrite).operations, kBlocks);
    EXPECT_EQ(Of(IoKind::kRead).bytes, kBlocks * kBlock);
    EXPECT_EQ(Of(IoKind::kWrite).bytes, kBlocks * kBlock);
  }
}

TEST_F(CopyTest, AtDepthOneReadsAndWritesAlternateInOrder) {
  Run(CopySetup(1));
  ASSERT_EQ(storage_.log.size(), 2 * kBlocks);
  for (uint64_t i = 0; i < 2 * kBlocks; ++i) {
    EXPECT_EQ(storage_.log[i].kind, i % 2 == 0 ? IoKind::kRead : IoKind::kWrite);
    EXPECT_EQ(storage_.log[i].offset, i / 2 * kBlock);
  }
}

TEST_F(CopyTest, TheQueueIsKeptFullOfBothKinds) {
  Run(CopySetup(4));
  EXPECT_EQ(storage_.in_flight_max, 4u);
}

TEST_F(CopyTest, ABlockThatWasNotReadWholeIsNotWritten) {
  storage_.bad_reads = {2 * kBlock};
  storage_.short_reads = {5 * kBlock};
  const IoThreadOutcome outcome = Run(CopySetup(4));
  EXPECT_EQ(outcome.uncopied, 2u);
  EXPECT_NE(outcome.first_error.find("read of 4096 bytes at offset 8192 of /from"),
            std::string::npos)
      << outcome.first_error;
  EXPECT_EQ(Of(IoKind::kRead).errors, 1u);
  EXPECT_EQ(Of(IoKind::kRead).short_transfers, 1u);
  EXPECT_EQ(Of(IoKind::kWrite).operations, kBlocks - 2);
  EXPECT_EQ(Of(IoKind::kWrite).errors, 0u);
  for (uint64_t block = 0; block < kBlocks; ++block) {
    EXPECT_EQ(IsCopied(block), block != 2 && block != 5) << block;
  }
}

TEST_F(CopyTest, AWriteThatFailsIsAnErrorAndTheRestIsCopied) {
  storage_.bad_writes = {3 * kBlock};
  const IoThreadOutcome outcome = Run(CopySetup(4));
  EXPECT_EQ(outcome.uncopied, 1u);
  EXPECT_NE(outcome.first_error.find("write of 4096 bytes at offset 12288 of /to"),
            std::string::npos)
      << outcome.first_error;
  EXPECT_EQ(Of(IoKind::kRead).operations, kBlocks);
  EXPECT_EQ(Of(IoKind::kWrite).operations, kBlocks - 1);
  EXPECT_EQ(Of(IoKind::kWrite).errors, 1u);
}

TEST_F(CopyTest, TooManyErrorsEndIt) {
  for (uint64_t block = 0; block < kBlocks; ++block) storage_.bad_reads.insert(block * kBlock);
  IoThreadSetup setup = CopySetup(1);
  setup.error_limit = 3;
  const IoThreadOutcome outcome = Run(std::move(setup));
  EXPECT_NE(outcome.fatal.find("error_limit"), std::string::npos);
  EXPECT_EQ(storage_.log.size(), 3u);
  EXPECT_EQ(outcome.uncopied, kBlocks);
}

TEST_F(CopyTest, NoWriteStartsAfterTheLoadsEnd) {
  storage_.each_ns = kMs;
  const IoThreadOutcome outcome = Run(CopySetup(4), 7 * kMs);
  EXPECT_GT(outcome.uncopied, 0u);
  EXPECT_EQ(Of(IoKind::kWrite).operations + outcome.uncopied, kBlocks);
  uint64_t copied = 0;
  for (uint64_t block = 0; block < kBlocks; ++block) copied += IsCopied(block);
  EXPECT_EQ(copied, Of(IoKind::kWrite).operations);
}

// A load that ends in a later pass leaves a copy of every block.
TEST_F(CopyTest, ALaterPassThatEndsEarlyLeavesAllCopied) {
  storage_.each_ns = kMs;
  IoThreadSetup setup = CopySetup(4);
  setup.quota = 100 * kBlocks;
  const IoThreadOutcome outcome = Run(std::move(setup), 100 * kMs);
  EXPECT_GT(Of(IoKind::kWrite).operations, kBlocks);
  EXPECT_LT(Of(IoKind::kWrite).operations, 100 * kBlocks);
  EXPECT_EQ(outcome.uncopied, 0u);
  EXPECT_EQ(storage_.files[kTo], storage_.files[kFrom]);
}

TEST_F(CopyTest, BlocksThatAThreadLeavesBehindHaveNoCopy) {
  for (const int calls : {1, 2, 3, 5, 8}) {
    storage_.DeleteLeft();
    storage_.calls_left = calls;
    counts_ = {};
    const IoThreadOutcome outcome = Run(CopySetup(4));
    EXPECT_NE(outcome.fatal, "") << calls;
    EXPECT_EQ(Of(IoKind::kWrite).operations + outcome.uncopied, kBlocks) << calls;
  }
}

TEST_F(CopyTest, BlocksWhoseIosDoNotComeBackHaveNoCopy) {
  storage_.hangs = true;
  storage_.each_ns = kMs;
  const IoThreadOutcome outcome = Run(CopySetup(4), 7 * kMs);
  EXPECT_TRUE(outcome.stuck);
  EXPECT_EQ(outcome.uncopied, kBlocks);
}

TEST_F(CopyTest, ARateCountsBothOfABlocksIos) {
  IoThreadSetup setup = CopySetup(1);
  setup.start.max_iops = 1000;
  const IoThreadOutcome outcome = Run(std::move(setup));
  // The read of the last of 16 blocks is the 31st I/O.
  EXPECT_NEAR(static_cast<double>(outcome.last_io_ns - go_ns_), 30.0 * kMs, 1.0 * kMs);
  EXPECT_EQ(storage_.files[kTo], storage_.files[kFrom]);
}

TEST_F(CopyTest, APauseFollowsAWholeBlock) {
  IoThreadSetup setup = CopySetup(1);
  setup.start.think_ns = kMs;
  const IoThreadOutcome outcome = Run(std::move(setup));
  EXPECT_NEAR(static_cast<double>(outcome.think_ns), 15.0 * kMs, 1.0 * kMs);
  EXPECT_EQ(outcome.uncopied, 0u);
}

TEST_F(CopyTest, SyncsAreOfTheDestinationAlone) {
  IoThreadSetup setup = CopySetup(4);
  setup.sync.every_writes = 5;
  setup.sync.at_end = true;
  Run(std::move(setup));
  std::vector<int> synced;
  for (const IoRequest& request : storage_.log) {
    if (request.kind == IoKind::kSync) synced.push_back(request.file);
  }
  EXPECT_EQ(synced, std::vector<int>(4, kTo));  // after 5, 10, 15 writes and at the end
}

TEST_F(CopyTest, WithVerifyTheCopyHasHeadersOfItsOwn) {
  v1::Verification found;
  const IoThreadOutcome outcome = Run(VerifiedSetup(4), 10 * kSecond, &found);
  EXPECT_EQ(outcome.uncopied, 0u);
  EXPECT_EQ(found.checked(), kBlocks);
  EXPECT_EQ(found.not_checkable(), 0u);
  EXPECT_EQ(found.corrupt() + found.misplaced() + found.stale() + found.torn(), 0u);
  for (uint64_t block = 0; block < kBlocks; ++block) {
    EXPECT_EQ(StateOf(block, 1), BlockState::kGood) << block;
    const std::string from = BlockOf(kFrom, block);
    const std::string to = BlockOf(kTo, block);
    EXPECT_EQ(to.substr(sizeof(BlockHeader), 504 - sizeof(BlockHeader)),
              from.substr(sizeof(BlockHeader), 504 - sizeof(BlockHeader)));
  }
}

TEST_F(CopyTest, WithVerifyABlockThatIsNotGoodIsNotSpread) {
  IoThreadSetup setup = VerifiedSetup(4, 1, /*unknown=*/9);
  storage_.files[kFrom][6 * kBlock + 2000] ^= 1;
  v1::Verification found;
  const IoThreadOutcome outcome = Run(std::move(setup), 10 * kSecond, &found);
  EXPECT_EQ(found.corrupt(), 1u);
  EXPECT_EQ(found.not_checkable(), 1u);
  EXPECT_EQ(outcome.uncopied, 2u);
  EXPECT_EQ(Of(IoKind::kWrite).operations, kBlocks - 2);
  EXPECT_EQ(StateOf(6, 0), BlockState::kNeverWritten);
  EXPECT_EQ(StateOf(9, 0), BlockState::kNeverWritten);
  EXPECT_EQ(StateOf(7, 1), BlockState::kGood);
}

// Several passes are in flight at a time: a block waits for its write of the pass before.
TEST_F(CopyTest, WithVerifyPassesThatMeetKeepTheirOrder) {
  const IoThreadOutcome outcome = Run(VerifiedSetup(3 * kBlocks, 3));
  EXPECT_EQ(outcome.uncopied, 0u);
  EXPECT_EQ(Of(IoKind::kWrite).operations, 3 * kBlocks);
  for (uint64_t block = 0; block < kBlocks; ++block) {
    EXPECT_EQ(StateOf(block, 3), BlockState::kGood) << block;
  }
}

}  // namespace
}  // namespace lockstep::worker
