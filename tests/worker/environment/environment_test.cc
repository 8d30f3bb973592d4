// Settings that a phase changes: on a sysfs of its own, with a kernel that does as it is told. Real
// devices and mounts are in tests/integration/test_environment.py.

#include <sys/file.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "common/files.h"
#include "gtest/gtest.h"
#include "worker/environment/keeper.h"

namespace lockstep::worker {
namespace {

namespace fs = std::filesystem;

class EnvironmentTest : public testing::Test {
 protected:
  EnvironmentTest()
      : root_(fs::path(getenv("TEST_TMPDIR")) /
              testing::UnitTest::GetInstance()->current_test_info()->name()),
        state_(root_ / "state") {
    fs::create_directories(state_);
    Write("proc/sys/kernel/random/boot_id", "b007\n");
    Write("proc/self/mountinfo",
          "30 1 8:1 / /data rw,noatime - ext4 /dev/none rw,commit=30,discard\n");
    Write("sys/class/block/sda/diskseq", "9\n");
    SetQueue("scheduler", "none bfq!");
    SetQueue("nr_requests", "128");
    SetQueue("read_ahead_kb", "128");
    SetQueue("max_sectors_kb", "1280");
    SetQueue("max_hw_sectors_kb", "1280");
    SetQueue("write_cache", "write back");
  }

  void Write(const std::string& path, const std::string& text) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path, std::ios::trunc) << text;
  }
  void SetQueue(const std::string& name, const std::string& value) {
    Write("sys/class/block/sda/queue/" + name, value);
  }
  // As it is now. A file is written from its start and not cut, as sysfs files are no files.
  std::string Queue(const std::string& name) const {
    return common::ReadTrimmed(root_ / "sys/class/block/sda/queue" / name);
  }
  std::vector<WantedSetting> Wanted(const v1::Environment& environment) const {
    const auto wanted = KernelSettings(root_.string()).OfDevice(environment, "sda");
    EXPECT_TRUE(wanted.ok()) << wanted.status();
    return wanted.ok() ? *wanted : std::vector<WantedSetting>();
  }
  bool HasJournal() const { return fs::exists(state_ / "settings.json"); }
  EnvironmentKeeper Keeper() const { return EnvironmentKeeper(state_.string(), root_.string()); }

  const fs::path root_;
  const fs::path state_;
};

v1::Environment Lengths(uint32_t requests, int64_t read_ahead) {
  v1::Environment environment;
  environment.set_nr_requests(requests);
  environment.set_read_ahead_bytes(read_ahead);
  return environment;
}

TEST_F(EnvironmentTest, WhatAPhaseChangesIsJournalledHoldsAndIsPutBack) {
  EnvironmentKeeper keeper = Keeper();
  ASSERT_TRUE(keeper.Apply(Wanted(Lengths(256, 256 << 10))).ok());
  EXPECT_EQ(Queue("nr_requests"), "256");
  EXPECT_EQ(Queue("read_ahead_kb"), "256");
  EXPECT_TRUE(HasJournal());
  const std::vector<v1::SettingChange> changes = keeper.Restore();
  ASSERT_EQ(changes.size(), 2u);
  EXPECT_EQ(changes[0].thing(), "sda");
  EXPECT_EQ(changes[0].name(), "nr_requests");
  EXPECT_EQ(changes[0].before(), "128");
  EXPECT_EQ(changes[0].value(), "256");
  EXPECT_EQ(changes[0].not_restored(), "");
  EXPECT_EQ(Queue("nr_requests"), "128");
  EXPECT_EQ(Queue("read_ahead_kb"), "128");
  EXPECT_FALSE(HasJournal());
  EXPECT_TRUE(keeper.Restore().empty());
}

