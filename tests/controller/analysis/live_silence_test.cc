#include "controller/analysis/live_silence.h"

#include "gtest/gtest.h"

namespace lockstep::controller {
namespace {

// One second, by worker: how many I/Os it completed.
measure::MergedInterval Second(uint32_t number, const std::vector<uint64_t>& operations) {
  measure::MergedInterval merged;
  merged.interval = number;
  merged.interval_class = v1::INTERVAL_CLASS_MEASURED;
  merged.end_seconds = number + 1;
  for (uint32_t worker = 0; worker < operations.size(); ++worker) {
    measure::MergedInterval::Part& part = merged.workers[worker];
    part.begin_seconds = number;
    part.seconds = 1;
    part.operations = operations[worker];
  }
  return merged;
}

v1::RunPhase SilenceLoad() {
  v1::RunPhase load;
  load.add_workloads();
  return load;
}

TEST(LiveSilenceTest, HostsThatStopAreCountedWithTheirTime) {
  LiveSilence silence(SilenceLoad());
  LiveSilence::Found found = silence.Add(Second(0, {100, 100, 100}));
  EXPECT_EQ(found.hosts, 3u);
  EXPECT_EQ(found.silent, 0u);
  EXPECT_DOUBLE_EQ(found.seconds, 0);
  found = silence.Add(Second(1, {100, 0, 100}));
  EXPECT_EQ(found.silent, 1u);
  EXPECT_DOUBLE_EQ(found.seconds, 1);
  found = silence.Add(Second(2, {0, 0, 0}));
  EXPECT_EQ(found.silent, 3u);
  EXPECT_DOUBLE_EQ(found.seconds, 1) << "for which all of them complete none";
  found = silence.Add(Second(3, {0, 0, 0}));
  EXPECT_DOUBLE_EQ(found.seconds, 2);
  found = silence.Add(Second(4, {1, 1, 1}));
  EXPECT_EQ(found.silent, 0u);
}

TEST(LiveSilenceTest, WithALowRateAnEmptyIntervalIsChance) {
  LiveSilence silence(SilenceLoad());
  for (uint32_t k = 0; k < 5; ++k) silence.Add(Second(k, {2}));
  EXPECT_EQ(silence.Add(Second(5, {0})).silent, 0u);
  for (uint32_t k = 6; k < 9; ++k) silence.Add(Second(k, {0}));
  const LiveSilence::Found found = silence.Add(Second(9, {0}));
  EXPECT_EQ(found.silent, 1u);
  EXPECT_DOUBLE_EQ(found.seconds, 5);
}

TEST(LiveSilenceTest, BeforeTheLoadBeginsNobodyIsSilent) {
  v1::RunPhase load = SilenceLoad();
  load.mutable_workloads(0)->set_start_delay_ns(2500000000);
  LiveSilence silence(load);
  for (uint32_t k = 0; k < 3; ++k) EXPECT_EQ(silence.Add(Second(k, {0})).silent, 0u) << k;
  const LiveSilence::Found found = silence.Add(Second(3, {0}));
  EXPECT_EQ(found.silent, 1u);
  EXPECT_DOUBLE_EQ(found.seconds, 1.5);
}

TEST(LiveSilenceTest, StorageThatIsStuckFromTheStartIsSilent) {
  LiveSilence silence(SilenceLoad());
  const LiveSilence::Found found = silence.Add(Second(0, {0, 0}));
  EXPECT_EQ(found.silent, 2u);
  EXPECT_DOUBLE_EQ(found.seconds, 1);
}

TEST(LiveSilenceTest, AHostWithoutAWorkloadIsNotSilent) {
  LiveSilence silence(SilenceLoad());
  EXPECT_EQ(silence.Add(Second(0, {100, 0})).silent, 0u);
  EXPECT_EQ(silence.Add(Second(1, {100, 0})).silent, 0u);
}

TEST(LiveSilenceTest, PausesAndEndsThatTheJobWantsAreNoSilence) {
  v1::RunPhase pauses = SilenceLoad();
  pauses.mutable_workloads(0)->set_think_time_ns(1);
  LiveSilence thinks(pauses);
  thinks.Add(Second(0, {100}));
  EXPECT_EQ(thinks.Add(Second(1, {0})).silent, 0u);
  v1::RunPhase ends = SilenceLoad();
  ends.mutable_workloads(0)->set_operations(100);
  LiveSilence through(ends);
  through.Add(Second(0, {100, 100}));
  EXPECT_EQ(through.Add(Second(1, {0, 100})).silent, 0u);
  EXPECT_EQ(through.Add(Second(2, {0, 0})).silent, 2u) << "while the phase waits for somebody";
}

TEST(LiveSilenceTest, ADrainIsNotJudged) {
  LiveSilence silence(SilenceLoad());
  silence.Add(Second(0, {100}));
  measure::MergedInterval drain = Second(1, {0});
  drain.interval_class = v1::INTERVAL_CLASS_DRAIN;
  EXPECT_EQ(silence.Add(drain).silent, 0u);
}

}  // namespace
}  // namespace lockstep::controller
