// Options of mounts that a phase changes, on file systems in memory in a mount namespace of the
// test's own. Only root may mount.

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "worker/environment/keeper.h"

namespace lockstep::worker {
namespace {

namespace fs = std::filesystem;

class MountedTest : public testing::Test {
 protected:
  void SetUp() override {
    if (unshare(CLONE_NEWNS) != 0 ||
        mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
      GTEST_SKIP() << "only root may mount";
    }
    // The locks of this test's keepers are not those of workers that run on this machine.
    MountMemory("/run");
    room_ = fs::path(getenv("TEST_TMPDIR")) /
            testing::UnitTest::GetInstance()->current_test_info()->name();
    for (const char* name : {"a", "b", "first", "second"}) fs::create_directories(room_ / name);
    a_ = room_ / "a";
    b_ = room_ / "b";
    MountMemory(a_);
  }

  static void MountMemory(const std::string& target) {
    ASSERT_EQ(mount("none", target.c_str(), "tmpfs", 0, "size=1m"), 0) << target;
  }
  static void Bind(const std::string& from, const std::string& to) {
    ASSERT_EQ(mount(from.c_str(), to.c_str(), nullptr, MS_BIND, nullptr), 0) << to;
  }
  static WantedSetting Wanted(const std::string& target, const std::string& options) {
    v1::Remount remount;
    remount.set_path(target);
    remount.set_options(options);
    const auto wanted = KernelSettings().OfMount(remount);
    EXPECT_TRUE(wanted.ok()) << wanted.status();
    return wanted.ok() ? *wanted : WantedSetting();
  }
  // The options of the topmost mount there.
  static std::string Options(const std::string& target) {
    const auto options = KernelSettings().Read(target, kMountOptions);
    return options.ok() ? *options : std::string(options.status().message());
  }
  static bool IsSync(const std::string& target) {
    return Options(target).find("sync") != std::string::npos;
  }
  EnvironmentKeeper Keeper(const std::string& name) const {
    return EnvironmentKeeper((room_ / name).string());
  }
  // As by a worker that is killed in the phase.
  void ApplyAndDie(const std::string& target, const std::string& options) const {
    EnvironmentKeeper killed = Keeper("first");
    const absl::Status status = killed.Apply({Wanted(target, options)});
    ASSERT_TRUE(status.ok()) << status;
  }

