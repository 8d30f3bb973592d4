#include "controller/core/place_ledger.h"

#include "gtest/gtest.h"

namespace lockstep::controller {
namespace {

TEST(PlaceLedgerTest, APlaceIsOneRunsUntilItsEnd) {
  PlaceLedger ledger;
  ledger.Hold("a", "w1", {"lun"});
  ledger.Hold("a", "w2", {"lun"});
  EXPECT_EQ(ledger.Find("a", {"lun"}, 0).place, "");
  EXPECT_EQ(ledger.Find("b", {"other", "lun"}, 0).run_id, "a");
  EXPECT_EQ(ledger.End("a"), 0);
  EXPECT_EQ(ledger.Find("b", {"lun"}, 0).place, "");
}

TEST(PlaceLedgerTest, ALostWorkersPlaceWaitsForItsHardStopAlsoWhereOthersShareIt) {
  PlaceLedger ledger;
  ledger.Hold("a", "w1", {"lun"});
  ledger.Hold("a", "w2", {"lun"});
  ledger.Lose("a", "w1", 1000);
  EXPECT_EQ(ledger.Find("b", {"lun"}, 5000).worker_id, "w1");  // the run goes on: it may take part again
  EXPECT_EQ(ledger.End("a"), 1000);
  EXPECT_EQ(ledger.Find("b", {"lun"}, 999).worker_id, "w1");
  EXPECT_EQ(ledger.Find("b", {"lun"}, 1000).place, "");
}

TEST(PlaceLedgerTest, AConfirmedStopFreesAtOnce) {
  PlaceLedger ledger;
  ledger.Hold("a", "w1", {"lun"});
  ledger.Lose("a", "w1", 1000000);
  ledger.End("a");
  ledger.Confirm("w2");
  EXPECT_NE(ledger.Find("b", {"lun"}, 0).place, "");
  ledger.Confirm("w1");
  EXPECT_EQ(ledger.Find("b", {"lun"}, 0).place, "");
}

TEST(PlaceLedgerTest, AHoldIsOverWithItsTimeOnceTheRunIs) {
  PlaceLedger ledger;
  ledger.Hold("a", "w1", {"lun"});
  ledger.Lose("a", "w1", 1000);
  EXPECT_TRUE(ledger.Holds("w1", 5000));  // the run goes on
  ledger.End("a");
  EXPECT_TRUE(ledger.Holds("w1", 999));
  EXPECT_FALSE(ledger.Holds("w1", 1000));
  EXPECT_FALSE(ledger.Holds("w2", 0));
}

}  // namespace
}  // namespace lockstep::controller
