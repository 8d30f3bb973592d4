// The first screen has the answers of the stories (docs/guide/stories.md), also beside other
// programs whose I/O is worth a warning in each phase. How the sentences come about is a matter of
// the analyses.

#include <functional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "controller/report/text.h"
#include "gtest/gtest.h"

namespace lockstep::controller {
namespace {

constexpr char kInterference[] =
    "others moved 17.5 MiB on it in 3 s of the time from 0.2 to 3.9 s: jbd2/vdb-8[311] 1.2 MiB, "
    "postgres[4711] 9.75 MiB, journald[180] 4.1 MiB, and two more programs; their requests waited "
    "in "
    "the same queue as those of the load, so that its latencies have a part of theirs";

v1::PhaseReport* AddStoryPhase(const std::string& name, v1::Report* report) {
  v1::PhaseReport* phase = report->add_phases();
  phase->set_index(static_cast<uint32_t>(report->phases_size()));
  phase->set_name(name);
  phase->set_kind("run");
  phase->set_state("done");
  phase->set_workers(1);
  v1::OperationReport* operation = phase->add_workloads()->add_operations();
  operation->set_kind("read");
  operation->set_operations(1000);
  *phase->mutable_total() = *operation;
  return phase;
}

v1::DeviceReport* AddStoryDevice(v1::PhaseReport* phase) {
  v1::DeviceReport* device = phase->add_devices();
  device->set_name("vdb");
  device->add_hosts("vm-1");
  device->set_engine_read_bytes(4096);
  return device;
}

void AddCrossCheck(const std::string& phase, v1::CrossCheck::Verdict verdict,
                   const std::string& reason, v1::Report* report) {
  v1::CrossCheck* check = AddStoryDevice(AddStoryPhase(phase, report))->mutable_cross_check();
  check->set_verdict(verdict);
  check->set_reason(reason);
}

v1::SweepReport* AddStorySweep(const std::string& field, const std::vector<std::string>& values,
                               v1::Report* report) {
  v1::SweepReport* sweep = report->add_sweeps();
  sweep->set_phase("swept");
  sweep->add_axes()->set_field(field);
  for (const std::string& value : values) {
    v1::SweepPointReport* point = sweep->add_points();
    point->add_indices(static_cast<uint32_t>(sweep->axes(0).values_size()));
    sweep->mutable_axes(0)->add_values(value);
    point->set_runs(3);
    point->set_iops(1000);
  }
  return sweep;
}

// Three phases with other programs' I/O come before those of the story.
std::string ScreenOf(const std::function<void(v1::Report*)>& tell) {
  v1::Report report;
  report.mutable_run()->set_state("done");
  report.set_expectations_met(true);
  for (int i = 0; i < 3; ++i) {
    v1::DeviceReport* device = AddStoryDevice(AddStoryPhase(absl::StrCat("load ", i), &report));
    v1::Finding* finding = device->add_findings();
    finding->set_kind("interference");
    finding->set_sentence(absl::StrCat(i, " times: ", kInterference));
  }
  tell(&report);
  const std::vector<std::string> words =
      absl::StrSplit(RenderText(report, {}), absl::ByAnyChar(" \n"), absl::SkipEmpty());
  return absl::StrJoin(words, " ");
}

void ExpectAnswer(const std::string& answer, const std::function<void(v1::Report*)>& tell) {
  const std::string screen = ScreenOf(tell);
  EXPECT_TRUE(absl::StrContains(screen, answer)) << answer << "\nis not in\n" << screen;
}

TEST(StoriesScreenTest, WhichFigureIsReal) {
  const std::string switches =
      "128 files: 24,800 context switches/s, 7.1 per I/O; one file: 8,500, 1.4";
  const std::string promise =
      "6,134 of 5,400 IOPS promised (114 %): 58 % of the reads came from the page cache";
  const auto tell = [&](v1::Report* report) {
    AddStorySweep("targets.files.file.count", {"128", "16", "1"}, report)->add_remarks(switches);
    v1::PromiseReport* exceeded = AddStoryPhase("buffered", report)->add_promised();
    exceeded->set_exceeded(true);
    exceeded->set_text(promise);
    AddStoryPhase("direct", report)
        ->add_promised()
        ->set_text("5,390 of 5,400 IOPS promised: 100 %");
  };
  ExpectAnswer(switches, tell);
  ExpectAnswer("buffered: " + promise, tell);
  ExpectAnswer("direct: 5,390 of 5,400 IOPS promised: 100 %", tell);
}

TEST(StoriesScreenTest, WhichScheduler) {
  const std::string best =
      "environment.scheduler=bfq reaches 9,472 IOPS, more than every other point (5 rounds, ±6 %)";
  const std::string syncs =
      "at every point the threads spent 89 to 98 % of their time in fsync, which no latency of an "
      "I/O shows";
  const auto tell = [&](v1::Report* report) {
    v1::SweepReport* sweep = AddStorySweep("environment.scheduler", {"bfq", "none"}, report);
    sweep->mutable_conclusion()->set_sentence(best);
    sweep->add_remarks(syncs);
  };
  ExpectAnswer(best, tell);
  ExpectAnswer(syncs, tell);
}

TEST(StoriesScreenTest, DdAndIostat) {
  const std::string merged =
      "agrees in bytes, but in requests of 504 KiB instead of 64 KiB (merged ×7.9): this is the "
      "device's rate for large requests, not for blocks of 64 KiB";
  ExpectAnswer("buffered: vdb: " + merged, [&](v1::Report* report) {
    AddCrossCheck("buffered", v1::CrossCheck::VERDICT_COALESCED, merged, report);
  });
  ExpectAnswer("your dd: 1 device on 1 host, 0 % reads: writes of 64 KiB in 2.40 ms",
               [](v1::Report* report) {
                 v1::PhaseReport* phase = report->add_phases();
                 phase->set_name("your dd");
                 phase->set_kind("observe");
                 phase->set_state("done");
                 phase->set_workers(1);
                 phase->mutable_observed()->add_hosts()->set_host("vm-1");
                 v1::ObservedFigures* total = phase->mutable_observed()->mutable_total();
                 total->set_devices(1);
                 total->set_writes_per_second(415);
                 total->set_write_bytes_per_second(415 * 65536);
                 total->set_read_ratio(0);
                 total->set_write_request_bytes(65536);
                 total->set_write_await_ms(2.4);
                 total->set_busiest("vdb");
               });
}

TEST(StoriesScreenTest, BusyIsNotFull) {
  const std::string busy =
      "block_size=4KiB: vdb was busy for 100 % of the time, at 45.0 MiB/s; block_size=64KiB: for "
      "100 %, at 590 MiB/s. A device that is busy all the time can still do more";
  const std::string amplified =
      "the device wrote 265 MiB where the engines asked for 30 MiB, 235 MiB more: the file "
      "system's "
      "journal and metadata, earlier dirty pages, or other programs";
  const auto tell = [&](v1::Report* report) {
    AddStorySweep("block_size", {"4KiB", "64KiB"}, report)->add_remarks(busy);
    AddCrossCheck("synced", v1::CrossCheck::VERDICT_AMPLIFIED, amplified, report);
  };
  ExpectAnswer(busy, tell);
  ExpectAnswer("synced: vdb: " + amplified, tell);
}

TEST(StoriesScreenTest, SmallSequentialWrites) {
  const std::string syncs =
      "fsync.every_ios=100: the threads spent 93 % of their time in fsync; fsync.every_ios=0: 0 %";
  const auto tell = [&](v1::Report* report) {
    v1::SweepReport* sweep = AddStorySweep("fsync.every_ios", {"100", "0"}, report);
    sweep->add_remarks(syncs);
    sweep->mutable_points(0)->set_limited_by("fsync");
    sweep->mutable_points(1)->set_limited_by("page cache");
  };
  ExpectAnswer(syncs, tell);
  ExpectAnswer(" fsync ", tell);
  ExpectAnswer(" page cache ", tell);
}

TEST(StoriesScreenTest, TheToolAsTheBottleneck) {
  const std::string tool = "no storage: these are the load generator's own figures";
  const auto tell = [&](v1::Report* report) {
    AddStoryPhase("tool", report)->add_remarks(tool);
    AddStoryDevice(AddStoryPhase("storage", report));
  };
  ExpectAnswer("tool: " + tool, tell);
  ExpectAnswer("devices under the load: vdb of vm-1", tell);
}

TEST(StoriesScreenTest, HowManyThreads) {
  const std::string best =
      "threads=8 reaches 5,390 IOPS; threads=16 and threads=32 are not distinguishable from it (5 "
      "rounds, ±3 %); threads=4 is 21 % slower; threads beyond 8 adds nothing but latency";
  ExpectAnswer(best, [&](v1::Report* report) {
    AddStorySweep("threads", {"4", "8", "16", "32"}, report)
        ->mutable_conclusion()
        ->set_sentence(best);
  });
}

}  // namespace
}  // namespace lockstep::controller