TEST_F(EnvironmentTest, AKilledWorkerSNextStartPutsItBack) {
  {
    EnvironmentKeeper killed = Keeper();
    ASSERT_TRUE(killed.Apply(Wanted(Lengths(256, 256 << 10))).ok());
  }
  EXPECT_EQ(Queue("nr_requests"), "256");
  EnvironmentKeeper next = Keeper();
  const std::vector<std::string> words = next.Recover();
  EXPECT_TRUE(next.has_recovered_all());
  ASSERT_EQ(words.size(), 2u);
  EXPECT_NE(words[0].find("nr_requests is 128 again"), std::string::npos) << words[0];
  EXPECT_EQ(Queue("nr_requests"), "128");
  EXPECT_FALSE(HasJournal());
  EXPECT_TRUE(Keeper().Recover().empty());
}

TEST_F(EnvironmentTest, WhatSomebodyElseHasChangedMeanwhileIsLeftAndTold) {
  EnvironmentKeeper keeper = Keeper();
  ASSERT_TRUE(keeper.Apply(Wanted(Lengths(256, 256 << 10))).ok());
  SetQueue("nr_requests", "999");
  const auto changes = keeper.Restore();
  EXPECT_EQ(Queue("nr_requests"), "999");
  EXPECT_NE(changes[0].not_restored().find("somebody has made it 999"), std::string::npos);
  EXPECT_EQ(changes[1].not_restored(), "");
}

TEST_F(EnvironmentTest, WhatChangesByItselfWithAnotherSettingIsPutBackToo) {
  EnvironmentKeeper keeper = Keeper();
  v1::Environment environment;
  environment.set_scheduler("bfq!");  // as long as "none"
  ASSERT_TRUE(keeper.Apply(Wanted(environment)).ok());
  SetQueue("nr_requests", "777");  // as the kernel does
  keeper.Restore();
  EXPECT_EQ(Queue("scheduler"), "none bfq!");
  EXPECT_EQ(Queue("nr_requests"), "128");
}

TEST_F(EnvironmentTest, AnErrorLeavesAllAsItWas) {
  std::vector<WantedSetting> wanted = Wanted(Lengths(256, 256 << 10));
  wanted.push_back({"sda", "no_such_setting", "1", "", ""});
  EnvironmentKeeper keeper = Keeper();
  const absl::Status status = keeper.Apply(wanted);
  EXPECT_NE(status.message().find("no_such_setting"), std::string::npos) << status;
  EXPECT_EQ(Queue("nr_requests"), "128");
  EXPECT_EQ(Queue("read_ahead_kb"), "128");
  EXPECT_FALSE(HasJournal());
}

TEST_F(EnvironmentTest, TwoWorkersOfAKernelDoNotChangeTheSameDevice) {
  EnvironmentKeeper first = Keeper();
  fs::create_directories(root_ / "other");
  EnvironmentKeeper second((root_ / "other").string(), root_.string());
  ASSERT_TRUE(first.Apply(Wanted(Lengths(256, 256 << 10))).ok());
  const absl::Status status = second.Apply(Wanted(Lengths(512, 512 << 10)));
  EXPECT_NE(status.message().find("another worker of this host"), std::string::npos) << status;
  EXPECT_EQ(Queue("nr_requests"), "256");
  first.Restore();
  EXPECT_TRUE(second.Apply(Wanted(Lengths(512, 512 << 10))).ok());
  second.Restore();
  EXPECT_EQ(Queue("nr_requests"), "128");
}

TEST_F(EnvironmentTest, AnotherDeviceUnderTheNameIsLeftAlone) {
  {
    EnvironmentKeeper killed = Keeper();
    ASSERT_TRUE(killed.Apply(Wanted(Lengths(256, 256 << 10))).ok());
  }
  Write("sys/class/block/sda/diskseq", "10\n");
  EnvironmentKeeper next = Keeper();
  const std::vector<std::string> words = next.Recover();
  EXPECT_FALSE(next.has_recovered_all());
  ASSERT_FALSE(words.empty());
  EXPECT_NE(words[0].find("another device has that name"), std::string::npos) << words[0];
  EXPECT_EQ(Queue("nr_requests"), "256");
}

