// The report of devices that lie on each other.

#include <string>
#include <vector>

#include "controller/report/layers_text.h"
#include "controller/report/text.h"
#include "gtest/gtest.h"
#include "tests/controller/analysis/stored_phases.h"

namespace lockstep::controller {
namespace {

uint32_t AddLayer(v1::Inspection* inspection, const std::string& kind, const std::string& device,
                  const std::vector<uint32_t>& underneath) {
  v1::StorageLayer* layer = inspection->add_layers();
  layer->set_kind(kind);
  layer->set_device_name(device);
  for (const uint32_t part : underneath) layer->add_underneath(part);
  return static_cast<uint32_t>(inspection->layers_size());
}

// Two workers of one kernel on ext4 on a mirror of sdb and sda: both disks move all bytes, and take
// 2 ms for each request, of which the mirror's take 3.
Stored OnAMirror() {
  Stored data = TwoWorkers();
  for (measure::RunWorker& worker : data.workers) {
    v1::Inspection* inspection = &worker.inspection;
    const uint32_t sdb = AddLayer(inspection, "sas", "sdb", {});
    const uint32_t sda = AddLayer(inspection, "sas", "sda", {});
    const uint32_t mirror = AddLayer(inspection, "md raid1", "md0", {sdb, sda});
    const uint32_t top = AddLayer(inspection, "ext4", "", {mirror});
    inspection->mutable_layers(3)->set_mount_point("/data");
    inspection->mutable_layers(0)->set_identity("naa.b");
    inspection->mutable_targets(0)->set_top_layer(top);
    inspection->mutable_targets(0)->set_device_name("md0");
  }
  for (v1::IntervalSample& sample : data.intervals[0]) {
    v1::DeviceSample* mirror = sample.mutable_devices(0);
    mirror->set_name("md0");
    mirror->set_read_time_ms(mirror->reads() * 3);
    for (const char* disk : {"sda", "sdb"}) {
      v1::DeviceSample* d = sample.add_devices();
      *d = sample.devices(0);
      d->set_name(disk);
      d->set_read_time_ms(d->reads() * 2);
      d->set_nested(true);
    }
  }
  return data;
}

TEST(StacksTest, DevicesStandInTheOrderOfTheirLayers) {
  const v1::Report report = ReportOf(OnAMirror());
  const v1::PhaseReport& phase = report.phases(0);
  ASSERT_EQ(phase.devices_size(), 3);
  const v1::DeviceReport& mirror = phase.devices(0);
  EXPECT_EQ(mirror.name(), "md0");
  EXPECT_EQ(mirror.kind(), "md raid1");
  EXPECT_EQ(mirror.depth(), 1u);
  ASSERT_EQ(mirror.filesystems_size(), 1);
  EXPECT_EQ(mirror.filesystems(0), "ext4 on /data");
  EXPECT_EQ(mirror.underneath_size(), 2);
  EXPECT_FALSE(mirror.nested());
  for (int i : {1, 2}) {
    const v1::DeviceReport& disk = phase.devices(i);
    EXPECT_EQ(disk.name(), i == 1 ? "sdb" : "sda");
    EXPECT_EQ(disk.depth(), 2u);
    EXPECT_TRUE(disk.nested());
    EXPECT_EQ(disk.hosts_size(), 2);
    EXPECT_DOUBLE_EQ(disk.read_await_ms(), 2);
  }
  EXPECT_EQ(phase.devices(1).identity(), "naa.b");
}

// Another phase works on the directory of the overlay that this phase works on.
TEST(StacksTest, APhaseShowsTheStackOfItsOwnTargets) {
  Stored data = OnAMirror();
  v1::Target* other = data.run.job.add_targets();
  other->set_name("other");
  for (measure::RunWorker& worker : data.workers) {
    v1::Inspection* inspection = &worker.inspection;
    const uint32_t overlay = AddLayer(inspection, "overlay", "", {4});
    inspection->mutable_layers(4)->set_mount_point("/merged");
    *inspection->add_targets() = inspection->targets(0);
    inspection->mutable_targets(0)->set_target(1);
    inspection->mutable_targets(1)->set_target(0);
    inspection->mutable_targets(1)->set_top_layer(overlay);
  }
  const v1::Report report = ReportOf(data);
  const v1::DeviceReport& mirror = report.phases(0).devices(0);
  EXPECT_EQ(mirror.name(), "md0");
  EXPECT_EQ(mirror.depth(), 2u);
  ASSERT_EQ(mirror.filesystems_size(), 2);
  EXPECT_EQ(mirror.filesystems(0), "overlay on /merged");
  EXPECT_EQ(mirror.filesystems(1), "ext4 on /data");
}

TEST(StacksTest, NoByteCountsTwiceAndOnlyTheTopIsCompared) {
  const v1::Report report = ReportOf(OnAMirror());
  const v1::PhaseReport& phase = report.phases(0);
  ASSERT_EQ(phase.devices_size(), 3);
  EXPECT_EQ(phase.devices(0).cross_check().verdict(), v1::CrossCheck::VERDICT_AGREE);
  EXPECT_FALSE(phase.devices(1).has_cross_check());
  EXPECT_EQ(phase.devices(1).engine_iops(), 0);
  EXPECT_DOUBLE_EQ(phase.time_spent().amplification(), 1);
  for (const v1::Fairness& fairness : phase.fairness()) {
    EXPECT_NE(fairness.of(), "IOPS over devices");
  }
}

TEST(StacksTest, AWorkloadOverTwoDevicesOfAFileSystemCountsOnce) {
  Stored data = OnAMirror();
  for (measure::RunWorker& worker : data.workers) {
    v1::StorageLayer* filesystem = worker.inspection.mutable_layers(3);
    filesystem->set_kind("btrfs");
    filesystem->clear_underneath();
    filesystem->add_underneath(1);
    filesystem->add_underneath(2);
    worker.inspection.mutable_targets(0)->set_device_name("sdb");
  }
  for (v1::IntervalSample& sample : data.intervals[0]) {
    sample.mutable_devices()->DeleteSubrange(0, 1);
    for (v1::DeviceSample& d : *sample.mutable_devices()) d.set_nested(false);
  }
  const v1::Report report = ReportOf(data);
  const v1::PhaseReport& phase = report.phases(0);
  ASSERT_EQ(phase.devices_size(), 2);
  EXPECT_EQ(phase.devices(0).cross_check().verdict(), v1::CrossCheck::VERDICT_NOT_ATTRIBUTABLE);
  EXPECT_DOUBLE_EQ(phase.time_spent().amplification(), 2) << "both copies of each byte";
  for (const std::string& remark : phase.remarks()) {
    EXPECT_EQ(remark.find("no block device"), std::string::npos) << remark;
  }
  // The bytes of the other copy are then not known.
  for (v1::IntervalSample& sample : data.intervals[0]) {
    sample.mutable_devices()->DeleteSubrange(1, 1);
  }
  EXPECT_FALSE(ReportOf(data).phases(0).time_spent().has_amplification());
}

TEST(StacksTest, WhereStacksOverlapTheLowestDevicesCount) {
  Stored data = OnAMirror();
  for (v1::IntervalSample& sample : data.intervals[0]) {
    for (v1::DeviceSample& d : *sample.mutable_devices()) d.set_nested(d.name() == "md0");
  }
  EXPECT_DOUBLE_EQ(ReportOf(data).phases(0).time_spent().amplification(), 2);
}

TEST(StacksTest, TheTextDrawsTheStackWithTheTimesOfItsLayers) {
  const v1::Report report = ReportOf(OnAMirror());
  const std::string drawn = RenderLayers(report.phases(0), 100);
  for (const char* line : {"\n    node0 and 1 more on one kernel\n", "\n      ext4 on /data\n",
                           "\n        md0 (md raid1)  ", "\n          sdb (sas)  "}) {
    EXPECT_NE(drawn.find(line), std::string::npos) << line << " in\n" << drawn;
  }
  EXPECT_NE(drawn.find("  3 ms"), std::string::npos) << drawn;
  EXPECT_NE(drawn.find("  2 ms"), std::string::npos) << drawn;
  EXPECT_NE(drawn.find("–"), std::string::npos) << "of writes there were none\n" << drawn;
  TextOptions options;
  options.detail = true;
  EXPECT_NE(RenderText(report, options).find("md0 (md raid1)"), std::string::npos);
}

TEST(StacksTest, ADiskByItselfIsNotDrawnAndDepthsAreBounded) {
  EXPECT_EQ(RenderLayers(ReportOf(TwoWorkers()).phases(0), 100), "");
  v1::PhaseReport phase;
  v1::DeviceReport* device = phase.add_devices();
  device->set_name("sda");
  device->set_depth(4000000000);
  EXPECT_LT(RenderLayers(phase, 0).size(), 1000u);
}

TEST(StacksTest, TheLowestDeviceThatIsNeverIdleIsTheLimit) {
  Stored data = OnAMirror();
  for (v1::IntervalSample& sample : data.intervals[0]) {
    for (v1::DeviceSample& d : *sample.mutable_devices()) {
      if (d.name() == "sda") continue;
      d.set_busy_time_ms(1000);
      d.set_queue_time_ms(16000);
    }
  }
  for (measure::WorkerPhaseData& worker : data.phases[0].workers) {
    worker.result.mutable_threads(0)->set_wait_time_ns(3000000000);
  }
  const v1::WorkloadReport workload = ReportOf(data).phases(0).workloads(0);
  EXPECT_EQ(workload.limited_by(), "device");
  EXPECT_EQ(workload.limited_because().find("sdb, which lies underneath md0, had 16.0 requests"),
            0u)
      << workload.limited_because();
}

// As a virtual machine with Linux 6.1 had it: dm-crypt started each request some milliseconds after
// the disk had completed one, and the kernel did not count that time as busy. All requests waited
// in this disk nevertheless.
TEST(StacksTest, ADiskWhoseBusyTimeIsTooShortIsTheLimitByItsQueue) {
  Stored data = OnAMirror();
  for (v1::IntervalSample& sample : data.intervals[0]) {
    for (v1::DeviceSample& d : *sample.mutable_devices()) {
      if (d.name() == "sda") continue;
      d.set_busy_time_ms(d.name() == "md0" ? 990 : 780);
      d.set_queue_time_ms(d.name() == "md0" ? 15300 : 14700);
    }
  }
  for (measure::WorkerPhaseData& worker : data.phases[0].workers) {
    worker.result.mutable_threads(0)->set_wait_time_ns(3000000000);
  }
  EXPECT_EQ(
      ReportOf(data).phases(0).workloads(0).limited_because(),
      "sdb, which lies underneath md0, had 14.7 requests in its queue on average, of the 15.3 "
      "in that of md0, which was never idle (busy 99 %)");
  // Half of the requests wait elsewhere.
  for (v1::IntervalSample& sample : data.intervals[0]) {
    sample.mutable_devices(2)->set_queue_time_ms(7600);
  }
  EXPECT_EQ(ReportOf(data).phases(0).workloads(0).limited_because().find("md0 had 15.3 requests"),
            0u);
}

// Another target's volume lies on the same disk, which its stack comes first with.
TEST(StacksTest, ADiskUnderTwoVolumesIsLowestInBothStacks) {
  Stored data = TwoWorkers();
  data.run.job.add_targets()->set_name("u");
  for (measure::RunWorker& worker : data.workers) {
    v1::Inspection* inspection = &worker.inspection;
    const uint32_t sda = AddLayer(inspection, "sas", "sda", {});
    const uint32_t other = AddLayer(inspection, "lvm", "dm-0", {sda});
    const uint32_t crypt = AddLayer(inspection, "crypt", "dm-1", {sda});
    const uint32_t top = AddLayer(inspection, "lvm", "dm-2", {crypt});
    inspection->mutable_targets(0)->set_target(1);
    inspection->mutable_targets(0)->set_device_name("dm-0");
    inspection->mutable_targets(0)->set_top_layer(other);
    inspection->add_targets()->set_device_name("dm-2");
    inspection->mutable_targets(1)->set_top_layer(top);
  }
  for (v1::IntervalSample& sample : data.intervals[0]) {
    sample.mutable_devices(0)->set_busy_time_ms(1000);
    sample.mutable_devices(0)->set_queue_time_ms(16000);
    for (const char* name : {"dm-1", "dm-2"}) {
      *sample.add_devices() = sample.devices(0);
      sample.mutable_devices(sample.devices_size() - 1)->set_name(name);
    }
    for (v1::DeviceSample& d : *sample.mutable_devices()) d.set_nested(d.name() != "dm-2");
  }
  for (measure::WorkerPhaseData& worker : data.phases[0].workers) {
    worker.result.mutable_threads(0)->set_wait_time_ns(3000000000);
  }
  const v1::WorkloadReport workload = ReportOf(data).phases(0).workloads(0);
  EXPECT_EQ(workload.limited_because().find("sda, which lies underneath dm-2, had 16.0 requests"),
            0u)
      << workload.limited_because();
}

}  // namespace
}  // namespace lockstep::controller
