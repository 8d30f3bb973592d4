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

}  // namespace
}  // namespace lockstep::controller
