#include "controller/report/fio_text.h"

#include "common/histogram.h"
#include "gtest/gtest.h"

namespace lockstep::controller {
namespace {

// 1,000 operations of 4 KiB in one second, half of them at `fast_ns`, half at twice that.
void AddKind(const std::string& kind, double fast_ns, v1::Report* report,
             std::vector<v1::LatencyHistogram>* phases) {
  v1::WorkloadReport* workload = report->mutable_phases(0)->mutable_workloads(0);
  v1::OperationReport* o = workload->add_operations();
  o->set_kind(kind);
  o->set_operations(1000);
  o->set_iops(1000);
  o->set_bytes(4096000);
  o->set_bytes_per_second(4096000);
  v1::LatencyHistogram h;
  h.set_phase(0);
  h.set_workload("mix");
  h.set_kind(kind);
  h.set_metric("service_time");
  h.set_is_reported(true);
  h.set_min_ns(fast_ns);
  h.set_max_ns(2 * fast_ns);
  h.set_mean_ns(1.5 * fast_ns);
  h.set_bytes(4096000);
  h.set_end_seconds(1);
  for (const double ns : {fast_ns, 2 * fast_ns}) {
    h.add_buckets(common::BucketOf(static_cast<uint64_t>(ns)));
    h.add_counts(500);
  }
  phases->push_back(h);
}

v1::Report OneSecond() {
  v1::Report report;
  report.set_version("1.0");
  v1::PhaseReport* phase = report.add_phases();
  phase->set_name("load");
  phase->set_kind("run");
  phase->set_started_at("2026-11-26T18:00:00Z");
  phase->set_duration_seconds(1);
  phase->set_window_seconds(1);
  phase->set_workers(1);
  v1::WorkloadReport* workload = phase->add_workloads();
  workload->set_name("mix");
  workload->set_engine("sync (pread, pwrite)");
  workload->mutable_settings()->set_block_size_bytes(4096);
  workload->mutable_settings()->set_read_share(0.5);
  workload->mutable_settings()->set_is_random(true);
  workload->mutable_settings()->set_queue_depth(8);
  workload->mutable_settings()->set_threads(2);
  workload->mutable_settings()->set_workers(1);
  return report;
}

bool Has(const std::string& text, const std::string& line) {
  return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

TEST(FioTextTest, AJobHasTheLinesOfFio) {
  v1::Report report = OneSecond();
  std::vector<v1::LatencyHistogram> phases;
  AddKind("read", 100000, &report, &phases);
  AddKind("fsync", 3000000, &report, &phases);
  const std::string text = RenderFioText(report, phases, {});
  for (const char* line :
       {// NOLINTNEXTLINE(bugprone-suspicious-missing-comma)
        "load mix: (g=0): rw=randrw, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, "
        "ioengine=psync, iodepth=8",
        "...", "fio-3.33 (layout; measured by Lockstep 1.0)", "Starting 2 threads",
        "load mix: (groupid=0, jobs=2): err= 0: pid=0: Thu Nov 26 18:00:01 2026",
        "  read: IOPS=1000, BW=4000KiB/s (4096kB/s)(4000KiB/1000msec)",
        "    clat (usec): min=100, max=200, avg=150.00, stdev=49.92",
        "     lat (usec): min=100, max=200, avg=150.00, stdev=49.92",
        "    clat percentiles (usec):", "  lat (usec)   : 100=50.00%, 250=50.00%",
        "  fsync/fdatasync/sync_file_range:", "    sync percentiles (usec):",
        "  IO depths    : 1=0.0%, 2=0.0%, 4=0.0%, 8=0.0%, 16=0.0%, 32=0.0%, >=64=0.0%",
        "     issued rwts: total=1000,0,0,1000 short=0,0,0,0 dropped=0,0,0,0",
        "     latency   : target=0, window=0, percentile=100.00%, depth=8",
        "Run status group 0 (all jobs):",
        "   READ: bw=4000KiB/s (4096kB/s), 4000KiB/s-4000KiB/s (4096kB/s-4096kB/s), io=4000KiB "
        "(4096kB), run=1000-1000msec"}) {
    EXPECT_TRUE(Has(text, line)) << line << "\n" << text;
  }
  // Lines of which nothing is known are not there.
  for (const char* absent :
       {"slat", "  write", "bw (", "iops  ", "Disk stats", "WRITE", "errors", "cpu "}) {
    EXPECT_EQ(text.find(absent), std::string::npos) << absent << "\n" << text;
  }
}

TEST(FioTextTest, SamplesOfIntervalsAreOfTheirDirection) {
  v1::Report report = OneSecond();
  std::vector<v1::LatencyHistogram> phases;
  AddKind("read", 100000, &report, &phases);
  AddKind("write", 100000, &report, &phases);
  std::vector<v1::LatencyHistogram> intervals = {phases[0], phases[0]};
  intervals[1].set_begin_seconds(1);
  intervals[1].set_end_seconds(1.5);
  const std::string text = RenderFioText(report, phases, intervals);
  EXPECT_TRUE(Has(text,
                  "   bw (  KiB/s): min= 4000, max= 8000, per=100.00%, avg=6000.00, "
                  "stdev=2828.43, samples=2"))
      << text;
  EXPECT_TRUE(
      Has(text, "   iops        : min= 1000, max= 2000, avg=1500.00, stdev=707.11, samples=2"))
      << text;
  EXPECT_EQ(text.find("bw ("), text.rfind("bw ("));
}

void AddThreadOf(const std::string& workload, double cpu_ratio, double switches,
                 v1::PhaseReport* phase) {
  v1::ThreadReport* thread = phase->add_threads();
  thread->set_workload(workload);
  thread->set_execution_time_seconds(1);
  thread->set_cpu_ratio(cpu_ratio);
  thread->set_context_switches(switches);
}

// fio's percents are of the summed time of the job's threads.
TEST(FioTextTest, WorkloadsShareTheProcessorTimeByTheirThreads) {
  v1::Report report = OneSecond();
  std::vector<v1::LatencyHistogram> phases;
  AddKind("read", 100000, &report, &phases);
  v1::PhaseReport* phase = report.mutable_phases(0);
  phase->mutable_total()->set_operations(2000);
  phase->mutable_total()->set_iops(2000);
  phase->set_worker_cpu_user_ns_per_io(100000);    // 20 % of a processor
  phase->set_worker_cpu_system_ns_per_io(300000);  // 60 %
  EXPECT_TRUE(Has(RenderFioText(report, phases, {}),
                  "  cpu          : usr=10.00%, sys=30.00%, majf=0, minf=0"));
  // With another workload beside it, of one thread.
  *phase->add_workloads() = phase->workloads(0);
  phase->mutable_workloads(1)->set_name("log");
  phase->mutable_workloads(1)->mutable_settings()->set_threads(1);
  const std::string unknown = RenderFioText(report, phases, {});
  EXPECT_EQ(unknown.find("cpu "), std::string::npos) << unknown;
  AddThreadOf("mix", 0.1, 500, phase);
  AddThreadOf("mix", 0.2, 250, phase);
  AddThreadOf("log", 0.1, 100, phase);
  const std::string text = RenderFioText(report, phases, {});
  EXPECT_TRUE(Has(text, "  cpu          : usr=7.50%, sys=22.50%, ctx=750, majf=0, minf=0")) << text;
  EXPECT_TRUE(Has(text, "  cpu          : usr=5.00%, sys=15.00%, ctx=100, majf=0, minf=0")) << text;
}

TEST(FioTextTest, DisksAndErrorsAreAddedUp) {
  v1::Report report = OneSecond();
  std::vector<v1::LatencyHistogram> phases;
  AddKind("write", 1000, &report, &phases);
  v1::WorkloadReport* workload = report.mutable_phases(0)->mutable_workloads(0);
  workload->mutable_operations(0)->set_errors(3);
  workload->add_errors("Input/output error");
  v1::DeviceReport* device = report.mutable_phases(0)->add_devices();
  device->set_name("sdb");
  device->set_writes_per_second(1000);
  device->set_write_await_ms(2);
  device->set_queue_size(2);
  device->set_busy_ratio(0.5);
  *report.add_phases() = report.phases(0);
  report.mutable_phases(1)->set_index(1);
  report.mutable_phases(1)->mutable_devices(0)->set_busy_ratio(1);
  v1::DeviceReport* unknown = report.mutable_phases(1)->add_devices();
  unknown->set_name("sdc");
  unknown->set_not_rated("the counters are of 25 ms");
  const std::string text = RenderFioText(report, phases, {});
  EXPECT_TRUE(Has(text, "     errors    : total=3, first_error=0/<Input/output error>")) << text;
  EXPECT_TRUE(Has(text, "Run status group 1 (all jobs):")) << text;
  EXPECT_TRUE(Has(text, "  sdb: ios=0/2000, merge=0/0, ticks=0/4000, in_queue=4000, util=75.00%"))
      << text;
  EXPECT_EQ(text.find("sdc"), std::string::npos) << text;
}

// A file of fio with new_group.
TEST(FioTextTest, ALabelDividesAPhaseIntoGroups) {
  v1::Report report = OneSecond();
  std::vector<v1::LatencyHistogram> phases;
  AddKind("read", 100000, &report, &phases);
  for (const char* name : {"second", "third"}) {
    v1::WorkloadReport* workload = report.mutable_phases(0)->add_workloads();
    *workload = report.phases(0).workloads(0);
    workload->set_name(name);
  }
  auto& labels = *report.mutable_run()->mutable_labels();
  labels["fio.groups.load"] = "2,1";
  const std::string text = RenderFioText(report, phases, {});
  for (const char* start : {"load mix: (g=0): ", "load second: (g=0): ", "load third: (g=1): ",
                            "load third: (groupid=1, jobs=2): "}) {
    EXPECT_NE(text.find(start), std::string::npos) << start << "\n" << text;
  }
  EXPECT_TRUE(
      Has(text,
          "Run status group 0 (all jobs):\n   READ: bw=8000KiB/s (8192kB/s), "
          "4000KiB/s-4000KiB/s (4096kB/s-4096kB/s), io=8000KiB (8192kB), run=1000-1000msec"))
      << text;
  EXPECT_TRUE(
      Has(text,
          "Run status group 1 (all jobs):\n   READ: bw=4000KiB/s (4096kB/s), "
          "4000KiB/s-4000KiB/s (4096kB/s-4096kB/s), io=4000KiB (4096kB), run=1000-1000msec"))
      << text;
  // A label that does not fit the phase says nothing.
  for (const char* wrong : {"", "2", "2,2", "3,0", "-1,4", "x,y", "1,1,1,1"}) {
    labels["fio.groups.load"] = wrong;
    const std::string one = RenderFioText(report, phases, {});
    EXPECT_NE(one.find("group 0 "), std::string::npos) << wrong;
    EXPECT_EQ(one.find("group 1 "), std::string::npos) << wrong;
  }
}

// The phases behind go on with the numbers.
TEST(FioTextTest, GroupsAreNumberedThroughAllPhases) {
  v1::Report report = OneSecond();
  *report.mutable_phases(0)->add_workloads() = report.phases(0).workloads(0);
  *report.add_phases() = report.phases(0);
  report.mutable_phases(1)->set_name("next");
  (*report.mutable_run()->mutable_labels())["fio.groups.load"] = "1,1";
  const std::string text = RenderFioText(report, {}, {});
  EXPECT_NE(text.find("next mix: (g=2): "), std::string::npos) << text;
  EXPECT_NE(text.find("Run status group 2 "), std::string::npos) << text;
  EXPECT_EQ(text.find("Run status group 3 "), std::string::npos) << text;
}

TEST(FioTextTest, ARunWithoutLoadHasNoText) {
  v1::Report report;
  report.add_phases()->set_kind("prepare");
  EXPECT_EQ(RenderFioText(report, {}, {}), "");
}

}  // namespace
}  // namespace lockstep::controller
