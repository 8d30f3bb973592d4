// Findings about the queues of devices: I/Os that they split, and I/Os that wait above them.

#include <map>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "tests/controller/analysis/stored_phases.h"

namespace lockstep::controller {
namespace {

TEST(FindingsTest, IOsThatTheQueueSplitsAreSaidToBe) {
  Stored data = FourHosts([](uint32_t, uint32_t) { return 200; });
  for (v1::PhaseSpec* spec : {data.run.job.mutable_phases(0), &data.phases[0].phase.spec}) {
    spec->mutable_run()->mutable_workloads(0)->set_block_size_bytes(1 << 20);
  }
  data.environment[0]["device.sda.max_sectors_kb"] = "256";
  for (v1::IntervalSample& sample : data.intervals[0]) {
    sample.mutable_workloads(0)->mutable_operations(0)->set_bytes(uint64_t{200} << 20);
    sample.mutable_devices(0)->set_read_bytes(uint64_t{200} << 20);
    sample.mutable_devices(0)->set_reads(800);
  }
  const std::string found = FindingsOf(ReportOf(data).phases(0));
  EXPECT_NE(found.find("split: I/Os of 1 MiB reached the device in requests of 256 KiB (×4.0): its "
                       "queue takes at most 256 KiB"),
            std::string::npos)
      << found;
}

// 4 MiB at a time; `facts`: of the device's queue.
std::string SplitOf(uint64_t requests_per_io, const std::map<std::string, std::string>& facts) {
  // 20 a second. In ten seconds small requests of others could be hidden among those of 4 MiB.
  constexpr int kLonger = 6;
  constexpr uint64_t kReads = uint64_t{20} * kLonger;
  Stored data = FourHosts([](uint32_t, uint32_t) { return kReads; });
  for (v1::PhaseSpec* spec : {data.run.job.mutable_phases(0), &data.phases[0].phase.spec}) {
    spec->mutable_run()->mutable_workloads(0)->set_block_size_bytes(4 << 20);
  }
  for (const auto& [name, value] : facts) data.environment[0][name] = value;
  for (v1::IntervalSample& sample : data.intervals[0]) {
    sample.set_begin_ns(kLonger * sample.begin_ns());
    sample.set_end_ns(kLonger * sample.end_ns());
    sample.mutable_workloads(0)->mutable_operations(0)->set_bytes(kReads << 22);
    sample.mutable_devices(0)->set_read_bytes(kReads << 22);
    sample.mutable_devices(0)->set_reads(kReads * requests_per_io);
  }
  const std::string found = FindingsOf(ReportOf(data).phases(0));
  const size_t reason = found.find("): ");
  return reason == std::string::npos ? found : found.substr(reason + 3);
}

// A limit that allows larger requests than those that came does not split them.
TEST(FindingsTest, TheLimitThatExplainsASplitIsNamed) {
  const auto sectors =
      std::pair<const std::string, std::string>("device.sda.max_sectors_kb", "1280");
  const auto segments = [](const char* count) {
    return std::pair<const std::string, std::string>("device.sda.max_segments", count);
  };
  constexpr char kBySectors[] = "its queue takes at most 1.25 MiB at a time (max_sectors_kb)\n";
  constexpr char kUnknown[] = "by what is not known\n";
  EXPECT_EQ(SplitOf(4, {sectors}), kBySectors);
  EXPECT_EQ(SplitOf(7, {sectors}), kUnknown);
  EXPECT_EQ(
      SplitOf(7, {sectors, segments("128")}),
      "its queue takes at most 128 pieces of memory at a time (max_segments): 512 KiB, or more "
      "where pages adjoin\n");
  // Pieces of 1 MiB, of which each is a few pages too large.
  EXPECT_EQ(
      SplitOf(8, {sectors, segments("254")}),
      "its queue takes at most 254 pieces of memory at a time (max_segments): 1016 KiB, or more "
      "where pages adjoin\n");
  // Pages that adjoin are one segment.
  EXPECT_EQ(SplitOf(4, {sectors, segments("128")}), kBySectors);
  EXPECT_EQ(SplitOf(20, {sectors, segments("128")}), kUnknown);
  EXPECT_EQ(SplitOf(7, {}), kUnknown);
  // Larger pages are fewer segments.
  EXPECT_EQ(SplitOf(7, {sectors, segments("128"), {"memory.page_bytes", "65536"}}), kUnknown);
}

TEST(FindingsTest, WhatWaitsAboveTheDeviceIsTold) {
  // 200 I/Os a second of 50 ms are 10 in flight; the device has each for 1 ms.
  Stored data = FourHosts([](uint32_t, uint32_t) { return 200; }, 50000000);
  for (v1::IntervalSample& sample : data.intervals[0]) {
    sample.mutable_devices(0)->set_read_time_ms(200);
    sample.mutable_devices(0)->set_queue_time_ms(200);
  }
  const std::string found = FindingsOf(ReportOf(data).phases(0));
  EXPECT_NE(found.find("queue: the engines had 10.0 I/Os in flight, the device's queue held 0.2"),
            std::string::npos)
      << found;
}

// 512 I/Os in flight of 51.2 ms each, of which the device has 64 for 6.4 ms, all the time.
std::string QueueOf(uint64_t busy_ms, const std::string& places) {
  Stored data = FourHosts([](uint32_t, uint32_t) { return 10000; }, 51200000);
  if (!places.empty()) data.environment[0]["device.sda.nr_requests"] = places;
  for (v1::IntervalSample& sample : data.intervals[0]) {
    sample.mutable_devices(0)->set_read_time_ms(64000);
    sample.mutable_devices(0)->set_queue_time_ms(64000);
    sample.mutable_devices(0)->set_busy_time_ms(busy_ms);
  }
  return FindingsOf(ReportOf(data).phases(0));
}

// The verdict of such a load is "device".
TEST(FindingsTest, WhatWaitsForAPlaceInAFullQueueWaitsForTheDevice) {
  const std::string full = QueueOf(1000, "64");
  EXPECT_TRUE(absl::StrContains(full,
                                "; the device's queue was full (64 requests, nr_requests 64, busy "
                                "100 %): the other I/Os waited for a place in it"))
      << full;
  EXPECT_FALSE(absl::StrContains(full, "waited above the device")) << full;
  // A queue with places left keeps nobody out, and a device that is never idle may still limit.
  for (const char* places : {"1023", ""}) {
    const std::string found = QueueOf(1000, places);
    EXPECT_TRUE(absl::StrContains(found, "or something before it made the other I/Os wait is not "))
        << found;
    EXPECT_FALSE(absl::StrContains(found, "waited above the device")) << found;
  }
  const std::string idle = QueueOf(940, "64");
  EXPECT_TRUE(absl::StrContains(idle, "waited above the device (a throttle, a lock")) << idle;
}

// The I/Os take 50 ms each, however long the device has them and is busy.
TEST(FindingsTest, TheVerdictDeviceStandsBesideNoWaitAboveIt) {
  Stored data = FourHosts([](uint32_t, uint32_t) { return 1000; }, 50000000);
  for (measure::WorkerPhaseData& worker : data.phases[0].workers) {
    AddWaitingThread(10000, &worker);
  }
  int above = 0;
  for (const uint64_t busy_ms : {500, 940, 960, 1000}) {
    for (const uint64_t queue : {1, 3, 8, 24, 26, 50}) {
      for (auto& [worker, samples] : data.intervals) {
        for (v1::IntervalSample& sample : samples) {
          sample.mutable_devices(0)->set_read_time_ms(1000 * queue);
          sample.mutable_devices(0)->set_queue_time_ms(1000 * queue);
          sample.mutable_devices(0)->set_busy_time_ms(busy_ms);
        }
      }
      const v1::PhaseReport phase = ReportOf(data).phases(0);
      const bool waited = absl::StrContains(FindingsOf(phase), "waited above the device");
      const std::string& limit = phase.workloads(0).limited_by();
      EXPECT_FALSE(waited && limit == "device") << busy_ms << " ms, " << queue;
      EXPECT_FALSE(!waited && limit == "above the device") << busy_ms << " ms, " << queue;
      above += waited ? 1 : 0;
    }
  }
  EXPECT_EQ(above, 8);
}

TEST(FindingsTest, FastRequestsOfOthersAreNotThoseOfTheLoad) {
  // Its 200 I/Os take 50 ms each, on the device. Beside them are 2,000 of 100 µs.
  Stored data = FourHosts([](uint32_t, uint32_t) { return 200; }, 50000000);
  for (v1::IntervalSample& sample : data.intervals[0]) {
    sample.mutable_devices(0)->set_reads(2200);
    sample.mutable_devices(0)->set_read_time_ms(10200);
    sample.mutable_devices(0)->set_queue_time_ms(4500);
  }
  const std::string found = FindingsOf(ReportOf(data).phases(0));
  EXPECT_EQ(found.find("waited above the device"), std::string::npos) << found;
}

TEST(FindingsTest, WhatWaitsForItsSlotIsNotInFlight) {
  // An open loop: each I/O takes 1 ms, as the device's requests do, and was due 49 ms earlier.
  Stored data = FourHosts([](uint32_t, uint32_t) { return 200; }, 1000000);
  for (v1::IntervalSample& sample : data.intervals[0]) {
    sample.mutable_devices(0)->set_read_time_ms(200);
    sample.mutable_devices(0)->set_queue_time_ms(200);
  }
  for (measure::WorkerPhaseData& worker : data.phases[0].workers) {
    v1::OperationCounters* reads = worker.result.mutable_workloads(0)->mutable_measured(0);
    common::Histogram response;
    for (uint64_t i = 0; i < reads->operations(); ++i) response.Record(50000000);
    v1::Histogram* encoded = reads->add_histograms();
    encoded->set_metric(v1::METRIC_RESPONSE_TIME);
    encoded->set_scheme(common::kHistogramScheme);
    encoded->set_buckets(response.Encode());
    reads->set_latency_sum_ns(reads->operations() * 50000000);
    reads->set_latency_max_ns(50000000);
  }
  const v1::PhaseReport phase = ReportOf(data).phases(0);
  EXPECT_NEAR(phase.devices(0).engine_queue_size(), 0.2, 0.01);
  EXPECT_EQ(FindingsOf(phase).find("queue:"), std::string::npos) << FindingsOf(phase);
}

TEST(FindingsTest, WriteBackThatFillsTheQueueIsTold) {
  // dd of story 3: a buffered writer, 156 requests of 504 KiB in the device's queue.
  Stored data = FourHosts([](uint32_t, uint32_t) { return 200; });
  for (v1::PhaseSpec* spec : {data.run.job.mutable_phases(0), &data.phases[0].phase.spec}) {
    spec->mutable_run()->mutable_workloads(0)->set_direct(false);
    spec->mutable_run()->mutable_workloads(0)->set_queue_depth(1);
    spec->mutable_run()->mutable_workloads(0)->set_threads(1);
  }
  for (v1::IntervalSample& sample : data.intervals[0]) {
    sample.mutable_devices(0)->set_queue_time_ms(156000);
  }
  const std::string found = FindingsOf(ReportOf(data).phases(0));
  EXPECT_NE(found.find("the device's queue held 156 requests where the engines have at most 1"),
            std::string::npos)
      << found;
}

}  // namespace
}  // namespace lockstep::controller