TEST_F(EnvironmentTest, AJournalOfAnEarlierBootIsForgottenAndABrokenOneTold) {
  {
    EnvironmentKeeper killed = Keeper();
    ASSERT_TRUE(killed.Apply(Wanted(Lengths(256, 256 << 10))).ok());
  }
  Write("proc/sys/kernel/random/boot_id", "another\n");
  const auto words = Keeper().Recover();
  ASSERT_EQ(words.size(), 1u);
  EXPECT_NE(words[0].find("started anew"), std::string::npos);
  EXPECT_FALSE(HasJournal());
  Write("state/settings.json", "{ broken");
  EXPECT_NE(Keeper().Recover()[0].find("cannot be read"), std::string::npos);
}

TEST_F(EnvironmentTest, ADeviceWithoutTheSettingIsRefused) {
  const KernelSettings kernel(root_.string());
  fs::remove(root_ / "sys/class/block/sda/queue/write_cache");
  v1::Environment cache;
  cache.set_write_cache(v1::WRITE_CACHE_WRITE_THROUGH);
  EXPECT_FALSE(kernel.OfDevice(cache, "sda").ok());
  v1::Environment sectors;
  sectors.set_max_sectors_bytes(2 << 20);
  EXPECT_NE(kernel.OfDevice(sectors, "sda").status().message().find("1280 KiB"), std::string::npos);
  v1::Environment scheduler;
  scheduler.set_scheduler("bfq");
  SetQueue("scheduler", "none");
  EXPECT_NE(kernel.OfDevice(scheduler, "sda").status().message().find("offers only none"),
            std::string::npos);
  SetQueue("scheduler", "[none] mq-deadline");
  EXPECT_TRUE(kernel.OfDevice(scheduler, "sda").ok()) << "a module may be loaded for it";
  EXPECT_FALSE(kernel.OfDevice(scheduler, "../../../sda").ok());
  scheduler.set_scheduler("round-robin");
  EXPECT_NE(kernel.OfDevice(scheduler, "sda")
                .status()
                .message()
                .find("sda has no scheduler round-robin: it offers none, mq-deadline"),
            std::string::npos);
}

v1::Remount Options(const std::string& options) {
  v1::Remount remount;
  remount.set_path("/data");
  remount.set_options(options);
  return remount;
}

TEST_F(EnvironmentTest, ARemountKnowsItsWayBack) {
  const KernelUses uses(root_.string());
  const MountEntry* now = uses.MountAt("/data");
  ASSERT_NE(now, nullptr);
  const auto plan = PlanRemount(Options("strictatime,nobarrier,nodiscard,commit=1,lazytime"), *now);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->value, "strictatime,lazytime;nobarrier,nodiscard,commit=1");
  EXPECT_EQ(plan->restore_to, "noatime;barrier,discard,commit=30");
  for (const char* bad : {"ro", "data=journal", "commit=", "commit=1x", "errors=panic", "exec"}) {
    EXPECT_FALSE(PlanRemount(Options(bad), *now).ok()) << bad;
  }
  MountEntry xfs = *now;
  xfs.type = "xfs";
  EXPECT_FALSE(PlanRemount(Options("discard"), xfs).ok());
  EXPECT_TRUE(PlanRemount(Options("relatime"), xfs).ok());
  EXPECT_NE(PlanRemount(Options("noatime,nobarrier"), xfs)
                .status()
                .message()
                .find("/data: xfs has no nobarrier since Linux 4.19"),
            std::string::npos);
  // A read-only bind mount of a file system that is writable elsewhere.
  MountEntry bind = *now;
  bind.options = "ro,noatime";
  bind.filesystem_options = "rw,discard";
  EXPECT_FALSE(PlanRemount(Options("relatime"), bind).ok());
  bind.filesystem_options = "ro,discard";
  EXPECT_TRUE(PlanRemount(Options("relatime"), bind).ok());
}

TEST_F(EnvironmentTest, WhetherOptionsHoldIsRead) {
  const KernelUses uses(root_.string());
  const MountEntry& now = *uses.MountAt("/data");
  EXPECT_TRUE(HasOptions("noatime,discard,commit=30,barrier,async", now));
  for (const char* other : {"relatime", "nodiscard", "commit=5", "nobarrier", "sync"}) {
    EXPECT_FALSE(HasOptions(other, now)) << other;
  }
}

}  // namespace
}  // namespace lockstep::worker
