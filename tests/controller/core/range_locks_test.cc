#include "controller/core/range_locks.h"

#include "gtest/gtest.h"

namespace lockstep::controller {
namespace {

const ByteRange kLun{1};
const ByteRange kOther{2};

TEST(RangeLocksTest, APlaceIsOneRunsUntilItsEnd) {
  RangeLocks ledger;
  ledger.Lock("a", "w1", {kLun});
  ledger.Lock("a", "w2", {kLun});
  EXPECT_EQ(ledger.Find("a", {kLun}, 0).run_id, "");
  EXPECT_EQ(ledger.Find("b", {kOther, kLun}, 0).run_id, "a");
  EXPECT_EQ(ledger.End("a"), 0);
  EXPECT_EQ(ledger.Find("b", {kLun}, 0).run_id, "");
}

TEST(RangeLocksTest, ALostWorkersPlaceWaitsForItsHardStopAlsoWhereOthersShareIt) {
  RangeLocks ledger;
  ledger.Lock("a", "w1", {kLun});
  ledger.Lock("a", "w2", {kLun});
  ledger.Lose("a", "w1", 1000);
  // the run goes on: it may take part again
  EXPECT_EQ(ledger.Find("b", {kLun}, 5000).worker_id, "w1");
  EXPECT_EQ(ledger.End("a"), 1000);
  EXPECT_EQ(ledger.Find("b", {kLun}, 999).worker_id, "w1");
  EXPECT_EQ(ledger.Find("b", {kLun}, 1000).run_id, "");
}

TEST(RangeLocksTest, WhoMayWriteAnywhereHoldsAllUntilItIsIdleOrItsTimeIsOver) {
  RangeLocks ledger;
  ledger.LockAll("a", "w1", "node1");
  ledger.Lose("a", "w1", 1000);
  ledger.End("a");
  EXPECT_EQ(ledger.Find("b", {kOther}, 999).locks_all, "node1");
  EXPECT_EQ(ledger.Find("b", {}, 999).run_id, "");  // writes nothing
  EXPECT_EQ(ledger.Find("b", {kOther}, 1000).run_id, "");
  ledger.LockAll("c", "w1", "node1");
  ledger.Lose("c", "w1", 5000);
  ledger.End("c");
  EXPECT_EQ(ledger.Find("b", {kLun}, 2000).run_id, "c");
  ledger.Confirm("w1");
  EXPECT_EQ(ledger.Find("b", {kLun}, 2000).run_id, "");
}

TEST(RangeLocksTest, AConfirmedStopFreesAtOnce) {
  RangeLocks ledger;
  ledger.Lock("a", "w1", {kLun});
  ledger.Lose("a", "w1", 1000000);
  ledger.End("a");
  ledger.Confirm("w2");
  EXPECT_NE(ledger.Find("b", {kLun}, 0).run_id, "");
  ledger.Confirm("w1");
  EXPECT_EQ(ledger.Find("b", {kLun}, 0).run_id, "");
}

TEST(RangeLocksTest, AHoldIsOverWithItsTimeOnceTheRunIs) {
  RangeLocks ledger;
  ledger.Lock("a", "w1", {kLun});
  ledger.Lose("a", "w1", 1000);
  EXPECT_TRUE(ledger.Holds("w1", 5000));  // the run goes on
  ledger.End("a");
  EXPECT_TRUE(ledger.Holds("w1", 999));
  EXPECT_FALSE(ledger.Holds("w1", 1000));
  EXPECT_FALSE(ledger.Holds("w2", 0));
}

TEST(RangeLocksTest, ExtentsOfADiskMeetWhereTheyOverlap) {
  RangeLocks ledger;
  ledger.Lock("a", "w1", {{7, 1000, 2000}, {7, 5000, 6000}});
  EXPECT_EQ(ledger.Find("b", {{7, 2000, 5000}}, 0).run_id, "");
  EXPECT_EQ(ledger.Find("b", {{7, 1999, 2000}}, 0).run_id, "a");
  EXPECT_EQ(ledger.Find("b", {{8}, {7, 5500, 5600}}, 0).range, 1u);
  EXPECT_EQ(ledger.Find("b", {{7}}, 0).run_id, "a");  // the whole disk
  // What is learned later is held too.
  ledger.Lock("a", "w1", {{9}});
  EXPECT_EQ(ledger.Find("b", {{9}}, 0).run_id, "a");
  ledger.End("a");
  EXPECT_EQ(ledger.Find("b", {{7}, {9}}, 0).run_id, "");
}

}  // namespace
}  // namespace lockstep::controller
