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

// A controller that stood still itself has heard nobody.
TEST(RosterTest, TimeInWhichNothingCouldBeHeardDoesNotCount) {
  Roster roster(1000);
  const Roster::Identity a = Worker("a");
  ASSERT_TRUE(roster.Attach(a, 0).ok());
  roster.Excuse(60000);
  EXPECT_TRUE(roster.Expire(60500).empty());
  EXPECT_EQ(roster.Expire(61001).size(), 1u);
}

Roster::Identity Certified(const std::string& host, const std::string& certificate) {
  Roster::Identity worker = Worker(host);
  worker.certificate = certificate;
  return worker;
}

TEST(RosterTest, IdsAndNameBelongToOneCertificate) {
  Roster roster(1000);
  const Roster::Identity mine = Certified("node2", "w2");
  ASSERT_TRUE(roster.Attach(mine, 0).ok());
  roster.Disconnected(mine.worker_id);
  ASSERT_EQ(roster.Expire(2000).size(), 1u);
  // Another certificate takes the host's id, or the worker's, under a name of its own.
  for (const bool host : {true, false}) {
    Roster::Identity thief = Certified("elsewhere", "w1");
    (host ? thief.host_id : thief.worker_id) = host ? mine.host_id : mine.worker_id;
    const auto refused = roster.Attach(thief, 2001);
    EXPECT_EQ(refused.status().code(), absl::StatusCode::kPermissionDenied);
    EXPECT_EQ(refused.status().message().find(mine.host_id), absl::string_view::npos)
        << "an id is told to whoever asks: " << refused.status();
  }
  EXPECT_EQ(roster.Attach(Certified("node2", "w3"), 2002).status().code(),
            absl::StatusCode::kPermissionDenied);
  // The same certificate renames its host.
  Roster::Identity renamed = mine;
  renamed.host_name = "node9";
  EXPECT_EQ(roster.Attach(renamed, 2003).status().code(), absl::StatusCode::kPermissionDenied);
  EXPECT_TRUE(roster.Attach(mine, 2004).ok());
  EXPECT_EQ(roster.Forget("node2"), 1u);
  roster.Disconnected(mine.worker_id);
  ASSERT_EQ(roster.Expire(9000).size(), 1u);
  EXPECT_TRUE(roster.Attach(renamed, 9001).ok());
}

TEST(RosterTest, NewIdsOfTheSameCertificateAndNameTakeTheOldOnesPlace) {
  Roster roster(1000);
  const Roster::Identity old = Certified("node2", "w2");
  const auto first = roster.Attach(old, 0);
  ASSERT_TRUE(first.ok());
  EXPECT_FALSE(first->succeeded);
  const Roster::Identity fresh = Certified("node2", "w2");
  EXPECT_EQ(roster.Attach(fresh, 1).status().code(), absl::StatusCode::kUnavailable)
      << "while the old one is attached";
  roster.Disconnected(old.worker_id);
  ASSERT_EQ(roster.Expire(2000).size(), 1u);
  const auto second = roster.Attach(fresh, 2001);
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_TRUE(second->succeeded);
  // The old ids are nobody's any more.
  Roster::Identity other = Certified("node3", "w3");
  other.host_id = old.host_id;
  EXPECT_TRUE(roster.Attach(other, 2002).ok());
}

TEST(RosterTest, WhatAnEarlierControllerRecordedHolds) {
  Roster roster(1000);
  const Roster::Identity mine = Certified("node2", "w2");
  roster.Bind({mine.worker_id, mine.host_id, mine.host_name, mine.certificate});
  Roster::Identity thief = Certified("elsewhere", "w1");
  thief.host_id = mine.host_id;
  EXPECT_EQ(roster.Attach(thief, 0).status().code(), absl::StatusCode::kPermissionDenied);
  EXPECT_TRUE(roster.Attach(mine, 1).ok());
}

}  // namespace
}  // namespace lockstep::controller
