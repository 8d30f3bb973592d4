#include "worker/verify/block_ledger.h"

#include <map>

#include "gtest/gtest.h"
#include "measure/block_runs.h"
#include "worker/workload/block_header.h"

namespace lockstep::worker {
namespace {

std::shared_ptr<BlockLedger> Make(uint64_t blocks = 1000) { return *BlockLedger::Make(blocks); }

using WriteEnd = BlockLedger::WriteEnd;

uint32_t Write(BlockLedger* ledger, uint64_t block, WriteEnd end = WriteEnd::kAcknowledged) {
  const uint32_t generation = ledger->BeginWrite(block);
  ledger->EndWrite(block, generation, end);
  return generation;
}

using measure::BlockContent;
using Taken = std::map<uint64_t, std::pair<uint32_t, BlockContent>>;
using Writes = BlockLedger::Writes;

Taken Take(BlockLedger* ledger, Writes which = Writes::kEnded) {
  Taken taken;
  ledger->TakeWrites(which, [&](uint64_t block, uint32_t generation, BlockContent content) {
    taken[block] = {generation, content};
  });
  return taken;
}

TEST(BlockLedgerTest, EachWriteIsTakenOnceWithTheLastGeneration) {
  const auto ledger = Make();
  Write(ledger.get(), 0);
  Write(ledger.get(), 0);
  Write(ledger.get(), 63);
  Write(ledger.get(), 999, WriteEnd::kFailed);
  EXPECT_EQ(Take(ledger.get()), (Taken{{0, {2, BlockContent::kKnown}},
                                       {63, {1, BlockContent::kKnown}},
                                       {999, {1, BlockContent::kUnknown}}}));
  EXPECT_TRUE(Take(ledger.get()).empty());
  Write(ledger.get(), 64);
  // While the next write is on its way, the last one counts; at the end nobody knows.
  EXPECT_EQ(ledger->BeginWrite(64), 2u);
  EXPECT_EQ(Take(ledger.get()), (Taken{{64, {1, BlockContent::kKnown}}}));
  EXPECT_EQ(Take(ledger.get(), Writes::kAll), (Taken{{64, {1, BlockContent::kUnknown}}}));
}

TEST(BlockLedgerTest, WhatOthersHaveWrittenIsGoneOnFrom) {
  const auto ledger = Make();
  ledger->Expect(10, 5, 7, BlockContent::kKnown);
  EXPECT_EQ(BlockLedger::GenerationOf(ledger->StateOf(14)), 7u);
  EXPECT_EQ(BlockLedger::GenerationOf(ledger->StateOf(15)), 0u);
  EXPECT_EQ(Write(ledger.get(), 12), 8u);
  ledger->Expect(0, 1000, 3, BlockContent::kKnown);  // an older message, told again
  EXPECT_EQ(BlockLedger::GenerationOf(ledger->StateOf(12)), 8u);
  EXPECT_EQ(BlockLedger::GenerationOf(ledger->StateOf(10)), 7u);
  EXPECT_EQ(BlockLedger::GenerationOf(ledger->StateOf(999)), 3u);
  ledger->Expect(20, 1, 4, BlockContent::kUnknown);
  EXPECT_FALSE(BlockLedger::IsKnown(ledger->StateOf(20)));
  ledger->Expect(900, 1000, 5, BlockContent::kKnown);  // beyond the end
}

TEST(BlockLedgerTest, AfterALossWhatIsThereMayBeNewerAndTheNextWriteIsNewerStill) {
  const auto ledger = Make();
  ledger->Expect(0, 100, 2, BlockContent::kKnown);
  ledger->ExpectUnfinished(10, 5);
  EXPECT_FALSE(BlockLedger::IsAtLeast(ledger->StateOf(9)));
  EXPECT_TRUE(BlockLedger::IsAtLeast(ledger->StateOf(10)));
  EXPECT_FALSE(BlockLedger::IsAtLeast(ledger->StateOf(15)));
  EXPECT_EQ(BlockLedger::GenerationOf(ledger->StateOf(10)), 2u);
  const uint32_t next = Write(ledger.get(), 10);
  EXPECT_GT(next, 1000u);
  EXPECT_FALSE(BlockLedger::IsAtLeast(ledger->StateOf(10)));
  EXPECT_EQ(Write(ledger.get(), 10), next + 1);
  ledger->Expect(11, 1, 70000, BlockContent::kKnown);  // written by somebody who ended
  EXPECT_FALSE(BlockLedger::IsAtLeast(ledger->StateOf(11)));
}

TEST(BlockLedgerTest, ABookTellsOfEachFileByWhatItIs) {
  LedgerBook book;
  book.BeginRun("run");
  const auto a = *book.FindOrMake("naa.600", uint64_t{4096} * 100, 4096);
  const auto b = *book.FindOrMake("naa.600", uint64_t{4096} * 100, 512);
  Write(a.get(), 3);
  Write(b.get(), 5);
  std::map<uint32_t, v1::BlockWrites> told;
  book.TakeWrites(Writes::kEnded,
                  [&](const v1::BlockWrites& writes) { told[writes.block_size_bytes()] = writes; });
  ASSERT_EQ(told.size(), 2u);
  EXPECT_EQ(told[4096].target_key(), TargetKey("naa.600"));
  uint64_t at = 0;
  ASSERT_TRUE(
      measure::ReadBlockRuns(told[512].runs(), 800,
                             [&](uint64_t first, uint64_t, uint32_t, BlockContent) { at = first; })
          .ok());
  EXPECT_EQ(at, 5u);
}

}  // namespace
}  // namespace lockstep::worker
