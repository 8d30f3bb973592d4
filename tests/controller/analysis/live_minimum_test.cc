#include "controller/analysis/live_minimum.h"

#include "gtest/gtest.h"

namespace lockstep::controller {
namespace {

// One second in which workload 0 does so many I/Os of 4 KiB.
measure::MergedInterval SecondOf(uint32_t number, uint64_t operations) {
  measure::MergedInterval merged;
  merged.interval = number;
  merged.interval_class = v1::INTERVAL_CLASS_MEASURED;
  merged.end_seconds = number + 1;
  merged.whole = true;
  merged.workers[0].begin_seconds = number;
  merged.workers[0].seconds = 1;
  merged.workloads[0] = {operations, operations * 4096};
  return merged;
}

v1::RunPhase LoadOfAtLeast(double iops, int64_t window_seconds) {
  v1::RunPhase load;
  v1::Workload* w = load.add_workloads();
  w->set_name("w");
  w->mutable_min_rate()->set_iops(iops);
  w->mutable_min_rate()->set_window_ns(window_seconds * 1000000000);
  return load;
}

TEST(LiveMinimumTest, AWindowIsJudgedAsAWhole) {
  LiveMinimum minimum(LoadOfAtLeast(100, 3));
  // One slow second of three is made up for.
  for (uint32_t k = 0; k < 3; ++k) EXPECT_EQ(minimum.Add(SecondOf(k, k == 1 ? 10 : 150)), "");
  EXPECT_EQ(minimum.Add(SecondOf(3, 10)), "");
  EXPECT_EQ(minimum.Add(SecondOf(4, 100)), "");
  EXPECT_EQ(minimum.Add(SecondOf(5, 100)),
            "min_rate of w: 70/s from 3 to 6 s after T (at least 100/s)");
}

TEST(LiveMinimumTest, BytesHaveAMinimumToo) {
  v1::RunPhase load = LoadOfAtLeast(0, 1);
  load.mutable_workloads(0)->mutable_min_rate()->set_throughput_bytes_per_second(1 << 20);
  LiveMinimum minimum(load);
  EXPECT_EQ(minimum.Add(SecondOf(0, 256)), "");
  EXPECT_NE(minimum.Add(SecondOf(1, 255)), "");
}

TEST(LiveMinimumTest, OnlyWhileItRunsAWorkloadIsJudged) {
  v1::RunPhase load = LoadOfAtLeast(100, 1);
  load.mutable_workloads(0)->set_start_delay_ns(1500000000);
  LiveMinimum minimum(load);
  EXPECT_EQ(minimum.Add(SecondOf(0, 0)), "");
  EXPECT_EQ(minimum.Add(SecondOf(1, 50)), "");
  EXPECT_EQ(minimum.Add(SecondOf(2, 100)), "");
  // Another workload's end has no effect.
  minimum.End(1, 2000000000);
  minimum.End(0, 3500000000);
  EXPECT_EQ(minimum.Add(SecondOf(3, 50)), "");
  EXPECT_EQ(minimum.Add(SecondOf(4, 0)), "");
}

TEST(LiveMinimumTest, NeitherARampNorAPartOfTheFleetIsJudged) {
  LiveMinimum minimum(LoadOfAtLeast(100, 1));
  measure::MergedInterval merged = SecondOf(0, 0);
  merged.interval_class = v1::INTERVAL_CLASS_RAMP;
  EXPECT_EQ(minimum.Add(merged), "");
  merged = SecondOf(1, 0);
  merged.whole = false;
  EXPECT_EQ(minimum.Add(merged), "");
  EXPECT_NE(minimum.Add(SecondOf(2, 0)), "");
}

}  // namespace
}  // namespace lockstep::controller
