// The counters of NFS mounts, by a recorded text.

#include "worker/host/nfs_stats.h"

#include "gtest/gtest.h"
#include "tests/worker/host/network_records.h"

namespace lockstep::worker {
namespace {

TEST(NfsStatsTest, EachOperationOfAMountHasItsTimes) {
  const NfsCounters all = ParseMountStats(MountStats(100), {"/mnt/my\\040nas", "/mnt/x"});
  EXPECT_EQ(all.size(), 4u);
  EXPECT_EQ(all.at({"/mnt/x", "READ"}).execution_ms(), 5u);
  const NfsCounters earlier = ParseMountStats(MountStats(100), {"/mnt/my\\040nas"});
  const NfsCounters later = ParseMountStats(MountStats(150), {"/mnt/my\\040nas"});
  EXPECT_EQ(later.size(), 3u);
  const auto key = std::pair("/mnt/my\\040nas", "READ");
  const auto reads = Difference(earlier.at(key), later.at(key));
  ASSERT_TRUE(reads.has_value());
  EXPECT_EQ(reads->operation(), "READ");
  EXPECT_EQ(reads->operations(), 50u);
  EXPECT_EQ(reads->transmissions(), 50u);
  EXPECT_EQ(reads->received_bytes(), 50u * 1048688);
  EXPECT_EQ(reads->queue_time_ms(), 0u);
  EXPECT_EQ(reads->round_trip_ms(), 600u);
  EXPECT_EQ(reads->execution_ms(), 650u);
  EXPECT_FALSE(Difference(later.at(key), earlier.at(key)).has_value()) << "mounted anew";
}

}  // namespace
}  // namespace lockstep::worker