  fs::path room_;
  std::string a_, b_;
};

TEST_F(MountedTest, TwoMountPointsOfAFileSystemHaveOneLock) {
  Bind(a_, b_);
  const std::string before = Options(a_);
  EnvironmentKeeper first = Keeper("first");
  EnvironmentKeeper second = Keeper("second");
  ASSERT_TRUE(first.Apply({Wanted(a_, "sync")}).ok());
  EXPECT_TRUE(IsSync(b_)) << Options(b_);
  // Planned while the first worker's options are in effect.
  const WantedSetting late = Wanted(b_, "sync");
  for (const char* options : {"sync", "async"}) {
    const absl::Status status = second.Apply({Wanted(b_, options)});
    EXPECT_NE(status.message().find("another worker of this host"), std::string::npos) << status;
  }
  EXPECT_TRUE(IsSync(a_));
  for (const auto& change : first.Restore()) EXPECT_EQ(change.not_restored(), "");
  EXPECT_EQ(Options(a_), before);
  ASSERT_TRUE(second.Apply({late}).ok());
  for (const auto& change : second.Restore()) EXPECT_EQ(change.not_restored(), "");
  EXPECT_EQ(Options(a_), before) << "not what the other worker had made it";
}

TEST_F(MountedTest, APhaseMayRemountBothMountPoints) {
  Bind(a_, b_);
  const std::string before = Options(a_);
  EnvironmentKeeper keeper = Keeper("first");
  const absl::Status status = keeper.Apply({Wanted(a_, "sync"), Wanted(b_, "noatime,lazytime")});
  ASSERT_TRUE(status.ok()) << status;
  const auto changes = keeper.Restore();
  ASSERT_EQ(changes.size(), 2u);
  for (const auto& change : changes) {
    EXPECT_EQ(change.before(), before);
    EXPECT_EQ(change.not_restored(), "");
  }
  EXPECT_EQ(Options(a_), before);
  EXPECT_EQ(Options(b_), before);
}

TEST_F(MountedTest, WhatIsMountedOverItInThePhaseIsLeftAlone) {
  const std::string before = Options(a_);
  EnvironmentKeeper keeper = Keeper("first");
  ASSERT_TRUE(keeper.Apply({Wanted(a_, "sync,noatime")}).ok());
  ASSERT_EQ(mount("none", a_.c_str(), "tmpfs", MS_NOATIME | MS_SYNCHRONOUS, nullptr), 0);
  const std::string other = Options(a_);
  for (const auto& change : keeper.Restore()) EXPECT_EQ(change.not_restored(), "");
  EXPECT_EQ(Options(a_), other);
  ASSERT_EQ(umount(a_.c_str()), 0);
  EXPECT_EQ(Options(a_), before);
}

TEST_F(MountedTest, AfterAKillWhatIsMountedThereByNowIsLeftAlone) {
  ApplyAndDie(a_, "sync");
  ASSERT_EQ(umount(a_.c_str()), 0);
  ASSERT_EQ(mount("none", a_.c_str(), "tmpfs", MS_NOATIME | MS_SYNCHRONOUS, nullptr), 0);
  const std::string other = Options(a_);
  const auto words = Keeper("first").Recover();
  ASSERT_FALSE(words.empty());
  EXPECT_NE(words[0].find("is not restored"), std::string::npos) << words[0];
  EXPECT_EQ(Options(a_), other);
}

TEST_F(MountedTest, AfterAKillAnotherMountPointIsTheWayToRestoreIt) {
  Bind(a_, b_);
  const std::string before = Options(b_);
  ApplyAndDie(a_, "sync");
  EXPECT_TRUE(IsSync(b_));
  MountMemory(a_);
  const std::string other = Options(a_);
  const auto words = Keeper("first").Recover();
  ASSERT_FALSE(words.empty());
  EXPECT_NE(words[0].find("again"), std::string::npos) << words[0];
  EXPECT_EQ(Options(b_), before);
  EXPECT_EQ(Options(a_), other);
}

TEST_F(MountedTest, AMountPointThatSomebodyMadeSinceProvesNothing) {
  ApplyAndDie(a_, "sync");
  Bind(a_, b_);
  ASSERT_EQ(umount(a_.c_str()), 0);
  const auto words = Keeper("first").Recover();
  ASSERT_FALSE(words.empty());
  EXPECT_NE(words[0].find("mounted anew"), std::string::npos) << words[0];
  EXPECT_TRUE(IsSync(b_));
}

TEST_F(MountedTest, OptionsThatSomebodyHasChangedStay) {
  ApplyAndDie(a_, "sync");
  ASSERT_EQ(mount("none", a_.c_str(), nullptr, MS_REMOUNT | MS_SYNCHRONOUS | MS_NOATIME, nullptr),
            0);
  const std::string theirs = Options(a_);
  const auto words = Keeper("first").Recover();
  ASSERT_FALSE(words.empty());
  EXPECT_NE(words[0].find("somebody has made it"), std::string::npos) << words[0];
  EXPECT_EQ(Options(a_), theirs);
}

TEST_F(MountedTest, AKilledWorkerSNextStartRestoresTheOptions) {
  const std::string before = Options(a_);
  ApplyAndDie(a_, "sync,noatime");
  EXPECT_NE(Options(a_), before);
  const auto words = Keeper("first").Recover();
  ASSERT_FALSE(words.empty());
  EXPECT_NE(words[0].find("again"), std::string::npos) << words[0];
  EXPECT_EQ(Options(a_), before);
}

}  // namespace
}  // namespace lockstep::worker
