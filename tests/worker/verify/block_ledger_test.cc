#include "worker/verify/block_ledger.h"

#include <map>

#include "gtest/gtest.h"
#include "measure/block_runs.h"
#include "worker/workload/block_header.h"

namespace lockstep::worker {
namespace {

std::shared_ptr<BlockLedger> Make(uint64_t blocks = 1000) { return *BlockLedger::Make(blocks); }

uint32_t Write(BlockLedger* ledger, uint64_t block, bool succeeds = true) {
  const uint32_t generation = ledger->BeginWrite(block);
  ledger->EndWrite(block, generation, succeeds);
  return generation;
}

std::map<uint64_t, std::pair<uint32_t, bool>> Take(BlockLedger* ledger, bool in_flight = false) {
  std::map<uint64_t, std::pair<uint32_t, bool>> taken;
  ledger->TakeWrites(in_flight, [&](uint64_t block, uint32_t generation, bool unknown) {
    taken[block] = {generation, unknown};
  });
  return taken;
}

using Taken = std::map<uint64_t, std::pair<uint32_t, bool>>;

TEST(BlockLedgerTest, EachWriteIsTakenOnceWithTheLastGeneration) {
  const auto ledger = Make();
  Write(ledger.get(), 0);
  Write(ledger.get(), 0);
  Write(ledger.get(), 63);
  Write(ledger.get(), 999, /*succeeds=*/false);
  EXPECT_EQ(Take(ledger.get()), (Taken{{0, {2, false}}, {63, {1, false}}, {999, {1, true}}}));
  EXPECT_TRUE(Take(ledger.get()).empty());
  Write(ledger.get(), 64);
  // While the next write is on its way, the last one counts; at the end nobody knows.
  EXPECT_EQ(ledger->BeginWrite(64), 2u);
  EXPECT_EQ(Take(ledger.get()), (Taken{{64, {1, false}}}));
  EXPECT_EQ(Take(ledger.get(), true), (Taken{{64, {1, true}}}));
}

TEST(BlockLedgerTest, WhatOthersHaveWrittenIsGoneOnFrom) {
  const auto ledger = Make();
  ledger->Expect(10, 5, 7, /*unknown=*/false);
  EXPECT_EQ(BlockLedger::GenerationOf(ledger->StateOf(14)), 7u);
  EXPECT_EQ(BlockLedger::GenerationOf(ledger->StateOf(15)), 0u);
  EXPECT_EQ(Write(ledger.get(), 12), 8u);
  ledger->Expect(0, 1000, 3, /*unknown=*/false);  // an older message, told again
  EXPECT_EQ(BlockLedger::GenerationOf(ledger->StateOf(12)), 8u);
  EXPECT_EQ(BlockLedger::GenerationOf(ledger->StateOf(10)), 7u);
  EXPECT_EQ(BlockLedger::GenerationOf(ledger->StateOf(999)), 3u);
  ledger->Expect(20, 1, 4, /*unknown=*/true);
  EXPECT_FALSE(BlockLedger::IsKnown(ledger->StateOf(20)));
  ledger->Expect(900, 1000, 5, /*unknown=*/false);  // beyond the end
}

TEST(BlockLedgerTest, AfterALossWhatIsThereMayBeNewerAndTheNextWriteIsNewerStill) {
  const auto ledger = Make();
  ledger->Expect(0, 100, 2, /*unknown=*/false);
  ledger->ExpectUnfinished(10, 5);
  EXPECT_FALSE(BlockLedger::IsAtLeast(ledger->StateOf(9)));
  EXPECT_TRUE(BlockLedger::IsAtLeast(ledger->StateOf(10)));
  EXPECT_FALSE(BlockLedger::IsAtLeast(ledger->StateOf(15)));
  EXPECT_EQ(BlockLedger::GenerationOf(ledger->StateOf(10)), 2u);
  const uint32_t next = Write(ledger.get(), 10);
  EXPECT_GT(next, 1000u);
  EXPECT_FALSE(BlockLedger::IsAtLeast(ledger->StateOf(10)));
  EXPECT_EQ(Write(ledger.get(), 10), next + 1);
  ledger->Expect(11, 1, 70000, /*unknown=*/false);  // written by somebody who ended
  EXPECT_FALSE(BlockLedger::IsAtLeast(ledger->StateOf(11)));
}

TEST(BlockLedgerTest, ABookTellsOfEachFileByWhatItIs) {
  LedgerBook book;
  book.BeginRun("run");
  const auto a = *book.Find("naa.600", uint64_t{4096} * 100, 4096, /*make=*/true);
  const auto b = *book.Find("naa.600", uint64_t{4096} * 100, 512, /*make=*/true);
  Write(a.get(), 3);
  Write(b.get(), 5);
  std::map<uint32_t, v1::BlockWrites> told;
  book.TakeWrites(/*in_flight=*/false,
                  [&](const v1::BlockWrites& writes) { told[writes.block_size_bytes()] = writes; });
  ASSERT_EQ(told.size(), 2u);
  EXPECT_EQ(told[4096].target_key(), TargetKey("naa.600"));
  uint64_t at = 0;
  ASSERT_TRUE(
      measure::ReadBlockRuns(told[512].runs(), 800, [&](uint64_t first, uint64_t, uint32_t, bool) {
        at = first;
      }).ok());
  EXPECT_EQ(at, 5u);
}

}  // namespace
}  // namespace lockstep::worker
