#include "controller/core/range_locks.h"

#include "gtest/gtest.h"

namespace lockstep::controller {
namespace {

const ByteRange kLun{1};
const ByteRange kOther{2};

TEST(RangeLocksTest, APlaceIsOneRunsUntilItsEnd) {
  RangeLocks locks;
  locks.Lock("a", "w1", {kLun});
  locks.Lock("a", "w2", {kLun});
  EXPECT_EQ(locks.Find("a", {kLun}, 0).run_id, "");
  EXPECT_EQ(locks.Find("b", {kOther, kLun}, 0).run_id, "a");
  EXPECT_EQ(locks.End("a"), 0);
  EXPECT_EQ(locks.Find("b", {kLun}, 0).run_id, "");
}

TEST(RangeLocksTest, ALostWorkersPlaceWaitsForItsHardStopAlsoWhereOthersShareIt) {
  RangeLocks locks;
  locks.Lock("a", "w1", {kLun});
  locks.Lock("a", "w2", {kLun});
  locks.Lose("a", "w1", 1000);
  // the run goes on: it may take part again
  EXPECT_EQ(locks.Find("b", {kLun}, 5000).worker_id, "w1");
  EXPECT_EQ(locks.End("a"), 1000);
  EXPECT_EQ(locks.Find("b", {kLun}, 999).worker_id, "w1");
  EXPECT_EQ(locks.Find("b", {kLun}, 1000).run_id, "");
}

TEST(RangeLocksTest, WhoMayWriteAnywhereHoldsAllUntilItIsIdleOrItsTimeIsOver) {
  RangeLocks locks;
  locks.LockAll("a", "w1", "node1");
  locks.Lose("a", "w1", 1000);
  locks.End("a");
  EXPECT_EQ(locks.Find("b", {kOther}, 999).locks_all, "node1");
  EXPECT_EQ(locks.Find("b", {}, 999).run_id, "");  // writes nothing
  EXPECT_EQ(locks.Find("b", {kOther}, 1000).run_id, "");
  locks.LockAll("c", "w1", "node1");
  locks.Lose("c", "w1", 5000);
  locks.End("c");
  EXPECT_EQ(locks.Find("b", {kLun}, 2000).run_id, "c");
  locks.Confirm("w1");
  EXPECT_EQ(locks.Find("b", {kLun}, 2000).run_id, "");
}

TEST(RangeLocksTest, AConfirmedStopFreesAtOnce) {
  RangeLocks locks;
  locks.Lock("a", "w1", {kLun});
  locks.Lose("a", "w1", 1000000);
  locks.End("a");
  locks.Confirm("w2");
  EXPECT_NE(locks.Find("b", {kLun}, 0).run_id, "");
  locks.Confirm("w1");
  EXPECT_EQ(locks.Find("b", {kLun}, 0).run_id, "");
}

TEST(RangeLocksTest, AHoldIsOverWithItsTimeOnceTheRunIs) {
  RangeLocks locks;
  locks.Lock("a", "w1", {kLun});
  locks.Lose("a", "w1", 1000);
  EXPECT_TRUE(locks.Holds("w1", 5000));  // the run goes on
  locks.End("a");
  EXPECT_TRUE(locks.Holds("w1", 999));
  EXPECT_FALSE(locks.Holds("w1", 1000));
  EXPECT_FALSE(locks.Holds("w2", 0));
}

TEST(RangeLocksTest, ExtentsOfADiskMeetWhereTheyOverlap) {
  RangeLocks locks;
  locks.Lock("a", "w1", {{7, 1000, 2000}, {7, 5000, 6000}});
  EXPECT_EQ(locks.Find("b", {{7, 2000, 5000}}, 0).run_id, "");
  EXPECT_EQ(locks.Find("b", {{7, 1999, 2000}}, 0).run_id, "a");
  EXPECT_EQ(locks.Find("b", {{8}, {7, 5500, 5600}}, 0).range, 1u);
  EXPECT_EQ(locks.Find("b", {{7}}, 0).run_id, "a");  // the whole disk
  // Ranges that are added later are locked, too.
  locks.Lock("a", "w1", {{9}});
  EXPECT_EQ(locks.Find("b", {{9}}, 0).run_id, "a");
  locks.End("a");
  EXPECT_EQ(locks.Find("b", {{7}, {9}}, 0).run_id, "");
}

TEST(RangeLocksDeathTest, AnEmptyRangeLocksNothingAndEndsTheProgram) {
  RangeLocks locks;
  EXPECT_DEATH(locks.Lock("a", "w1", {{7, 1000, 1000}}), "empty range");
}

}  // namespace
}  // namespace lockstep::controller
