#include "controller/core/space_ledger.h"

#include "gtest/gtest.h"

namespace lockstep::controller {
namespace {

TEST(SpaceLedgerTest, WhatOthersWillLayOutCountsUntilTheyHave) {
  SpaceLedger ledger;
  ledger.Grant("a", {{"fs", 100}});
  ledger.Grant("b", {{"fs", 20}, {"other", 7}});
  EXPECT_EQ(ledger.GrantedToOthers("c", "fs").bytes, 120);
  EXPECT_EQ(ledger.GrantedToOthers("c", "fs").run_id, "a");
  EXPECT_EQ(ledger.GrantedToOthers("a", "fs").bytes, 20);
  EXPECT_EQ(ledger.GrantedToOthers("c", "nowhere").bytes, 0);
  EXPECT_TRUE(ledger.Settle("a"));
  EXPECT_FALSE(ledger.Settle("a"));
  EXPECT_EQ(ledger.GrantedToOthers("c", "fs").bytes, 20);
  EXPECT_EQ(ledger.GrantedToOthers("b", "other").run_id, "");
}

TEST(SpaceLedgerTest, ALostWorkerMayGoOnLayingOutAndKeepsTheGrantUntilItHasLeft) {
  SpaceLedger ledger;
  ledger.Grant("a", {{"fs", 100}});
  ledger.Lose("a", "w1");
  ledger.Lose("a", "w2");
  ledger.Lose("b", "w1");  // a run that was granted nothing
  EXPECT_FALSE(ledger.Settle("a"));
  EXPECT_FALSE(ledger.Leave("w1"));
  EXPECT_EQ(ledger.GrantedToOthers("c", "fs").bytes, 100);
  EXPECT_EQ(ledger.ended(), 0u);
  EXPECT_TRUE(ledger.Leave("w2"));
  EXPECT_EQ(ledger.GrantedToOthers("c", "fs").bytes, 0);
  EXPECT_EQ(ledger.ended(), 1u);
}

TEST(SpaceLedgerTest, AReturnedWorkerDoesNotEndTheGrantOfALayout) {
  SpaceLedger ledger;
  ledger.Grant("a", {{"fs", 100}});
  ledger.Lose("a", "w1");
  EXPECT_FALSE(ledger.Leave("w1"));
  EXPECT_EQ(ledger.GrantedToOthers("c", "fs").bytes, 100);
  EXPECT_TRUE(ledger.Settle("a"));
}

}  // namespace
}  // namespace lockstep::controller
