// A report in sysbench's layout, line by line as sysbench 1.0.20 prints it.

#include "controller/report/sysbench_layout.h"

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/histogram.h"
#include "controller/report/sysbench_preamble.h"
#include "gtest/gtest.h"

namespace lockstep::controller {
namespace {

constexpr int64_t kSecond = 1000000000;

// The job of `--file-num=3 --file-total-size=3M --time=2 --file-test-mode=rndrw run`.
v1::JobSpec JobOf(const std::string& options) {
  v1::JobSpec job;
  job.mutable_deadlines()->set_drain_ns(60 * kSecond);
  v1::Target* target = job.add_targets();
  target->set_name("files");
  target->mutable_file()->set_count(3);
  target->mutable_file()->set_size_bytes(1 << 20);
  v1::PhaseSpec* phase = job.add_phases();
  phase->set_name("rndrw");
  phase->mutable_run()->set_duration_ns(2 * kSecond);
  v1::Workload* w = phase->mutable_run()->add_workloads();
  w->add_targets("files");
  w->set_threads(1);
  w->set_queue_depth(1);
  w->set_block_size_bytes(16384);
  w->mutable_pattern()->mutable_random();
  w->set_read_ratio(0.6);
  w->set_mix(v1::MIX_EXACT);
  w->set_engine(v1::ENGINE_SYNC);
  w->mutable_fsync()->set_every_ios(100);
  w->mutable_fsync()->set_all_files(true);
  w->mutable_fsync()->set_shared(true);
  w->mutable_fsync()->set_at_end(true);
  (*job.mutable_labels())["sysbench.rndrw"] = "fileio" + options;
  return job;
}

v1::Workload* WorkloadOf(v1::JobSpec* job) {
  return job->mutable_phases(0)->mutable_run()->mutable_workloads(0);
}

void AddOperation(const std::string& kind, double operations, double bytes,
                  v1::PhaseReport* phase) {
  v1::OperationReport* o = phase->mutable_workloads(0)->add_operations();
  o->set_kind(kind);
  o->set_operations(operations);
  o->set_iops(operations / 2);
  o->set_bytes_per_second(bytes / 2);
}

// Two seconds with 600 reads, 400 writes and 30 syncs.
v1::Report ReportOf() {
  v1::Report report;
  v1::PhaseReport* phase = report.add_phases();
  phase->set_name("rndrw");
  phase->set_kind("run");
  phase->set_index(0);
  phase->set_window_seconds(2);
  phase->set_window_end_seconds(2);
  phase->add_threads();
  v1::WorkloadReport* w = phase->add_workloads();
  w->mutable_settings()->set_workers(1);
  AddOperation("read", 600, 600 * 16384, phase);
  AddOperation("write", 400, 400 * 16384, phase);
  AddOperation("fsync", 30, 0, phase);
  w->mutable_total()->set_iops(500);
  w->mutable_total()->set_bytes_per_second(500 * 16384);
  *phase->mutable_total() = w->total();
  phase->mutable_total()->set_operations(1000);
  phase->mutable_total()->set_latency_min_ns(1e6);
  phase->mutable_total()->set_latency_avg_ns(1e6);
  phase->mutable_total()->set_latency_max_ns(1e6);
  phase->mutable_thread_fairness()->set_events_avg(1000);
  phase->mutable_thread_fairness()->set_execution_time_avg_seconds(1.9);
  return report;
}

v1::LatencyHistogram HistogramOf(const std::string& kind, double count, uint64_t nanoseconds,
                                 double end_seconds = 2) {
  v1::LatencyHistogram h;
  h.set_kind(kind);
  h.set_is_reported(true);
  h.set_end_seconds(end_seconds);
  h.add_buckets(common::BucketOf(nanoseconds));
  h.add_counts(count);
  h.set_min_ns(static_cast<double>(nanoseconds));
  h.set_max_ns(static_cast<double>(nanoseconds));
  h.set_mean_ns(static_cast<double>(nanoseconds));
  if (kind != "fsync") h.set_bytes(count * 16384);
  return h;
}

SysbenchData DataOf(const v1::JobSpec& job) {
  SysbenchData data;
  data.job = job;
  data.phases = {HistogramOf("read", 600, 1000000), HistogramOf("write", 400, 1000000),
                 HistogramOf("fsync", 30, 10000000)};
  return data;
}

TEST(SysbenchLayoutTest, EveryLineIsWhereSysbenchHasIt) {
  SysbenchData data = DataOf(JobOf(" report-interval=1"));
  data.intervals = {HistogramOf("read", 300, 1000000, 1), HistogramOf("write", 200, 1000000, 1),
                    HistogramOf("fsync", 30, 2000000, 1), HistogramOf("read", 300, 1000000, 2),
                    HistogramOf("write", 200, 1000000, 2)};
  EXPECT_TRUE(WantsSysbenchIntervals(data.job));
  EXPECT_EQ(RenderSysbench(ReportOf(), data),
            R"(sysbench 1.0.20 (layout; measured by Lockstep)

Running the test with following options:
Number of threads: 1
Report intermediate results every 1 second(s)
Initializing random number generator from current time


Extra file open flags: (none)
3 files, 1MiB each
3MiB total file size
Block size 16KiB
Number of IO requests: 0
Read/Write ratio for combined random IO test: 1.50
Periodic FSYNC enabled, calling fsync() each 100 requests.
Calling fsync() at the end of test, Enabled.
Using synchronous I/O mode
Doing random r/w test
Initializing worker threads...

Threads started!

[ 1s ] reads: 4.69 MiB/s writes: 3.12 MiB/s fsyncs: 30.00/s latency (ms,95%): 2.007
[ 2s ] reads: 4.69 MiB/s writes: 3.12 MiB/s fsyncs: 0.00/s latency (ms,95%): 1.004

File operations:
    reads/s:                      300.00
    writes/s:                     200.00
    fsyncs/s:                     15.00

Throughput:
    read, MiB/s:                  4.69
    written, MiB/s:               3.12

General statistics:
    total time:                          2.0000s
    total number of events:              1030

Latency (ms):
         min:                                    1.00
         avg:                                    1.26
         max:                                   10.00
         95th percentile:                        1.00
         sum:                                 1300.00

Threads fairness:
    events (avg/stddev):           1030.0000/0.00
    execution time (avg/stddev):   1.9000/0.00

)");
}

// With --rate threads wait between events, and sysbench counts the events alone.
TEST(SysbenchLayoutTest, WithARateTheExecutionTimeIsThatOfEvents) {
  v1::JobSpec job = JobOf("");
  WorkloadOf(&job)->mutable_open_loop()->set_rate_per_second(400);
  v1::Report report = ReportOf();
  v1::PhaseReport* phase = report.mutable_phases(0);
  phase->add_threads();
  const double kBusy[] = {0.2, 0.6};
  for (int t = 0; t < 2; ++t) {
    phase->mutable_threads(t)->set_execution_time_seconds(2);
    phase->mutable_threads(t)->set_wait_ratio(kBusy[t] - 0.1);
    phase->mutable_threads(t)->set_fsync_ratio(0.1);
    phase->mutable_threads(t)->set_rate_ratio(1 - kBusy[t]);
  }
  // The latencies sum up to 1.3 s: a quarter is of the first thread, the rest of the second.
  const std::string text = RenderSysbench(report, DataOf(job));
  EXPECT_TRUE(absl::StrContains(text, "sum:                                 1300.00\n")) << text;
  EXPECT_TRUE(absl::StrContains(text, "execution time (avg/stddev):   0.6500/0.33\n")) << text;
}

TEST(SysbenchLayoutTest, WhatWasPrintedWhileItRanIsLeftOut) {
  SysbenchData data = DataOf(JobOf(" report-interval=1"));
  for (const double end : {1.0, 2.0}) {
    v1::LatencyHistogram h;
    h.set_kind("read");
    h.set_is_reported(true);
    h.set_begin_seconds(end - 1);
    h.set_end_seconds(end);
    h.add_buckets(common::BucketOf(1000000));
    h.add_counts(64);
    data.intervals.push_back(h);
  }
  const std::string whole = RenderSysbench(ReportOf(), data);
  const SysbenchLook look = SysbenchLookOf(data.job, "rndrw", 1);
  ASSERT_TRUE(absl::StartsWith(whole, SysbenchBegin(look)));
  const size_t second = whole.find("[ 2s ]");
  ASSERT_NE(second, std::string::npos) << whole;
  data.has_begun = true;
  data.printed_intervals = 1;
  EXPECT_EQ(RenderSysbench(ReportOf(), data), whole.substr(second));
  // More lines than the report's time has.
  data.printed_intervals = 3;
  EXPECT_TRUE(absl::StartsWith(RenderSysbench(ReportOf(), data), "\nFile operations:\n"));
}

TEST(SysbenchLayoutTest, ARunWhoseSamplesWerePrunedHasNoIntervalLines) {
  const std::string text = RenderSysbench(ReportOf(), DataOf(JobOf(" report-interval=1")));
  EXPECT_TRUE(absl::StrContains(text, "Threads started!\n\n\nFile operations:\n")) << text;
}

TEST(SysbenchLayoutTest, ThePercentileIsTheLinesOwn) {
  const std::string p99 = RenderSysbench(ReportOf(), DataOf(JobOf(" percentile=99")));
  EXPECT_TRUE(absl::StrContains(p99, "\n         99th percentile:                       10.00\n"))
      << p99;
  EXPECT_TRUE(absl::StrContains(RenderSysbench(ReportOf(), DataOf(JobOf(" percentile=2"))),
                                "\n          2th percentile:                        1.00\n"));
  EXPECT_TRUE(absl::StrContains(RenderSysbench(ReportOf(), DataOf(JobOf(" percentile=0"))),
                                "\n         percentile stats:               disabled\n"));
}

TEST(SysbenchLayoutTest, EventsAreWhatSysbenchCounts) {
  // The syncs at the end are in the load that ends by itself, but are no events.
  v1::JobSpec job = JobOf("");
  WorkloadOf(&job)->set_operations(1027);
  EXPECT_TRUE(absl::StrContains(RenderSysbench(ReportOf(), DataOf(job)),
                                "total number of events:              1027\n"));
  // A sync after each write is a part of it.
  job = JobOf(" file-fsync-all=on");
  *WorkloadOf(&job)->mutable_fsync() = {};
  WorkloadOf(&job)->mutable_fsync()->set_every(1);
  const std::string text = RenderSysbench(ReportOf(), DataOf(job));
  EXPECT_TRUE(absl::StrContains(text, "total number of events:              1000\n"));
  EXPECT_TRUE(absl::StrContains(text, "         max:                                    1.00\n"));
  EXPECT_TRUE(absl::StrContains(text,
                                "test: 1.50\nCalling fsync() after each write operation.\n"
                                "Using synchronous"));
}

TEST(SysbenchLayoutTest, ThePreambleSaysWhatTheLineSaid) {
  v1::JobSpec job = JobOf(
      " rand-seed=7 file-fsync-freq=0 file-fsync-end=off file-rw-ratio=3 "
      "file-extra-flags=direct,dsync,sync");
  v1::Workload* w = WorkloadOf(&job);
  w->set_threads(2);
  w->set_direct(true);
  w->set_engine(v1::ENGINE_LIBAIO);
  w->set_operations(500);
  w->set_verify(true);
  w->mutable_open_loop()->set_rate_per_second(100);
  job.mutable_deadlines()->set_drain_ns(5 * kSecond);
  EXPECT_EQ(SysbenchLookOf(job, "rndrw", 3).preamble,
            R"(Running the test with following options:
Number of threads: 6
Target transaction rate: 100/sec
Validation checks: on.

Initializing random number generator from seed (7).

Forcing shutdown in 7 seconds

Extra file open flags: sync dsync directio
3 files, 1MiB each
3MiB total file size
Block size 16KiB
Number of IO requests: 500
Read/Write ratio for combined random IO test: 3.00
Using asynchronous I/O mode
Using checksums validation.
Doing random r/w test
Initializing worker threads...

Threads started!

)");
}

TEST(SysbenchLayoutTest, SequentialModesHaveNoRatioAndMayMerge) {
  v1::JobSpec job = JobOf(" file-merged-requests=4");
  v1::Workload* w = WorkloadOf(&job);
  w->mutable_pattern()->mutable_sequential()->set_shared(true);
  w->set_block_size_bytes(65536);
  w->set_mix(v1::MIX_DRAWN);
  w->set_read_ratio(1);
  w->clear_fsync();
  const std::string text = SysbenchLookOf(job, "rndrw", 1).preamble;
  EXPECT_TRUE(absl::StrContains(
      text,
      "Block size 16KiB\nMerging requests up to 64KiB for sequential IO.\nPeriodic FSYNC enabled, "
      "calling fsync() each 100 requests.\nCalling fsync() at the end of test, Enabled.\nUsing "
      "synchronous I/O mode\nDoing sequential read test\n"))
      << text;
}

// A job that nobody translated is described by its fields.
TEST(SysbenchLayoutTest, OtherJobsHaveAPreambleWhereTheyCan) {
  v1::JobSpec job = JobOf("");
  job.clear_labels();
  WorkloadOf(&job)->mutable_fsync()->set_at_end(false);
  const SysbenchLook look = SysbenchLookOf(job, "rndrw", 1);
  EXPECT_FALSE(look.is_line);
  EXPECT_TRUE(absl::StrContains(look.preamble,
                                "test: 1.50\nPeriodic FSYNC enabled, calling fsync() each 100 "
                                "requests.\nUsing synchronous I/O mode\nDoing random r/w test\n"));
  // 60 % reads, 20 % writes and 20 % trims.
  v1::JobSpec trims = job;
  WorkloadOf(&trims)->set_trim_ratio(0.5);
  EXPECT_TRUE(absl::StrContains(SysbenchLookOf(trims, "rndrw", 1).preamble, "test: 3.00\n"));
  job.mutable_targets(0)->mutable_device()->set_path("/dev/sdb");
  EXPECT_FALSE(SysbenchLookOf(job, "rndrw", 1).has_preamble);
  // Without the job, the figures stand alone, of I/Os without syncs.
  const std::string text = RenderSysbench(ReportOf(), {});
  EXPECT_TRUE(absl::StartsWith(text, "\nFile operations:\n")) << text;
  EXPECT_TRUE(absl::StrContains(text, "         sum:                                 1000.00\n"));
}

TEST(SysbenchLayoutTest, FilesThatAreMadeAndRemoved) {
  v1::JobSpec job = JobOf("");
  for (const char* name : {"prepare", "cleanup"}) {
    (*job.mutable_labels())[absl::StrCat("sysbench.", name)] = "fileio";
  }
  v1::Report report;
  v1::PhaseReport* prepare = report.add_phases();
  prepare->set_name("prepare");
  prepare->set_kind("prepare");
  prepare->set_state("done");
  prepare->set_files_made(3);
  prepare->set_bytes_written(3 << 20);
  prepare->set_duration_seconds(0.5);
  v1::PhaseReport* cleanup = report.add_phases();
  cleanup->set_name("cleanup");
  cleanup->set_kind("cleanup");
  cleanup->set_state("done");
  SysbenchData data;
  data.job = job;
  EXPECT_EQ(RenderSysbench(report, data), R"(sysbench 1.0.20 (layout; measured by Lockstep)

3 files, 1024Kb each, 3Mb total
Creating files for the test...
Extra file open flags: (none)
Creating file test_file.0
Creating file test_file.1
Creating file test_file.2
3145728 bytes written in 0.50 seconds (6.00 MiB/sec).
sysbench 1.0.20 (layout; measured by Lockstep)

Removing test files...
)");
  prepare->set_files_made(0);
  prepare->set_files_reused(3);
  prepare->set_bytes_written(0);
  EXPECT_TRUE(absl::StrContains(RenderSysbench(report, data),
                                "Reusing existing file test_file.2\nNo bytes written.\n"));
  prepare->set_state("failed");
  EXPECT_FALSE(absl::StrContains(RenderSysbench(report, data), "Creating files"));
  data.job.clear_labels();
  EXPECT_EQ(RenderSysbench(report, data), "") << "other jobs have no lines of sysbench";
}

}  // namespace
}  // namespace lockstep::controller
