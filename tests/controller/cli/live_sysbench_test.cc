#include "controller/cli/live_sysbench.h"

#include "absl/strings/match.h"
#include "common/histogram.h"
#include "common/timing.h"
#include "gtest/gtest.h"

namespace lockstep::cli {
namespace {

v1::JobSpec LineOf(const std::string& options) {
  v1::JobSpec job;
  job.set_name("line");
  v1::Target* target = job.add_targets();
  target->set_name("files");
  target->mutable_file()->set_path("/data/{host}/test_file.{file}");
  target->mutable_file()->set_count(2);
  target->mutable_file()->set_size_bytes(1 << 20);
  v1::PhaseSpec* phase = job.add_phases();
  phase->set_name("rndrd");
  phase->mutable_run()->set_duration_ns(10 * timing::kSecond);
  v1::Workload* workload = phase->mutable_run()->add_workloads();
  workload->set_block_size_bytes(16384);
  workload->set_read_ratio(1);
  (*job.mutable_labels())["sysbench.rndrd"] = "fileio" + options;
  return job;
}

v1::WatchEvent Running() {
  v1::WatchEvent event;
  event.mutable_phase()->set_state("running");
  event.mutable_phase()->add_hosts("node1");
  return event;
}

// A second with 64 reads of 16 KiB, all of one latency, and two syncs.
v1::WatchEvent Second(double end) {
  v1::WatchEvent event;
  v1::FleetInterval* interval = event.mutable_interval();
  interval->set_interval_class("measured");
  interval->set_end_seconds(end);
  interval->add_kind_bytes_per_second(1 << 20);
  interval->mutable_io_latencies()->add_buckets(common::BucketOf(1000000));
  interval->mutable_io_latencies()->add_counts(64);
  interval->mutable_fsync_latencies()->add_buckets(common::BucketOf(1000000));
  interval->mutable_fsync_latencies()->add_counts(2);
  return event;
}

std::string Printed(LiveSysbench* live, const std::vector<v1::WatchEvent>& events) {
  testing::internal::CaptureStdout();
  for (const v1::WatchEvent& event : events) live->Print(event);
  return testing::internal::GetCapturedStdout();
}

TEST(LiveSysbenchTest, ALineIsPrintedWhenItsIntervalIsComplete) {
  LiveSysbench live(LineOf(" report-interval=2"));
  ASSERT_TRUE(live.is_wanted());
  const std::string begin = Printed(&live, {Running()});
  EXPECT_TRUE(absl::StartsWith(begin, "sysbench 1.0")) << begin;
  EXPECT_TRUE(absl::EndsWith(begin, "Threads started!\n\n")) << begin;
  EXPECT_EQ(Printed(&live, {Second(1)}), "");
  const std::string line = Printed(&live, {Second(2)});
  EXPECT_TRUE(absl::StartsWith(line,
                               "[ 2s ] reads: 1.00 MiB/s writes: 0.00 MiB/s fsyncs: 2.00/s latency "
                               "(ms,95%): "))
      << line;
  // A repeated phase and a repeated interval add nothing.
  EXPECT_EQ(Printed(&live, {Running(), Second(2), Second(3)}), "");
  EXPECT_TRUE(absl::StartsWith(Printed(&live, {Second(4)}), "[ 4s ] reads: 1.00 MiB/s"));
  EXPECT_EQ(live.printed_intervals(), 2);
}

TEST(LiveSysbenchTest, AfterAMissedIntervalTheReportHasTheLines) {
  LiveSysbench live(LineOf(" report-interval=1"));
  EXPECT_NE(Printed(&live, {Running(), Second(1)}), "");
  EXPECT_EQ(Printed(&live, {Second(3), Second(4)}), "");
  EXPECT_EQ(live.printed_intervals(), 1);
  EXPECT_TRUE(live.has_begun());
}

TEST(LiveSysbenchTest, OnlyALineWithAnIntervalIsPrinted) {
  LiveSysbench without(LineOf(""));
  EXPECT_FALSE(without.is_wanted());
  EXPECT_EQ(Printed(&without, {Running(), Second(1)}), "");
  v1::JobSpec two = LineOf(" report-interval=1");
  *two.add_phases() = two.phases(0);
  two.mutable_phases(1)->set_name("again");
  EXPECT_FALSE(LiveSysbench(two).is_wanted());
}

}  // namespace
}  // namespace lockstep::cli
