#include "worker/link/connection_keeper.h"

#include <set>

#include "gtest/gtest.h"

namespace lockstep::worker {
namespace {

using timing::kSecond;

ConnectionKeeper::Options Two() {
  ConnectionKeeper::Options options;
  options.controllers = 2;
  return options;
}

TEST(ConnectionKeeperTest, ControllersAreTriedInTurnAndThePauseGrowsFromRoundToRound) {
  ConnectionKeeper keeper(Two());
  int64_t now = 100 * kSecond;
  EXPECT_LE(keeper.dial_at_ns(), now);  // at once
  std::vector<size_t> dialled;
  std::vector<int64_t> pauses;
  for (int attempt = 0; attempt < 12; ++attempt) {
    dialled.push_back(keeper.Dial(now));
    keeper.Closed(now);
    pauses.push_back(keeper.dial_at_ns() - now);
    now = keeper.dial_at_ns();
  }
  for (size_t i = 0; i < dialled.size(); ++i) EXPECT_EQ(dialled[i], i % 2);
  // Within a round the other one is tried soon.
  for (size_t i = 0; i < pauses.size(); i += 2) EXPECT_EQ(pauses[i], timing::kFirstPauseNs / 2);
  for (size_t i = 3; i < pauses.size(); i += 2) EXPECT_GE(pauses[i], pauses[i - 2]);
  EXPECT_EQ(pauses.back(), timing::kMaxPauseNs / 2);
}

TEST(ConnectionKeeperTest, JitterSpreadsAFleet) {
  std::set<int64_t> times;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    ConnectionKeeper::Options options;
    options.random = [seed] { return seed * 0x9E3779B97F4A7C15u; };
    ConnectionKeeper keeper(std::move(options));
    keeper.Dial(0);
    keeper.Closed(0);
    times.insert(keeper.dial_at_ns());
    EXPECT_GE(keeper.dial_at_ns(), timing::kFirstPauseNs / 2);
    EXPECT_LT(keeper.dial_at_ns(), timing::kFirstPauseNs * 3 / 2);
  }
  EXPECT_GT(times.size(), 90u);
}

// One that welcomes and drops everybody at once is not dialled ever faster.
TEST(ConnectionKeeperTest, OnlyAConnectionThatLastedShortensThePause) {
  ConnectionKeeper keeper({});
  int64_t now = 0;
  for (int i = 0; i < 8; ++i) {
    keeper.Dial(now);
    keeper.Attached(now, kSecond);
    keeper.Closed(now + 1);
    now = keeper.dial_at_ns();
  }
  keeper.Dial(now);
  keeper.Attached(now, kSecond);
  keeper.Closed(now + kSecond);
  EXPECT_EQ(keeper.dial_at_ns() - (now + kSecond), timing::kMaxPauseNs / 2);
  now = keeper.dial_at_ns();
  keeper.Dial(now);
  keeper.Attached(now, kSecond);
  keeper.Closed(now + 60 * kSecond);
  EXPECT_EQ(keeper.dial_at_ns() - (now + 60 * kSecond), timing::kFirstPauseNs / 2);
}

TEST(ConnectionKeeperTest, SilenceBeyondTheLeaseIsTheEnd) {
  ConnectionKeeper keeper({});
  EXPECT_FALSE(keeper.IsSilent(1000 * kSecond));  // nobody is dialled
  keeper.Dial(0);
  EXPECT_FALSE(keeper.IsSilent(timing::kFirstLeaseNs));
  EXPECT_TRUE(keeper.IsSilent(timing::kFirstLeaseNs + 1));
  keeper.Attached(kSecond, 3 * kSecond);
  EXPECT_FALSE(keeper.IsSilent(4 * kSecond));
  EXPECT_TRUE(keeper.IsSilent(4 * kSecond + 1));
  keeper.Heard(4 * kSecond);
  EXPECT_FALSE(keeper.IsSilent(7 * kSecond));
  keeper.Closed(7 * kSecond);
  EXPECT_FALSE(keeper.IsSilent(100 * kSecond));
  // The next one's lease is not known yet.
  keeper.Dial(100 * kSecond);
  EXPECT_FALSE(keeper.IsSilent(109 * kSecond));
}

TEST(ConnectionKeeperTest, HeartbeatsAreDueWhileAttached) {
  ConnectionKeeper keeper({});
  EXPECT_FALSE(keeper.TakeHeartbeat(10 * kSecond));
  keeper.Dial(10 * kSecond);
  EXPECT_FALSE(keeper.TakeHeartbeat(20 * kSecond));
  keeper.Attached(20 * kSecond, kSecond);
  EXPECT_FALSE(keeper.TakeHeartbeat(20 * kSecond));
  EXPECT_TRUE(keeper.TakeHeartbeat(21 * kSecond));
  EXPECT_FALSE(keeper.TakeHeartbeat(21 * kSecond));
}

}  // namespace
}  // namespace lockstep::worker
