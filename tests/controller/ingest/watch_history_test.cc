// The part of a run so far that a late watcher sees.

#include <string>

#include "common/limits.h"
#include "controller/ingest/watchers.h"
#include "gtest/gtest.h"

namespace lockstep::controller {
namespace {

v1::WatchEvent Interval(uint32_t number, int hosts) {
  v1::WatchEvent event;
  event.mutable_interval()->set_interval(number);
  event.mutable_interval()->set_end_seconds(number + 1);
  for (int i = 0; i < hosts; ++i) {
    event.mutable_interval()->add_all_iops(static_cast<float>(1000 + i));
    event.mutable_interval()->add_all_p99_ns(5e6);
  }
  return event;
}

size_t BytesOf(const WatchHistory& history) {
  size_t bytes = 0;
  for (const auto& event : history.events()) bytes += event.whole->ByteSizeLong();
  return bytes;
}

TEST(WatchHistoryTest, AnotherControllersNumbersAreHigher) {
  WatchHistory history((uint64_t{7} << 32) + 5);
  EXPECT_EQ(history.Add(Interval(0, 2)).whole->sequence(), (uint64_t{7} << 32) + 6);
}

TEST(WatchHistoryTest, EventsHaveAscendingNumbersAndProgressIsNotKept) {
  WatchHistory history;
  v1::WatchEvent progress;
  progress.mutable_progress()->set_done_bytes(1);
  EXPECT_EQ(history.Add(Interval(0, 2)).whole->sequence(), 1u);
  EXPECT_EQ(history.Add(progress).whole->sequence(), 0u);
  EXPECT_EQ(history.Add(Interval(1, 2)).fleet->sequence(), 2u);
  ASSERT_EQ(history.events().size(), 2u);
  EXPECT_EQ(history.events().back().whole->interval().all_iops_size(), 2);
  EXPECT_EQ(history.events().back().fleet->interval().all_iops_size(), 0);
}

TEST(WatchHistoryTest, LatenciesAreSentAndNotKept) {
  WatchHistory history;
  v1::WatchEvent event = Interval(0, 2);
  event.mutable_interval()->mutable_io_latencies()->add_buckets(7);
  event.mutable_interval()->mutable_fsync_latencies()->add_buckets(8);
  const WatchHistory::Numbered sent = history.Add(event);
  ASSERT_NE(sent.latencies, nullptr);
  EXPECT_EQ(sent.latencies->sequence(), 1u);
  EXPECT_EQ(sent.latencies->interval().io_latencies().buckets(0), 7u);
  EXPECT_EQ(sent.latencies->interval().fsync_latencies().buckets(0), 8u);
  EXPECT_EQ(sent.latencies->interval().all_iops_size(), 0);
  for (const auto& other : {sent.whole, sent.fleet, history.events().front().whole}) {
    EXPECT_FALSE(other->interval().has_io_latencies());
    EXPECT_FALSE(other->interval().has_fsync_latencies());
  }
  EXPECT_EQ(sent.whole->interval().all_iops_size(), 2);
  EXPECT_EQ(history.events().front().latencies, nullptr);
}

TEST(WatchHistoryTest, OfALargeFleetTheEarliestHostsGoFirst) {
  WatchHistory history;
  constexpr uint32_t kIntervals = 1500;
  for (uint32_t i = 0; i < kIntervals; ++i) history.Add(Interval(i, 1000));
  EXPECT_LE(BytesOf(history), static_cast<size_t>(limits::kWatchHistoryBytes));
  EXPECT_GT(BytesOf(history), static_cast<size_t>(limits::kWatchHistoryBytes) / 2);
  // The fleet's figures are there from the begin on, and the hosts' of the last intervals.
  ASSERT_EQ(history.events().size(), kIntervals);
  EXPECT_EQ(history.events().front().whole->interval().all_iops_size(), 0);
  EXPECT_EQ(history.events().front().whole->interval().end_seconds(), 1);
  EXPECT_EQ(history.events().back().whole->interval().all_iops_size(), 1000);
  bool had_hosts = false;
  for (const auto& event : history.events()) {
    const bool has_hosts = !event.whole->interval().all_iops().empty();
    EXPECT_TRUE(has_hosts || !had_hosts) << "a hole";
    had_hosts = has_hosts;
  }
}

TEST(WatchHistoryTest, WhatIsWithoutHostsIsLimitedToo) {
  WatchHistory history;
  v1::WatchEvent event;
  event.mutable_event()->set_message(std::string(100000, 'x'));
  for (int i = 0; i < 300; ++i) history.Add(event);
  EXPECT_LE(BytesOf(history), static_cast<size_t>(limits::kWatchHistoryBytes));
  EXPECT_EQ(history.events().back().whole->sequence(), 300u);
  history.Add(Interval(0, 10));
  EXPECT_EQ(history.events().back().whole->interval().all_iops_size(), 10);
}

}  // namespace
}  // namespace lockstep::controller
