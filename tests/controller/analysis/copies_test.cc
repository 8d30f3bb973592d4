// Copies: what their devices saw, what limited them, and whether they are complete.

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/controller/analysis/stored_phases.h"

namespace lockstep::controller {
namespace {

// Each of two workers copies from sda to sdb.
Stored Copying() {
  Stored data = TwoWorkers();
  v1::JobSpec& job = data.run.job;
  v1::Target* to = job.add_targets();
  to->set_name("u");
  to->mutable_file()->set_size_bytes(1 << 20);
  v1::Workload* w = job.mutable_phases(0)->mutable_run()->mutable_workloads(0);
  w->clear_read_ratio();
  w->mutable_copy()->set_from("t");
  w->mutable_copy()->set_to("u");
  w->add_targets("u");
  data.phases[0].phase.spec = job.phases(0);
  for (uint32_t i = 0; i < 2; ++i) {
    v1::TargetInspection* found = data.workers[i].inspection.add_targets();
    found->set_target(1);
    found->set_device_name("sdb");
    v1::WorkloadResult* result = data.phases[0].workers[i].result.mutable_workloads(0);
    *result->add_measured() = Counters(
        v1::OPERATION_KIND_WRITE, std::vector<uint64_t>(result->measured(0).operations(), 700000));
    result->set_uncopied_blocks(1 + i);
  }
  for (v1::IntervalSample& interval : data.intervals[0]) {
    v1::DeviceSample* d = interval.add_devices();
    d->set_name("sdb");
    d->set_writes(400);
    d->set_write_bytes(uint64_t{400} * 4096);
  }
  return data;
}

TEST(CopyReportTest, ReadsAreOfTheSourcesDeviceAndWritesOfTheOther) {
  constexpr double kCopied = 1200.0 * 4096;
  const v1::PhaseReport phase = ReportOf(Copying()).phases(0);
  ASSERT_EQ(phase.devices_size(), 2);
  for (const v1::DeviceReport& d : phase.devices()) {
    const bool is_source = d.name() == "sda";
    EXPECT_DOUBLE_EQ(d.engine_read_bytes(), is_source ? kCopied : 0) << d.name();
    EXPECT_DOUBLE_EQ(d.engine_write_bytes(), is_source ? 0 : kCopied) << d.name();
    EXPECT_EQ(d.cross_check().verdict(), v1::CrossCheck::VERDICT_AGREE)
        << d.name() << ": " << d.cross_check().reason();
  }
}

TEST(CopyReportTest, ACopyIsNamedAndSaysWhatItLeftOut) {
  const v1::WorkloadReport w = ReportOf(Copying()).phases(0).workloads(0);
  EXPECT_TRUE(absl::StrContains(w.summary(), "sequential 4 KiB copy of t to u")) << w.summary();
  EXPECT_DOUBLE_EQ(w.settings().read_share(), 0.5);
  EXPECT_EQ(w.notes_size(), 0);
  EXPECT_DOUBLE_EQ(w.copy().blocks(), 1203);
  EXPECT_EQ(w.copy().sentence(), "copy incomplete: 3 of 1,203 blocks were not copied");
  EXPECT_EQ(w.copy().cause(), "the load ended first");
}

// Each thread waits for all of its time, with a full queue of one. Reads and writes take as long as
// is said, and the devices' requests a millisecond less, or nothing.
Stored CopyingSlowly(uint64_t read_ns, uint64_t write_ns) {
  Stored data = Copying();
  for (measure::WorkerPhaseData& worker : data.phases[0].workers) {
    v1::WorkloadResult* result = worker.result.mutable_workloads(0);
    for (v1::OperationCounters& counters : *result->mutable_measured()) {
      const bool is_read = counters.kind() == v1::OPERATION_KIND_READ;
      counters = Counters(counters.kind(), std::vector<uint64_t>(counters.operations(),
                                                                 is_read ? read_ns : write_ns));
    }
    const uint64_t blocks = result->measured(0).operations();
    v1::ThreadResult* thread = worker.result.mutable_threads(0);
    thread->set_wait_time_ns(static_cast<int64_t>(blocks * (read_ns + write_ns)));
    thread->set_execution_time_ns(thread->wait_time_ns());
  }
  for (v1::IntervalSample& interval : data.intervals[0]) {
    for (v1::DeviceSample& d : *interval.mutable_devices()) {
      // 300 µs each.
      d.set_read_time_ms(d.reads() * 3 / 10);
      d.set_write_time_ms(d.writes() * 3 / 10);
    }
  }
  for (v1::PhaseSpec* spec : {data.run.job.mutable_phases(0), &data.phases[0].phase.spec}) {
    spec->mutable_run()->mutable_workloads(0)->set_queue_depth(16);
    spec->mutable_run()->mutable_workloads(0)->set_threads(1);
  }
  return data;
}

v1::WorkloadReport CopyOf(const Stored& data) { return ReportOf(data).phases(0).workloads(0); }

// A slow source is not measured by the destination's device.
TEST(CopyLimitTest, ASourceWithoutADeviceIsNotJudgedByTheOther) {
  Stored data = CopyingSlowly(20000000, 330000);
  for (measure::RunWorker& worker : data.workers) {
    worker.inspection.mutable_targets(0)->clear_device_name();
    worker.inspection.mutable_targets(0)->set_filesystem("fuse");
  }
  const v1::WorkloadReport w = CopyOf(data);
  EXPECT_EQ(w.limited_by(), "not clear") << w.limited_because();
  EXPECT_TRUE(absl::StartsWith(w.limited_because(), "its reads of t took 98 % of its I/Os' time"))
      << w.limited_because();
  EXPECT_TRUE(absl::StrContains(w.limited_because(), "the target lies on fuse"))
      << w.limited_because();
}

TEST(CopyLimitTest, TheSideThatTakesTheTimeIsNamedWithItsOwnDevice) {
  v1::WorkloadReport w = CopyOf(CopyingSlowly(20000000, 330000));
  EXPECT_EQ(w.limited_by(), "above the device") << w.limited_because();
  EXPECT_TRUE(absl::StartsWith(w.limited_because(),
                               "its reads of t took 98 % of its I/Os' time (20 ms each, its writes "
                               "of u 330 µs); its I/Os took 20 ms on average"))
      << w.limited_because();
  w = CopyOf(CopyingSlowly(330000, 20000000));
  EXPECT_TRUE(absl::StartsWith(w.limited_because(), "its writes of u took 98 % of its I/Os' time"))
      << w.limited_because();
  w = CopyOf(CopyingSlowly(5000000, 5000000));
  EXPECT_EQ(w.limited_by(), "not clear");
  EXPECT_TRUE(absl::StrContains(w.limited_because(), "which side limits it is not known"))
      << w.limited_because();
}

TEST(CopyLimitTest, RequestsOfOthersDoNotTellWhereItWaits) {
  Stored data = CopyingSlowly(20000000, 330000);
  for (v1::IntervalSample& interval : data.intervals[0]) {
    for (v1::DeviceSample& d : *interval.mutable_devices()) {
      d.set_reads(d.reads() * 3);
      d.set_read_time_ms(d.read_time_ms() * 3);
    }
  }
  const v1::WorkloadReport w = CopyOf(data);
  EXPECT_NE(w.limited_by(), "above the device") << w.limited_because();
  EXPECT_NE(w.limited_by(), "device") << w.limited_because();
}

// Buffered writes take part of the time. The I/Os that took most of it never completed.
TEST(CopyLimitTest, IosThatHangAreNotThePageCache) {
  Stored data = CopyingSlowly(300000, 700000);
  for (v1::PhaseSpec* spec : {data.run.job.mutable_phases(0), &data.phases[0].phase.spec}) {
    spec->mutable_run()->mutable_workloads(0)->set_direct(false);
  }
  EXPECT_EQ(CopyOf(data).limited_by(), "page cache") << CopyOf(data).limited_because();
  for (measure::WorkerPhaseData& worker : data.phases[0].workers) {
    v1::ThreadResult* thread = worker.result.mutable_threads(0);
    thread->set_wait_time_ns(4 * thread->wait_time_ns());
  }
  const v1::WorkloadReport w = CopyOf(data);
  EXPECT_EQ(w.limited_by(), "not clear");
  EXPECT_EQ(
      w.limited_because(),
      "I/Os that did not complete took 75 % of the time that the threads waited: whether t or "
      "u kept them is not known");
}

TEST(CopyReportTest, ACopySaysWhyItIsIncomplete) {
  Stored data = Copying();
  for (measure::WorkerPhaseData& worker : data.phases[0].workers) {
    v1::WorkloadResult* result = worker.result.mutable_workloads(0);
    result->set_ended_ns(3000000000);
    result->mutable_measured(0)->set_errors(1);
  }
  EXPECT_EQ(ReportOf(data).phases(0).workloads(0).copy().cause(), "a read or a write failed");
  data.phases[0].workers[0].result.mutable_workloads(0)->mutable_verification()->set_corrupt(1);
  EXPECT_EQ(ReportOf(data).phases(0).workloads(0).copy().cause(),
            "a read or a write failed, a check did not pass");
  for (measure::WorkerPhaseData& worker : data.phases[0].workers) {
    worker.result.mutable_workloads(0)->clear_uncopied_blocks();
  }
  EXPECT_EQ(ReportOf(data).phases(0).workloads(0).copy().sentence(), "");
}

TEST(CopyReportTest, ACompleteCopyCanBeRequired) {
  Stored data = Copying();
  const auto met = [&] {
    for (v1::PhaseSpec* spec : {data.run.job.mutable_phases(0), &data.phases[0].phase.spec}) {
      spec->mutable_run()->clear_expect();
      spec->mutable_run()->mutable_expect()->set_complete_copy(true);
    }
    return ReportOf(data).expectations_met();
  };
  EXPECT_FALSE(met());
  EXPECT_EQ(ReportOf(data).phases(0).expectations(0).found(), "3");
  for (measure::WorkerPhaseData& worker : data.phases[0].workers) {
    worker.result.mutable_workloads(0)->clear_uncopied_blocks();
  }
  EXPECT_TRUE(met());
}

}  // namespace
}  // namespace lockstep::controller
