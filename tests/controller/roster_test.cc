#include "controller/core/roster.h"

#include "common/ids.h"
#include "gtest/gtest.h"

namespace lockstep::controller {
namespace {

Roster::Identity Worker(const std::string& host) {
  return {common::NewUuid(), common::NewUuid(), common::NewUuid(), host, "boot"};
}

TEST(RosterTest, ANameOrAnIdIsOneWorkers) {
  Roster roster(1000);
  const Roster::Identity one = Worker("a");
  ASSERT_TRUE(roster.Attach(one, 0).ok());
  EXPECT_EQ(roster.Attach(Worker("a"), 0).status().code(), absl::StatusCode::kUnavailable);
  Roster::Identity copied = one;
  copied.instance_id = common::NewUuid();
  copied.host_name = "b";
  EXPECT_EQ(roster.Attach(copied, 0).status().code(), absl::StatusCode::kUnavailable);
  Roster::Identity nobody = Worker("c");
  nobody.worker_id = "'; DROP TABLE runs; --";
  EXPECT_EQ(roster.Attach(nobody, 0).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(roster.size(), 1u);
}

TEST(RosterTest, TheSameProcessGoesOnAnotherReplacesIt) {
  Roster roster(1000);
  Roster::Identity worker = Worker("a");
  ASSERT_TRUE(roster.Attach(worker, 0).ok());
  const auto again = roster.Attach(worker, 10);
  ASSERT_TRUE(again.ok());
  EXPECT_TRUE(again->resumed);
  EXPECT_TRUE(again->was_connected);
  roster.Disconnected(worker.worker_id);
  worker.instance_id = common::NewUuid();
  const auto other = roster.Attach(worker, 20);
  ASSERT_TRUE(other.ok()) << other.status();
  EXPECT_TRUE(other->replaced_process);
  EXPECT_FALSE(other->resumed);
}

TEST(RosterTest, TheLeaseDecidesNotTheConnection) {
  Roster roster(1000);
  const Roster::Identity a = Worker("a"), b = Worker("b");
  ASSERT_TRUE(roster.Attach(a, 0).ok());
  ASSERT_TRUE(roster.Attach(b, 0).ok());
  roster.Disconnected(a.worker_id);
  roster.Heard(b.worker_id, 500);
  EXPECT_TRUE(roster.Expire(1000).empty());
  const auto lost = roster.Expire(1001);
  ASSERT_EQ(lost.size(), 1u);
  EXPECT_EQ(lost[0].worker_id, a.worker_id);
  EXPECT_FALSE(roster.Has(a.worker_id));
  EXPECT_TRUE(roster.Attach(Worker("a"), 1002).ok());  // the name is free
}

// Whoever stood still itself has heard nobody.
TEST(RosterTest, TimeInWhichNothingCouldBeHeardDoesNotCount) {
  Roster roster(1000);
  const Roster::Identity a = Worker("a");
  ASSERT_TRUE(roster.Attach(a, 0).ok());
  roster.Excuse(60000);
  EXPECT_TRUE(roster.Expire(60500).empty());
  EXPECT_EQ(roster.Expire(61001).size(), 1u);
}

}  // namespace
}  // namespace lockstep::controller
