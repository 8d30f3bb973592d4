#include "frontends/presets/presets.h"

#include <set>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "controller/cli/job_file.h"
#include "controller/plan/settle.h"
#include "controller/plan/validate.h"
#include "gtest/gtest.h"

namespace lockstep::frontends {
namespace {

PresetUse OnDevice() { return {.device = "/dev/disk/by-id/x", .hosts = "2"}; }
PresetUse InDirectory() { return {.directory = "/data", .hosts = "2"}; }

const Preset& Find(const std::string& name) {
  const Preset* preset = FindPreset(name);
  EXPECT_NE(preset, nullptr) << name;
  return preset != nullptr ? *preset : Presets()[0];
}

// The job with its defaults; it must be one that can be planned.
v1::JobSpec JobOf(const Preset& preset, const PresetUse& use) {
  const auto text = FillPreset(preset, use);
  EXPECT_TRUE(text.ok()) << text.status();
  if (!text.ok()) return {};
  cli::JobFile file = cli::ParseJobFile("preset.yaml", *text, {});
  for (const std::string& error : file.errors) ADD_FAILURE() << error << "\n" << *text;
  for (const v1::Problem& problem : controller::SettleJob(&file.job)) {
    ADD_FAILURE() << problem.path() << ": " << problem.message() << "\n" << *text;
  }
  return file.job;
}

std::string ErrorOf(const std::string& name, const PresetUse& use) {
  return std::string(FillPreset(Find(name), use).status().message());
}

TEST(PresetsTest, AllAreThereWithASentence) {
  std::set<std::string> names;
  for (const Preset& preset : Presets()) {
    names.insert(preset.name);
    EXPECT_TRUE(absl::EndsWith(preset.summary, ".")) << preset.name << ": " << preset.summary;
    EXPECT_LE(preset.summary.size(), 120u) << preset.name;
    EXPECT_TRUE(absl::StrContains(preset.text, "name: " + preset.name + "\n")) << preset.name;
  }
  EXPECT_EQ(names,
            (std::set<std::string>{"backup-window", "dd", "four-corners", "hdparm", "iops-ladder",
                                   "iozone", "oltp", "pts-iops", "pts-latency", "pts-throughput",
                                   "pts-write-saturation", "vdi-boot", "virtual-desktops"}));
}

TEST(PresetsTest, EachCanBePlannedInEachUse) {
  for (const Preset& preset : Presets()) {
    SCOPED_TRACE(preset.name);
    if (preset.takes_directory) {
      const v1::JobSpec job = JobOf(preset, InDirectory());
      for (const v1::Target& target : job.targets()) {
        EXPECT_TRUE(absl::StartsWith(target.file().path(), "/data/{host}/"))
            << target.file().path();
      }
      EXPECT_EQ(job.hosts().count(), 2u);
    }
    if (preset.takes_device) {
      PresetUse use = OnDevice();
      for (const bool purge : {false, true}) {
        if (purge && !preset.takes_purge) continue;
        use.purge = purge;
        const v1::JobSpec job = JobOf(preset, use);
        for (const v1::Target& target : job.targets()) {
          EXPECT_EQ(target.device().path(), "/dev/disk/by-id/x");
        }
      }
    }
  }
}

TEST(PresetsTest, NoneConsentsToOverwriteAnything) {
  for (const Preset& preset : Presets()) {
    for (const char* word : {"expendable", "store_filesystem", "identity", "of_run"}) {
      EXPECT_FALSE(absl::StrContains(preset.text, word)) << preset.name << ": " << word;
    }
  }
  // Those that say so only read a device.
  for (const char* name : {"hdparm", "iops-ladder"}) {
    const v1::JobSpec job = JobOf(Find(name), OnDevice());
    for (const controller::TargetUse& use : controller::UseOfTargets(job)) {
      EXPECT_FALSE(use.changed()) << name;
    }
  }
}

TEST(PresetsTest, RatesAndLimitsOfTheFleetGrowWithTheHosts) {
  PresetUse use = InDirectory();
  const auto rate = [&] {
    return JobOf(Find("vdi-boot"), use).phases(1).run().workloads(0).open_loop().rate_per_second();
  };
  EXPECT_EQ(rate(), 2 * 7467);
  use.hosts = "node[1-8]";
  EXPECT_EQ(rate(), 8 * 7467);
  EXPECT_EQ(JobOf(Find("vdi-boot"), use).hosts().names(0), "node[1-8]");
  use.hosts = "";
  EXPECT_EQ(rate(), 7467);
  EXPECT_EQ(JobOf(Find("iops-ladder"), use).phases(1).run().sweep().stop_at_iops(), 8);
}

TEST(PresetsTest, APurgeComesFirst) {
  for (const char* name : {"pts-iops", "pts-latency", "pts-throughput", "pts-write-saturation"}) {
    PresetUse use = OnDevice();
    EXPECT_NE(JobOf(Find(name), use).phases(0).name(), "purge");
    use.purge = true;
    const v1::PhaseSpec purge = JobOf(Find(name), use).phases(0);
    EXPECT_EQ(purge.name(), "purge");
    EXPECT_EQ(purge.run().workloads(0).trim_ratio(), 1);
  }
}

// SNIA's: at most 25 rounds, until five are steady.
TEST(PresetsTest, SniasTestsRunInRounds) {
  const auto rounds = [](const std::string& name, int phase) {
    const v1::RunPhase run = JobOf(Find(name), InDirectory()).phases(phase).run();
    EXPECT_EQ(run.duration_ns(), 60000000000) << name;
    EXPECT_EQ(run.sweep().repeat(), 25u) << name;
    EXPECT_TRUE(run.expect().steady()) << name;
    EXPECT_EQ(run.sweep().until_steady().window(), 5u) << name;
    EXPECT_EQ(run.sweep().until_steady().range_ratio(), 0.2) << name;
    EXPECT_EQ(run.sweep().until_steady().slope_ratio(), 0.1) << name;
    return run.sweep().until_steady();
  };
  EXPECT_EQ(absl::StrJoin(rounds("pts-iops", 2).track(), "; "),
            "read=0% block_size=4KiB; read=65% block_size=64KiB; read=100% block_size=1MiB");
  const v1::RunPhase iops = JobOf(Find("pts-iops"), InDirectory()).phases(2).run();
  EXPECT_EQ(iops.sweep().axes(0).values_size() * iops.sweep().axes(1).values_size(), 56);
  EXPECT_EQ(rounds("pts-iops", 2).figure(), v1::REPEAT_FIGURE_IOPS);
  EXPECT_EQ(rounds("pts-throughput", 2).figure(), v1::REPEAT_FIGURE_THROUGHPUT);
  EXPECT_EQ(rounds("pts-throughput", 4).track_size(), 0) << "reads and writes";
  EXPECT_EQ(absl::StrJoin(rounds("pts-latency", 2).track(), "; "), "read=0% block_size=4KiB");
  EXPECT_EQ(rounds("pts-latency", 2).figure(), v1::REPEAT_FIGURE_MEAN);
}

TEST(PresetsTest, WhatIsMissingOrWrongIsSaid) {
  EXPECT_EQ(FindPreset("pts"), nullptr);
  EXPECT_EQ(ErrorOf("oltp", {}), "preset oltp needs --device PATH or --directory DIR");
  EXPECT_EQ(ErrorOf("iozone", {}), "preset iozone needs --directory DIR");
  EXPECT_EQ(ErrorOf("iozone", {.device = "/dev/sdb"}),
            "preset iozone works on files: give --directory");
  EXPECT_EQ(
      ErrorOf("dd", {.device = "/dev/sdb", .directory = "/data"}),
      "preset dd works on a device or in a directory: give --device or --directory, not both");
  EXPECT_EQ(ErrorOf("dd", {.device = "/etc/passwd"}),
            "--device /etc/passwd: does not lie under /dev");
  EXPECT_EQ(ErrorOf("dd", {.directory = "data"}), "--directory data: is no absolute path");
  EXPECT_EQ(ErrorOf("dd", {.directory = "/a\"b"}),
            "--directory /a\"b: has a quote, a backslash or control characters");
  EXPECT_EQ(ErrorOf("dd", {.directory = "/a\nb"}).find("--directory /a"), 0u);
  EXPECT_EQ(ErrorOf("dd", {.directory = "/a", .hosts = "0"}).find("--hosts 0: is neither"), 0u);
  EXPECT_EQ(ErrorOf("dd", {.device = "/dev/sdb", .purge = true}),
            "preset dd purges nothing: leave --purge out");
  EXPECT_EQ(ErrorOf("pts-iops", {.directory = "/data", .purge = true}),
            "preset pts-iops purges devices only: --purge needs --device");
}

// A path that holds the words of the template stays what it is.
TEST(PresetsTest, APathIsTakenAsItIs) {
  const v1::JobSpec job =
      JobOf(Find("dd"), {.directory = "/data/mnt/test # with --device/dev/sdx"});
  EXPECT_EQ(job.targets(0).file().path(), "/data/mnt/test # with --device/dev/sdx/{host}/dd");
}

}  // namespace
}  // namespace lockstep::frontends
