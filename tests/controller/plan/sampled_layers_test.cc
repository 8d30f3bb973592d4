// Which devices of a stack a phase samples, and which of them add up.

#include <set>
#include <string>
#include <vector>

#include "common/limits.h"
#include "controller/plan/assign.h"
#include "controller/plan/layers.h"
#include "gtest/gtest.h"
#include "tests/controller/plan/plan_job.h"

namespace lockstep::controller {
namespace {

using DeviceNames = std::vector<std::string>;
using NameSet = std::set<std::string>;

// Adds a layer; its number.
uint32_t Add(v1::Inspection* inspection, const std::string& kind, const std::string& device,
             const std::vector<uint32_t>& underneath) {
  v1::StorageLayer* layer = inspection->add_layers();
  layer->set_kind(kind);
  layer->set_device_name(device);
  for (const uint32_t part : underneath) layer->add_underneath(part);
  return static_cast<uint32_t>(inspection->layers_size());
}

v1::TargetInspection* AddTarget(v1::Inspection* inspection, uint32_t top,
                                const std::string& device) {
  v1::TargetInspection* target = inspection->add_targets();
  target->set_top_layer(top);
  target->set_device_name(device);
  return target;
}

// ext4 on dm-0 over sda and sdb.
v1::Inspection Volume() {
  v1::Inspection inspection;
  const uint32_t sda = Add(&inspection, "sas", "sda", {});
  const uint32_t sdb = Add(&inspection, "sas", "sdb", {});
  const uint32_t volume = Add(&inspection, "lvm", "dm-0", {sda, sdb});
  AddTarget(&inspection, Add(&inspection, "ext4", "", {volume}), "dm-0");
  return inspection;
}

TEST(LayersPlanTest, ATargetHasItsTopmostDevicesAndThoseUnderneath) {
  const v1::Inspection inspection = Volume();
  const TargetDevices devices = DevicesUnder(inspection, inspection.targets(0));
  EXPECT_EQ(devices.top, DeviceNames{"dm-0"});
  EXPECT_EQ(devices.lower, (DeviceNames{"sda", "sdb"}));
  v1::Inspection old;
  AddTarget(&old, 0, "sda");
  EXPECT_EQ(DevicesUnder(old, old.targets(0)).top, DeviceNames{"sda"});
}

// btrfs on two devices, and an overlay with a loop device over a file of the other directory's
// disk: all its I/O passes the disk, and a part of it the loop device.
TEST(LayersPlanTest, SeveralDevicesCanBeOnTopAndNoneLiesUnderAnother) {
  v1::Inspection inspection;
  const uint32_t sda = Add(&inspection, "sas", "sda", {});
  const uint32_t sdb = Add(&inspection, "sas", "sdb", {});
  AddTarget(&inspection, Add(&inspection, "btrfs", "", {sda, sdb}), "sda");
  const uint32_t ext4 = Add(&inspection, "ext4", "", {sda});
  const uint32_t loop = Add(&inspection, "loop", "loop0", {ext4});
  AddTarget(&inspection, Add(&inspection, "overlay", "", {ext4, loop}), "sda");
  EXPECT_EQ(DevicesUnder(inspection, inspection.targets(0)).top, (DeviceNames{"sda", "sdb"}));
  const TargetDevices overlay = DevicesUnder(inspection, inspection.targets(1));
  EXPECT_EQ(overlay.top, DeviceNames{"sda"});
  EXPECT_EQ(overlay.lower, DeviceNames{"loop0"});
  KernelDevices kernel;
  kernel.Add(inspection, inspection.targets(1));
  EXPECT_EQ(kernel.Counted(), NameSet{"sda"});
}

// loop0 lies on a file of a btrfs on sda and sdb, and another directory of the overlay on sda. The
// bytes of loop0 that go to sdb must not be lost.
TEST(LayersPlanTest, ADeviceOverAnotherOneGivesWayToAllUnderneath) {
  v1::Inspection inspection;
  const uint32_t sda = Add(&inspection, "sas", "sda", {});
  const uint32_t sdb = Add(&inspection, "sas", "sdb", {});
  const uint32_t sdc = Add(&inspection, "sas", "sdc", {});
  const uint32_t btrfs = Add(&inspection, "btrfs", "", {sda, sdb});
  const uint32_t loop = Add(&inspection, "loop", "loop0", {btrfs});
  const uint32_t ext4 = Add(&inspection, "ext4", "", {sda});
  AddTarget(&inspection, Add(&inspection, "overlay", "", {loop, ext4, sdc}), "loop0");
  const TargetDevices overlay = DevicesUnder(inspection, inspection.targets(0));
  EXPECT_EQ(NameSet(overlay.top.begin(), overlay.top.end()), (NameSet{"sda", "sdb", "sdc"}));
  EXPECT_EQ(overlay.lower, DeviceNames{"loop0"});
}

TEST(LayersPlanTest, NumbersThatAreOutOfOrderLeadNowhere) {
  v1::Inspection inspection;
  const uint32_t a = Add(&inspection, "dm", "dm-0", {2, 1, 0, 77});
  const uint32_t b = Add(&inspection, "dm", "dm-1", {a, a, 2});
  AddTarget(&inspection, b, "dm-1");
  AddTarget(&inspection, 99, "sda");
  const TargetDevices devices = DevicesUnder(inspection, inspection.targets(0));
  EXPECT_EQ(devices.top, DeviceNames{"dm-1"});
  EXPECT_EQ(devices.lower, DeviceNames{"dm-0"});
  EXPECT_EQ(DevicesUnder(inspection, inspection.targets(1)).top, DeviceNames{"sda"});
  v1::Inspection large;
  for (int64_t i = 0; i <= limits::kStorageLayers; ++i) Add(&large, "disk", "sda", {});
  EXPECT_EQ(LayerOf(large, static_cast<uint32_t>(limits::kStorageLayers) + 1), nullptr);
}

TEST(LayersPlanTest, ACachedLoopDeviceIsFoundInAnyLayerOfTheTarget) {
  v1::Inspection inspection;
  const uint32_t loop = Add(&inspection, "loop", "loop0", {});
  const uint32_t top = Add(&inspection, "lvm", "dm-0", {loop});
  AddTarget(&inspection, top, "dm-0");
  const TargetDevices under = DevicesUnder(inspection, inspection.targets(0));
  EXPECT_EQ(CachedDeviceAmong(inspection, under), "");
  inspection.mutable_layers(0)->set_page_cached(true);
  EXPECT_EQ(CachedDeviceAmong(inspection, under), "loop0");
  EXPECT_EQ(CachedDeviceAmong(inspection, {{"sda"}, {}}), "") << "another target's";
}

TEST(LayersPlanTest, NoByteCountsInTwoLayers) {
  v1::Inspection inspection = Volume();
  KernelDevices kernel;
  kernel.Add(inspection, inspection.targets(0));
  EXPECT_EQ(kernel.Counted(), NameSet{"dm-0"});
  // Another target lies on one of the volume's disks itself: only the disks have the bytes of both.
  AddTarget(&inspection, 1, "sda");
  kernel.Add(inspection, inspection.targets(1));
  EXPECT_EQ(kernel.Counted(), (NameSet{"sda", "sdb"}));
  // Two workers of one kernel that contradict each other.
  KernelDevices circle;
  circle.tops = {"a", "b"};
  circle.below = {{"a", {"b"}}, {"b", {"a"}}};
  EXPECT_EQ(circle.Counted(), NameSet{});
}

// dm-crypt over LVM over a mirror, and the mirror itself as another target. Each of its disks has
// every write, so that the sum over them would be twice the bytes.
TEST(LayersPlanTest, AMirrorUnderTwoTargetsCountsInsteadOfItsDisks) {
  v1::Inspection inspection;
  const uint32_t vdi = Add(&inspection, "virtio", "vdi", {});
  const uint32_t vdj = Add(&inspection, "virtio", "vdj", {});
  const uint32_t mirror = Add(&inspection, "md raid1", "md1", {vdi, vdj});
  const uint32_t volume = Add(&inspection, "lvm", "dm-4", {mirror});
  const uint32_t crypt = Add(&inspection, "crypt", "dm-5", {volume});
  AddTarget(&inspection, Add(&inspection, "ext4", "", {crypt}), "dm-5");
  AddTarget(&inspection, mirror, "md1");
  KernelDevices kernel;
  kernel.Add(inspection, inspection.targets(0));
  EXPECT_EQ(kernel.Counted(), NameSet{"dm-5"});
  kernel.Add(inspection, inspection.targets(1));
  EXPECT_EQ(kernel.Counted(), NameSet{"md1"});
}

TEST(LayersPlanTest, OneWorkerOfAKernelSamplesEachLayer) {
  SettledRun run{"run", Job(), 7, {}};
  for (const char* host : {"node0", "node1"}) {
    run.workers.push_back(Worker(host, "boot"));
    run.workers.back().inspection = Volume();
    run.workers.back().inspection.mutable_targets(0)->add_settings_devices("sda");
    run.workers.back().inspection.mutable_targets(0)->add_settings_devices("sdb");
    run.workers.back().inspection.mutable_targets(0)->add_read_ahead_devices("dm-0");
  }
  run.job.mutable_phases(1)->mutable_run()->mutable_environment()->set_scheduler("none");
  const auto assignments = MakeAssignments(run, run.job.phases(1), 1, 1, {0, 1});
  ASSERT_TRUE(assignments.ok()) << assignments.status();
  const v1::Assignment& first = assignments->at(0);
  ASSERT_EQ(first.sample_devices_size(), 1);
  EXPECT_EQ(first.sample_devices(0), "dm-0");
  EXPECT_EQ(DeviceNames(first.nested_devices().begin(), first.nested_devices().end()),
            (DeviceNames{"sda", "sdb"}));
  const auto& settings = first.run().settings_devices();
  EXPECT_EQ(DeviceNames(settings.begin(), settings.end()), (DeviceNames{"sda", "sdb"}));
  ASSERT_EQ(first.run().read_ahead_devices_size(), 1);
  EXPECT_EQ(first.run().read_ahead_devices(0), "dm-0");
  const v1::Assignment& second = assignments->at(1);
  EXPECT_EQ(second.sample_devices_size() + second.nested_devices_size() +
                second.run().settings_devices_size() + second.run().read_ahead_devices_size(),
            0);
}

}  // namespace
}  // namespace lockstep::controller
