// The limits of devices in a run's report, and which requests are similar.

#include "controller/analysis/measured_limits.h"

#include "gtest/gtest.h"

namespace lockstep::controller {
namespace {

// A phase on one device: so many reads and writes per second, of 8 KiB.
v1::PhaseReport* AddLoad(const std::string& name, double reads, double writes, v1::Report* report) {
  v1::PhaseReport* phase = report->add_phases();
  phase->set_name(name);
  phase->set_kind("run");
  phase->set_state("done");
  phase->set_started_at("2026-11-12T08:00:00Z");
  phase->mutable_total()->set_iops(reads + writes);
  v1::WorkloadReport* workload = phase->add_workloads();
  workload->set_limited_by("queue depth");
  v1::KernelReport* kernel = phase->add_kernels();
  kernel->set_boot_id("boot");
  kernel->add_hosts("a");
  kernel->add_workers(0);
  v1::DeviceReport* device = phase->add_devices();
  device->add_hosts("a");
  device->add_workers(0);
  device->set_name("sda");
  device->set_identity("naa.600");
  device->set_reads_per_second(reads);
  device->set_read_bytes_per_second(reads * 8192);
  device->set_writes_per_second(writes);
  device->set_write_bytes_per_second(writes * 8192);
  device->set_engine_iops(reads + writes);
  device->mutable_cross_check()->set_verdict(v1::CrossCheck::VERDICT_AGREE);
  return phase;
}

// The same at a rate, with a p99.
v1::PhaseReport* AddRate(const std::string& name, double reads, double p99_ns, v1::Report* report) {
  v1::PhaseReport* phase = AddLoad(name, reads, 0, report);
  phase->mutable_workloads(0)->set_limited_by("rate");
  phase->mutable_workloads(0)->set_due_per_second(reads);
  v1::Percentile* p99 = phase->mutable_total()->add_percentiles();
  p99->set_percent(99);
  p99->set_latency_ns(p99_ns);
  return phase;
}

TEST(MeasuredLimits, ThePhaseWithMostRequestsIsTheLimit) {
  v1::Report report;
  AddLoad("shallow", 800, 0, &report);
  AddLoad("deep", 1000, 0, &report);
  AddLoad("mix", 300, 300, &report);
  const auto limits = LimitsOf(report);
  ASSERT_TRUE(limits.ok()) << limits.status();
  ASSERT_EQ(limits->size(), 2u);
  const v1::MeasuredLimit& reads = (*limits)[0];
  EXPECT_EQ(reads.phase(), "deep");
  EXPECT_EQ(reads.device_key(), "naa.600");
  EXPECT_EQ(reads.identity(), "naa.600");
  EXPECT_EQ(reads.measured_at(), "2026-11-12T08:00:00Z");
  EXPECT_DOUBLE_EQ(reads.iops(), 1000);
  EXPECT_DOUBLE_EQ(reads.read_ratio(), 1);
  EXPECT_DOUBLE_EQ(reads.read_request_bytes(), 8192);
  EXPECT_DOUBLE_EQ(reads.write_request_bytes(), 0);
  EXPECT_EQ(reads.limited_by(), "queue depth");
  EXPECT_TRUE(reads.latencies().empty());
  EXPECT_EQ((*limits)[1].phase(), "mix");
}

TEST(MeasuredLimits, LatenciesAreThoseOfRatesNearSixtyAndNinetyPercent) {
  v1::Report report;
  AddLoad("most", 1000, 0, &report);
  AddRate("30 %", 300, 1e5, &report);
  AddRate("58 %", 580, 2e5, &report);
  AddRate("64 %", 640, 3e5, &report);
  AddRate("90 %", 900, 4e5, &report);
  const auto limits = LimitsOf(report);
  ASSERT_TRUE(limits.ok()) << limits.status();
  ASSERT_EQ(limits->size(), 1u);
  ASSERT_EQ((*limits)[0].latencies_size(), 2);
  EXPECT_DOUBLE_EQ((*limits)[0].latencies(0).share(), 0.58);
  EXPECT_DOUBLE_EQ((*limits)[0].latencies(0).p99_ns(), 2e5);
  EXPECT_DOUBLE_EQ((*limits)[0].latencies(1).share(), 0.9);
  EXPECT_DOUBLE_EQ((*limits)[0].latencies(1).p99_ns(), 4e5);
}

TEST(MeasuredLimits, ALatencyOfTheCacheOrOfOtherDevicesIsLeftOut) {
  v1::Report report;
  AddLoad("most", 1000, 0, &report);
  AddRate("cached", 600, 1e5, &report)
      ->mutable_devices(0)
      ->mutable_cross_check()
      ->set_verdict(v1::CrossCheck::VERDICT_PAGE_CACHE);
  AddRate("elsewhere", 900, 1e5, &report)->mutable_devices(0)->set_engine_iops(500);
  const auto limits = LimitsOf(report);
  ASSERT_TRUE(limits.ok()) << limits.status();
  EXPECT_TRUE((*limits)[0].latencies().empty());
}

TEST(MeasuredLimits, ARunThatWasHeldToRatesShowsNone) {
  v1::Report report;
  AddRate("30 %", 300, 1e5, &report);
  const auto limits = LimitsOf(report);
  EXPECT_NE(limits.status().message().find("held to a rate"), std::string::npos);
}

TEST(MeasuredLimits, PhasesWhoseFiguresDoNotCountAreLeftOut) {
  v1::Report report;
  AddLoad("lost", 100, 0, &report)->set_workers_lost(1);
  AddLoad("invalid", 100, 0, &report)->set_invalid(true);
  AddLoad("aborted", 100, 0, &report)->set_state("aborted");
  AddLoad("filled", 0, 100, &report)->set_kind("precondition");
  AddLoad("nameless", 100, 0, &report)->mutable_devices(0)->clear_identity();
  const auto limits = LimitsOf(report);
  EXPECT_NE(limits.status().message().find("no whole run phase"), std::string::npos);
}

TEST(MeasuredLimits, HostsThatShareALunAreAddedUp) {
  v1::Report report;
  v1::PhaseReport* phase = AddLoad("deep", 1000, 0, &report);
  v1::KernelReport* kernel = phase->add_kernels();
  kernel->set_boot_id("other");
  kernel->add_hosts("b");
  kernel->add_workers(1);
  *phase->add_devices() = phase->devices(0);
  phase->mutable_devices(1)->set_hosts(0, "b");
  phase->mutable_devices(1)->set_workers(0, 1);
  // The requests of a device underneath are counted already.
  *phase->add_devices() = phase->devices(0);
  phase->mutable_devices(2)->set_nested(true);
  const auto limits = LimitsOf(report);
  ASSERT_TRUE(limits.ok()) << limits.status();
  ASSERT_EQ(limits->size(), 1u);
  EXPECT_DOUBLE_EQ((*limits)[0].iops(), 2000);
}

TEST(MeasuredLimits, WhatLiesUnderneathTheTargetsDeviceHasNone) {
  v1::Report report;
  v1::PhaseReport* phase = AddLoad("deep", 1000, 0, &report);
  *phase->add_devices() = phase->devices(0);
  v1::DeviceReport* disk = phase->mutable_devices(1);
  disk->set_name("sdb");
  disk->set_identity("naa.601");
  disk->set_nested(true);
  disk->clear_engine_iops();
  disk->clear_cross_check();
  const auto limits = LimitsOf(report);
  ASSERT_TRUE(limits.ok()) << limits.status();
  ASSERT_EQ(limits->size(), 1u);
  EXPECT_EQ((*limits)[0].identity(), "naa.600");
}

TEST(MeasuredLimits, ADeviceOfOneKernelIsKnownByItsBoot) {
  v1::Report report;
  AddLoad("deep", 1000, 0, &report)->mutable_devices(0)->set_identity("loop-file:1-2-part3");
  const auto limits = LimitsOf(report);
  ASSERT_TRUE(limits.ok()) << limits.status();
  EXPECT_EQ((*limits)[0].device_key(), "boot/loop-file:1-2");
  EXPECT_EQ((*limits)[0].identity(), "loop-file:1-2");
}

// Two machines may have one name. A device without an identity of the fleet is then known by the
// boot of its own machine.
TEST(MeasuredLimits, HostsOfOneNameHaveTheirOwnDevices) {
  v1::Report report;
  v1::PhaseReport* phase = AddLoad("deep", 1000, 0, &report);
  phase->mutable_devices(0)->set_identity("loop-file:1-2");
  v1::KernelReport* kernel = phase->add_kernels();
  kernel->set_boot_id("other");
  kernel->add_hosts("a");
  kernel->add_workers(1);
  *phase->add_devices() = phase->devices(0);
  phase->mutable_devices(1)->set_workers(0, 1);
  const auto limits = LimitsOf(report);
  ASSERT_TRUE(limits.ok()) << limits.status();
  ASSERT_EQ(limits->size(), 2u);
  EXPECT_EQ((*limits)[0].device_key(), "boot/loop-file:1-2");
  EXPECT_EQ((*limits)[1].device_key(), "other/loop-file:1-2");
  EXPECT_DOUBLE_EQ((*limits)[0].iops(), 1000);
}

TEST(MeasuredLimits, DifferencesOfRequestsAreNamed) {
  EXPECT_EQ(DifferenceOf({0.7, 8192, 8192}, {0.62, 8192, 12000}), "");
  EXPECT_EQ(DifferenceOf({0.95, 8192, 0}, {0.5, 8192, 8192}),
            "95 % of the requests are reads here, 50 % there");
  EXPECT_EQ(DifferenceOf({1, 131072, 0}, {1, 8192, 0}),
            "reads are of 128 KiB here, of 8 KiB there");
  EXPECT_EQ(DifferenceOf({0, 0, 4096}, {0.05, 8192, 65536}),
            "writes are of 4 KiB here, of 64 KiB there");
  // A twentieth of the requests says nothing of sizes.
  EXPECT_EQ(DifferenceOf({0.95, 8192, 4096}, {0.95, 8192, 65536}), "");
  EXPECT_LT(DistanceOf({0.7, 8192, 8192}, {0.6, 8192, 8192}),
            DistanceOf({0.7, 8192, 8192}, {0.7, 65536, 8192}));
}

}  // namespace
}  // namespace lockstep::controller
