#include "absl/strings/match.h"
#include "controller/analysis/limit_names.h"
#include "controller/analysis/sweep_remarks.h"
#include "controller/report/host_figures.h"
#include "controller/report/sweep_text.h"
#include "tests/controller/analysis/stored_phases.h"

namespace lockstep::controller {
namespace {

v1::SweepReport SweepOver(const std::string& field, const std::vector<std::string>& values) {
  v1::SweepReport sweep;
  v1::SweepAxisReport* axis = sweep.add_axes();
  axis->set_field(field);
  for (uint32_t i = 0; i < values.size(); ++i) {
    axis->add_values(values[i]);
    v1::SweepPointReport* point = sweep.add_points();
    point->add_indices(i);
    point->set_runs(1);
  }
  return sweep;
}

v1::TimeSpent* SpentAt(v1::SweepReport* sweep, int point) {
  return sweep->mutable_points(point)->mutable_time_spent();
}

TEST(TimeSpentTest, PointsWithMostAndLeastContextSwitchesAreNamed) {
  v1::SweepReport sweep = SweepOver("targets.data.file.count", {"128", "16", "1"});
  const struct { double per_second, per_io; } kPoints[] = {{24800, 7.1}, {12000, 2.5}, {8500, 1.4}};
  for (int p = 0; p < 3; ++p) {
    SpentAt(&sweep, p)->set_context_switches_per_second(kPoints[p].per_second);
    SpentAt(&sweep, p)->set_context_switches_per_io(kPoints[p].per_io);
  }
  AddSweepRemarks(&sweep);
  ASSERT_EQ(sweep.remarks_size(), 1);
  EXPECT_EQ(sweep.remarks(0),
            "128 files: 24,800 context switches/s, 7.1 per I/O; one file: 8,500, 1.4");
}

TEST(TimeSpentTest, PointsThatAreAlikeOrUnknownHaveNoSentence) {
  v1::SweepReport sweep = SweepOver("threads", {"1", "2", "4"});
  AddSweepRemarks(&sweep);
  EXPECT_TRUE(sweep.remarks().empty());
  SpentAt(&sweep, 0)->set_context_switches_per_io(2);
  SpentAt(&sweep, 1)->set_context_switches_per_io(2.8);
  // A point without a whole run has no figures that count.
  SpentAt(&sweep, 2)->set_context_switches_per_io(50);
  sweep.mutable_points(2)->set_runs(0);
  AddSweepRemarks(&sweep);
  EXPECT_TRUE(sweep.remarks().empty());
}

TEST(TimeSpentTest, TimeInFsyncIsNamedWhereItDiffers) {
  v1::SweepReport sweep = SweepOver("fsync", {"1", "100"});
  SpentAt(&sweep, 0)->set_fsync_ratio(0.71);
  SpentAt(&sweep, 1)->set_fsync_ratio(0.12);
  AddSweepRemarks(&sweep);
  ASSERT_EQ(sweep.remarks_size(), 1);
  EXPECT_EQ(sweep.remarks(0),
            "fsync=1: the threads spent 71 % of their time in fsync; fsync=100: 12 %");
}

TEST(TimeSpentTest, TimeInFsyncIsSaidWhereAllPointsSpendIt) {
  v1::SweepReport sweep = SweepOver("threads", {"1", "16"});
  SpentAt(&sweep, 0)->set_fsync_ratio(0.84);
  SpentAt(&sweep, 1)->set_fsync_ratio(0.91);
  AddSweepRemarks(&sweep);
  ASSERT_EQ(sweep.remarks_size(), 1);
  EXPECT_EQ(sweep.remarks(0),
            "at every point the threads spent 84 to 91 % of their time in fsync, which no latency "
            "of an I/O shows");
  sweep.clear_remarks();
  SpentAt(&sweep, 0)->set_fsync_ratio(0.41);
  SpentAt(&sweep, 1)->set_fsync_ratio(0.44);
  AddSweepRemarks(&sweep);
  EXPECT_TRUE(sweep.remarks().empty());
}

// A run of each point, in which one device was busy for 99 % of the time.
google::protobuf::RepeatedPtrField<v1::PhaseReport> BusyPhases(v1::SweepReport* sweep) {
  google::protobuf::RepeatedPtrField<v1::PhaseReport> phases;
  for (uint32_t i = 0; i < static_cast<uint32_t>(sweep->points_size()); ++i) {
    v1::PhaseReport* phase = phases.Add();
    phase->set_index(10 + i);
    sweep->mutable_points(static_cast<int>(i))->add_phases(10 + i);
    v1::DeviceReport* device = phase->add_devices();
    device->set_name("sda");
    device->set_engine_read_bytes(1 << 20);
    device->set_busy_ratio(0.99);
  }
  return phases;
}

// What the device of each phase moved, in MiB per second.
void SetMoved(const std::vector<double>& rates,
              google::protobuf::RepeatedPtrField<v1::PhaseReport>* phases) {
  for (size_t i = 0; i < rates.size(); ++i) {
    v1::DeviceReport* device = phases->Mutable(static_cast<int>(i))->mutable_devices(0);
    device->set_read_bytes_per_second(rates[i] * (1 << 20));
    device->set_write_bytes_per_second(0);
  }
}

TEST(TimeSpentTest, BusyAllTheTimeIsNotFull) {
  v1::SweepReport sweep = SweepOver("block_size", {"16KiB", "32KiB", "64KiB"});
  auto phases = BusyPhases(&sweep);
  SetMoved({45, 59, 50}, &phases);
  AddBusyRemark(phases, &sweep);
  ASSERT_EQ(sweep.remarks_size(), 1);
  EXPECT_EQ(sweep.remarks(0),
            "block_size=16KiB: sda was busy for 99 % of the time, at 45.0 MiB/s; block_size=32KiB: "
            "for 99 %, at 59.0 MiB/s. A device that is busy all the time can still do more");
}

// Returns the only remark, and removes it.
std::string BusyRemark(const google::protobuf::RepeatedPtrField<v1::PhaseReport>& phases,
                       v1::SweepReport* sweep) {
  sweep->clear_remarks();
  AddBusyRemark(phases, sweep);
  return sweep->remarks_size() == 1 ? sweep->remarks(0) : "";
}

TEST(TimeSpentTest, ADeviceThatIsBusyForAPartOfTheTimeIsComparedByThatPart) {
  v1::SweepReport sweep = SweepOver("block_size", {"4KiB", "64KiB"});
  auto phases = BusyPhases(&sweep);
  // The busy point alone is enough: at the other one the device did more in less time.
  SetMoved({45, 90}, &phases);
  phases[1].mutable_devices(0)->set_busy_ratio(0.6);
  EXPECT_EQ(BusyRemark(phases, &sweep),
            "block_size=4KiB: sda was busy for 99 % of the time, at 45.0 MiB/s; block_size=64KiB: "
            "for 60 %, at 90.0 MiB/s. A device that is busy all the time can still do more");
  phases[0].mutable_devices(0)->set_busy_ratio(0.75);
  EXPECT_EQ(BusyRemark(phases, &sweep),
            "block_size=4KiB: sda was busy for 75 % of the time, at 45.0 MiB/s; block_size=64KiB: "
            "for 60 %, at 90.0 MiB/s. If \"busy\" were the share of what it can do, 60.0 MiB/s "
            "would be all");
  // At 60 % of the time for 45 MiB/s, 75 MiB/s would be all: 90 is less than a quarter beyond it.
  phases[0].mutable_devices(0)->set_busy_ratio(0.6);
  EXPECT_TRUE(absl::StrContains(BusyRemark(phases, &sweep),
                                "Whether a busy device can do more is not shown: no point moved "
                                "clearly more"))
      << BusyRemark(phases, &sweep);
}

// Bytes of other programs keep a device busy, too: the load's own rate says nothing of its limit.
TEST(TimeSpentTest, WhatTheDeviceMovedIsComparedNotTheLoad) {
  v1::SweepReport sweep = SweepOver("threads", {"1", "8"});
  auto phases = BusyPhases(&sweep);
  sweep.mutable_points(0)->set_bytes_per_second(45 << 20);
  sweep.mutable_points(1)->set_bytes_per_second(90 << 20);
  SetMoved({91, 92}, &phases);
  EXPECT_EQ(BusyRemark(phases, &sweep), "");
}

TEST(TimeSpentTest, WhatKeepsASweepFromShowingABusyDeviceIsSaid) {
  v1::SweepReport sweep = SweepOver("block_size", {"4KiB", "64KiB"});
  auto phases = BusyPhases(&sweep);
  SetMoved({20, 300}, &phases);
  phases[0].mutable_devices(0)->set_busy_ratio(0.01);
  phases[1].mutable_devices(0)->set_busy_ratio(0.02);
  EXPECT_EQ(BusyRemark(phases, &sweep),
            "block_size=4KiB: sda was busy for 1 % of the time, at 20.0 MiB/s; block_size=64KiB: "
            "for 2 %, at 300 MiB/s. Whether a busy device can do more is not shown: no point "
            "kept it busy for half of the time. A greater queue_depth or more threads may, if the "
            "processors have time for them");
  // A second run of the small blocks moved as much as the large ones.
  phases[0].mutable_devices(0)->set_busy_ratio(0.99);
  *phases.Add() = phases[0];
  *phases.Add() = phases[0];
  phases[2].set_index(20);
  phases[3].set_index(21);
  phases[3].mutable_devices(0)->set_read_bytes_per_second(310 << 20);
  sweep.mutable_points(0)->add_phases(20);
  sweep.mutable_points(0)->add_phases(21);
  EXPECT_TRUE(absl::StrContains(BusyRemark(phases, &sweep), "runs of one point differ too much"))
      << BusyRemark(phases, &sweep);
  // An axis of another kind asks nothing of that.
  sweep.mutable_axes(0)->set_field("threads");
  EXPECT_EQ(BusyRemark(phases, &sweep), "");
}

TEST(TimeSpentTest, OfTwoDevicesOrUnknownFiguresNothingFollows) {
  v1::SweepReport sweep = SweepOver("block_size", {"16KiB", "32KiB"});
  auto phases = BusyPhases(&sweep);
  SetMoved({45, 90}, &phases);
  phases[1].mutable_devices(0)->clear_busy_ratio();
  AddBusyRemark(phases, &sweep);
  EXPECT_TRUE(sweep.remarks().empty()) << "of one point it is not known";
  phases[1].mutable_devices(0)->set_busy_ratio(0.99);
  v1::DeviceReport* second = phases[1].add_devices();
  *second = phases[1].devices(0);
  second->set_name("sdb");
  AddBusyRemark(phases, &sweep);
  EXPECT_TRUE(sweep.remarks().empty()) << "two devices share the load";
}

TEST(TimeSpentTest, TheTableHasADashWhereAFigureIsNotKnown) {
  v1::SweepReport sweep = SweepOver("threads", {"1", "2"});
  EXPECT_EQ(RenderTimeSpent(sweep, 100), "");
  SpentAt(&sweep, 1)->set_context_switches_per_io(2.5);
  SpentAt(&sweep, 1)->set_wait_ratio(0.97);
  sweep.mutable_points(1)->set_limited_by("queue depth");
  const std::string table = RenderTimeSpent(sweep, 100);
  EXPECT_NE(table.find("where the time went"), std::string::npos);
  EXPECT_NE(table.find("97 %"), std::string::npos) << table;
  EXPECT_NE(table.find("–"), std::string::npos) << table;
  EXPECT_NE(table.find("queue depth"), std::string::npos) << table;
}

TEST(TimeSpentTest, OfAPhaseOnlyWhatIsKnownIsSaid) {
  v1::TimeSpent spent;
  EXPECT_EQ(TimeSpentText(spent), "");
  spent.set_context_switches_per_second(24800);
  spent.set_context_switches_per_io(7.1);
  spent.set_amplification(1.5);
  EXPECT_EQ(TimeSpentText(spent), "cs/s 24,800, cs per I/O 7.1, amplification 1.50");
  spent.set_wait_ratio(0.5);
  spent.set_fsync_ratio(0.2);
  spent.set_rate_ratio(0.1);
  spent.set_think_ratio(0.1);
  EXPECT_NE(TimeSpentText(spent).find("in I/O 50 %, in fsync 20 %, waiting 20 %"),
            std::string::npos);
}

// Two workers on one kernel and one device, with 1,200 I/Os of 4 KiB in three seconds.
Stored WithDrain() {
  Stored data = TwoWorkers();
  for (v1::IntervalSample& interval : data.intervals[0]) {
    interval.mutable_host()->set_interrupts(200);
  }
  v1::IntervalSample drain;
  drain.set_interval(3);
  drain.set_interval_class(v1::INTERVAL_CLASS_DRAIN);
  drain.set_begin_ns(3000000000);
  drain.set_end_ns(4000000000);
  drain.add_devices()->set_name("sda");
  drain.mutable_devices(0)->set_read_bytes(1 << 30);
  drain.mutable_host()->set_context_switches(1000000);
  drain.mutable_host()->set_interrupts(1000000);
  data.intervals[0].push_back(drain);
  for (measure::WorkerPhaseData& worker : data.phases[0].workers) {
    worker.result.mutable_threads(0)->set_voluntary_context_switches(500);
    worker.result.mutable_threads(0)->set_involuntary_context_switches(100);
    worker.result.set_cpu_user_ns(600000);
    worker.result.set_cpu_system_ns(1200000);
    worker.result.set_usage_is_measured(true);
  }
  return data;
}

TEST(TimeSpentTest, TheDrainIsInNoFigure) {
  const v1::TimeSpent spent = ReportOf(WithDrain()).phases(0).time_spent();
  EXPECT_DOUBLE_EQ(spent.context_switches_per_second(), 800);
  EXPECT_DOUBLE_EQ(spent.context_switches_per_io(), 2);
  EXPECT_DOUBLE_EQ(spent.interrupts_per_second(), 200);
  EXPECT_DOUBLE_EQ(spent.interrupts_per_io(), 0.5);
  EXPECT_DOUBLE_EQ(spent.thread_switches_per_io(), 1);
  EXPECT_DOUBLE_EQ(spent.amplification(), 1);
  // Its host counts no processor time, which nobody does I/O without.
  EXPECT_FALSE(spent.has_cpu_ns_per_io());
}

TEST(TimeSpentTest, UsageWithRampAndDrainIsNotDividedByMeasuredIos) {
  Stored data = WithDrain();
  v1::PhaseReport phase = ReportOf(data).phases(0);
  EXPECT_DOUBLE_EQ(phase.worker_cpu_user_ns_per_io(), 1000);
  EXPECT_EQ(RenderPerIo(phase, phase.kernels(0)),
            "2.00 context switches, 0.50 interrupts; workers alone 1 µs user + 2 µs system");
  // A worker of an earlier version among others.
  data.phases[0].workers[1].result.clear_usage_is_measured();
  phase = ReportOf(data).phases(0);
  EXPECT_FALSE(phase.has_worker_cpu_user_ns_per_io());
  EXPECT_FALSE(phase.has_worker_cpu_system_ns_per_io());
  EXPECT_FALSE(phase.time_spent().has_thread_switches_per_io());
  EXPECT_DOUBLE_EQ(phase.time_spent().context_switches_per_io(), 2) << "the kernel's are measured";
  EXPECT_EQ(RenderPerIo(phase, phase.kernels(0)), "2.00 context switches, 0.50 interrupts");
}

// In each second, host h has 100 I/Os or 300, and its kernel so many context switches.
Stored UnevenKernels() {
  Stored data = FourHosts([](uint32_t h, uint32_t) { return h == 0 ? 100 : 300; });
  for (auto& [host, samples] : data.intervals) {
    for (v1::IntervalSample& sample : samples) {
      sample.mutable_host()->set_context_switches(host == 0 ? 100 : 600);
      sample.mutable_host()->set_interrupts(host == 0 ? 0 : 150);
    }
  }
  return data;
}

TEST(TimeSpentTest, AKernelThatCountsNothingIsInNoMean) {
  const v1::PhaseReport phase = ReportOf(UnevenKernels()).phases(0);
  ASSERT_EQ(phase.kernels_size(), 4);
  EXPECT_FALSE(phase.kernels(0).has_interrupts_per_io());
  EXPECT_DOUBLE_EQ(phase.time_spent().interrupts_per_io(), 0.5);
  EXPECT_FALSE(phase.time_spent().has_interrupts_per_second()) << "the sum lacks a kernel";
  EXPECT_DOUBLE_EQ(phase.time_spent().context_switches_per_second(), 1900);
}

TEST(TimeSpentTest, EachKernelCountsByItsOwnIosWhateverItsHostsName) {
  Stored data = UnevenKernels();
  for (measure::RunWorker& worker : data.workers) worker.host = "localhost";
  EXPECT_NEAR(ReportOf(data).phases(0).time_spent().context_switches_per_io(), 1.9, 1e-9);
}

TEST(TimeSpentTest, AKernelThatTwoWorkersSampleCountsOnce) {
  Stored data = TwoWorkers();
  for (v1::IntervalSample& sample : data.intervals[1]) {
    sample.mutable_host()->set_context_switches(800);
  }
  const v1::PhaseReport phase = ReportOf(data).phases(0);
  ASSERT_EQ(phase.kernels_size(), 1);
  EXPECT_EQ(phase.kernels(0).hosts_size(), 2);
  EXPECT_DOUBLE_EQ(phase.time_spent().context_switches_per_second(), 800);
}

TEST(TimeSpentTest, BytesOfOthersGiveNoAmplification) {
  Stored data = TwoWorkers();
  const auto spent = [&] { return ReportOf(data).phases(0).time_spent(); };
  ASSERT_DOUBLE_EQ(spent().amplification(), 1);
  // A small part of what the device moved changes little.
  v1::ProcessIo* process = data.phases[0].workers[0].result.add_others();
  process->set_command("dd");
  process->set_read_bytes(4096);
  EXPECT_DOUBLE_EQ(spent().amplification(), 1);
  process->set_read_bytes(uint64_t{4096} * 1000);
  EXPECT_FALSE(spent().has_amplification());
  // Those that have ended are not in /proc. The kernel counts less for the workers then.
  data.phases[0].workers[0].result.clear_others();
  for (measure::WorkerPhaseData& worker : data.phases[0].workers) {
    worker.result.set_own_read_bytes(uint64_t{4096} * 1000000);
  }
  EXPECT_DOUBLE_EQ(spent().amplification(), 1);
  for (measure::WorkerPhaseData& worker : data.phases[0].workers) {
    worker.result.set_own_read_bytes(uint64_t{4096} * 100);
  }
  EXPECT_FALSE(spent().has_amplification());
}

TEST(TimeSpentTest, BytesThatHaveNoCounterpartGiveNoAmplification) {
  Stored data = WithDrain();
  data.phases[0].workers[1].has_result = false;
  EXPECT_FALSE(ReportOf(data).phases(0).time_spent().has_amplification());
  // The second worker's target lies in memory: its bytes are no device's.
  data = WithDrain();
  data.workers[1].inspection.mutable_targets(0)->clear_device_name();
  EXPECT_DOUBLE_EQ(ReportOf(data).phases(0).time_spent().amplification(), 4);
  // A workload of which a part lies there.
  data = WithDrain();
  data.run.job.add_targets()->set_name("u");
  for (v1::RunPhase* run :
       {data.run.job.mutable_phases(0)->mutable_run(), data.phases[0].phase.spec.mutable_run()}) {
    run->mutable_workloads(0)->add_targets("u");
  }
  data.workers[0].inspection.add_targets()->set_target(1);
  EXPECT_FALSE(ReportOf(data).phases(0).time_spent().has_amplification());
}

TEST(LimitNamesTest, TheMostFrequentLimitIsTheFirst) {
  EXPECT_EQ(LimitNames({}), "");
  EXPECT_EQ(LimitNames({"", "device", ""}), "device");
  EXPECT_EQ(LimitNames({"device", "rate", "queue depth", "rate"}), "rate or device or queue depth");
}

}  // namespace
}  // namespace lockstep::controller
