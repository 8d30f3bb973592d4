#include <sys/sysmacros.h>

#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "worker/host/byte_ranges.h"
#include "worker/host/control_groups.h"
#include "worker/host/disk_stats.h"
#include "worker/host/host_stats.h"
#include "worker/host/neighbours.h"
#include "worker/host/process_io.h"

namespace lockstep::worker {
namespace {

constexpr char kEarlier[] =
    " 254       0 vda 100 10 2000 300 200 20 4000 500 3 700 900 1 2 8 4 5 6\n"
    "   7       0 loop0 0 0 0 0 0 0 0 0 0 0 0\n"
    "garbage\n";
constexpr char kLater[] =
    " 254       0 vda 150 11 3000 360 260 25 5000 4294967295 0 800 1000 1 2 8 4 9 10\n";

TEST(DiskStatsTest, DifferencesInBytesAndMilliseconds) {
  const auto earlier = ParseDiskStats(kEarlier);
  const auto later = ParseDiskStats(kLater);
  EXPECT_EQ(earlier.size(), 2u);
  const auto difference = Difference(earlier.at("vda"), later.at("vda"));
  ASSERT_TRUE(difference.has_value());
  const v1::DeviceSample& d = *difference;
  EXPECT_EQ(d.reads(), 50u);
  EXPECT_EQ(d.read_merges(), 1u);
  EXPECT_EQ(d.read_bytes(), 512000u);
  EXPECT_EQ(d.writes(), 60u);
  EXPECT_EQ(d.write_bytes(), 512000u);
  EXPECT_EQ(d.busy_time_ms(), 100u);
  EXPECT_EQ(d.queue_time_ms(), 100u);
  EXPECT_EQ(d.flushes(), 4u);
  EXPECT_EQ(d.flush_time_ms(), 4u);
}

TEST(DiskStatsTest, OnlyTheNamedDevicesAreRead) {
  const std::set<std::string> names = {"vda", "sdz"};
  const auto found = ParseDiskStats(kEarlier, &names);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found.at("vda").flush_time_ms(), 6u);
  EXPECT_EQ(found.at("vda").minor_number(), 0u);
  EXPECT_EQ(ParseDiskStats(kEarlier).at("loop0").reads(), 0u);
  const std::set<std::string> none;
  EXPECT_TRUE(ParseDiskStats(kEarlier, &none).empty());
  for (const char* line : {"", "8 0", "8 0 sda 1 2 3", "8 x sda 1 2 3 4 5 6 7 8 9 10 11",
                           "8 0 sda 1 2 3 4 5 6 7 8 9 x 11"}) {
    EXPECT_TRUE(ParseDiskStats(line).empty()) << line;
  }
}

TEST(DiskStatsTest, AMillisecondCounterThatWrappedStillHasADifference) {
  v1::DeviceSample earlier, later;
  earlier.set_read_time_ms(4294967290);
  later.set_read_time_ms(10);
  ASSERT_TRUE(Difference(earlier, later).has_value());
  EXPECT_EQ(Difference(earlier, later)->read_time_ms(), 16u);
}

// A device that is attached anew between two readings begins at nought: there is no difference.
TEST(DiskStatsTest, CountersThatRanBackwardsGiveNoSample) {
  const auto attached = ParseDiskStats(kLater);
  const auto anew = ParseDiskStats(kEarlier);
  EXPECT_FALSE(Difference(attached.at("vda"), anew.at("vda")).has_value());
}

// Two hosts that mount one export see one file system.
TEST(PlacesTest, ANetworkFileSystemIsKnownByWhereItIsMountedFrom) {
  const std::string mounts =
      "36 25 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n90 25 0:52 / /mnt/san rw shared:7 "
      "master:2 - nfs4 nas:/export/bench rw,vers=4.2\n91 25 0:53 / /mnt/f rw - fuse.x x rw\n";
  EXPECT_EQ(NetworkSourceIn(mounts, makedev(0, 52)), "nas:/export/bench");
  EXPECT_EQ(NetworkSourceIn(mounts, makedev(8, 1)), "");
  EXPECT_EQ(NetworkSourceIn(mounts, makedev(0, 53)), "");
  EXPECT_EQ(NetworkSourceIn("garbage\n1 2\n", makedev(0, 52)), "");
}

TEST(HostStatsTest, SharesOfTimeAndCounters) {
  const auto earlier = ParseHostCounters(
      "cpu  100 0 100 800 0 0 0 0 0 0\nctxt 1000\nintr 500 1 2\nprocs_running 1\nprocs_blocked 0",
      "pswpin 0\npswpout 0", "MemFree: 10 kB");
  const auto later = ParseHostCounters(
      "cpu  150 0 120 810 15 3 2 0 0 0\nctxt 3000\nintr 900 1 2\nprocs_running 3\nprocs_blocked 2",
      "nr_x 1\npswpin 7\npswpout 0", "MemTotal: 99 kB\nMemFree: 8 kB\nCached: 4 kB\nDirty: 2 kB");
  const v1::HostSample sample = Difference(earlier, later, 10000000, 4096);
  EXPECT_DOUBLE_EQ(sample.user_ratio(), 0.5);
  EXPECT_DOUBLE_EQ(sample.system_ratio(), 0.25);
  EXPECT_DOUBLE_EQ(sample.idle_ratio(), 0.1);
  EXPECT_DOUBLE_EQ(sample.iowait_ratio(), 0.15);
  EXPECT_EQ(sample.context_switches(), 2000u);
  EXPECT_EQ(sample.interrupts(), 400u);
  EXPECT_EQ(sample.run_queue(), 3u);
  EXPECT_EQ(sample.blocked(), 2u);
  EXPECT_EQ(sample.swap_in_pages(), 7u);
  EXPECT_EQ(sample.free_bytes(), 8192u);
  EXPECT_EQ(sample.cpu_busy_ns(), 750000000u);
}

constexpr char kMeminfo[] =
    "MemTotal: 32 kB\nMemFree: 20 kB\nBuffers: 5 kB\nCached: 9 kB\nSwapCached: 1 kB\n"
    "SwapTotal: 40 kB\nSwapFree: 33 kB\nDirty: 784 kB\nWriteback: 16 kB\nSReclaimable: 3 kB\n"
    "WritebackTmp: 99 kB";

TEST(HostStatsTest, WhatVmstatPrintsOfMemoryAndBlockDevices) {
  const auto earlier = ParseHostCounters("", "pgpgin 1000\npgpgout 50\npswpin 3\npswpout 4", "");
  const auto later =
      ParseHostCounters("", "pgpgin 1250\npgpgout 58\npswpin 5\npswpout 4", kMeminfo);
  const v1::HostSample sample = Difference(earlier, later, 10000000, 65536);
  EXPECT_EQ(sample.swap_used_bytes(), 7u * 1024);
  EXPECT_EQ(sample.free_bytes(), 20u * 1024);
  EXPECT_EQ(sample.buffers_bytes(), 5u * 1024);
  EXPECT_EQ(sample.cached_bytes(), 9u * 1024);
  EXPECT_EQ(sample.slab_reclaimable_bytes(), 3u * 1024);
  EXPECT_EQ(sample.dirty_bytes(), 784u * 1024);
  EXPECT_EQ(sample.writeback_bytes(), 16u * 1024);
  EXPECT_EQ(sample.swap_in_pages(), 2u);
  EXPECT_EQ(sample.page_bytes(), 65536u);
  EXPECT_EQ(sample.block_in_bytes(), 250u * 1024);
  EXPECT_EQ(sample.block_out_bytes(), 8u * 1024);
}

TEST(HostStatsTest, FiguresThatTheKernelDoesNotTellStayUnknown) {
  const HostCounters none = ParseHostCounters("", "pswpin 3", "SwapTotal: 1 kB\nSwapCached: 1 kB");
  const v1::HostSample sample = Difference(none, none, 10000000, 4096);
  EXPECT_FALSE(sample.has_free_bytes());
  EXPECT_FALSE(sample.has_cached_bytes());
  EXPECT_FALSE(sample.has_dirty_bytes());
  EXPECT_FALSE(sample.has_page_bytes()) << "of pages that were swapped nothing is known";
  EXPECT_FALSE(sample.has_swap_used_bytes());
  EXPECT_FALSE(sample.has_buffers_bytes());
  EXPECT_FALSE(sample.has_slab_reclaimable_bytes());
  EXPECT_FALSE(sample.has_writeback_bytes());
  EXPECT_FALSE(sample.has_block_in_bytes());
  EXPECT_FALSE(sample.has_block_out_bytes());
}

TEST(HostStatsTest, IowaitThatRanBackwardsCountsAsNone) {
  HostCounters earlier, later;
  earlier.iowait = 100;
  later.iowait = 90;
  later.idle = 100;
  EXPECT_DOUBLE_EQ(Difference(earlier, later, 10000000, 4096).iowait_ratio(), 0);
  EXPECT_DOUBLE_EQ(Difference(earlier, later, 10000000, 4096).idle_ratio(), 1);
}

TEST(NeighboursTest, AProcessIsKnownByItsStatAlsoWithAParenthesisInItsName) {
  const ProgramStat program = ParseProgramStat(
      "31 (a) b(c) S 7 31 31 0 -1 4194304 90 812 0 0 1 2 3 4 20 0 1 0 5150 8675328 900");
  EXPECT_EQ(program.name, "a) b(c");
  EXPECT_EQ(program.parent, 7u);
  EXPECT_EQ(program.child_faults, 812u);
  EXPECT_EQ(program.started_ticks, 5150u);
  EXPECT_EQ(ParseProgramStat("").name, "");
  EXPECT_EQ(ParseProgramStat("31 (x) S").parent, 0u);
}

TEST(NeighboursTest, AProgramIsNamedByWhatItIsAndByWhoDidItsIo) {
  ProgramStat shell{.name = "bash", .parent = 1, .child_faults = 10, .started_ticks = 5};
  EXPECT_EQ(ProgramName(shell, shell, 0, 100), "bash");
  ProgramStat writer = shell;
  writer.name = "python3";
  EXPECT_EQ(ProgramName(shell, writer, 100, 100), "python3 (was bash)");
  EXPECT_EQ(ProgramName(ProgramStat{.child_faults = 10}, writer, 100, 100), "python3");
  ProgramStat waited = shell;
  waited.child_faults = 900;
  EXPECT_EQ(ProgramName(shell, waited, 5, 100), "ended children of bash");
  EXPECT_EQ(ProgramName(shell, waited, 60, 100), "bash and ended children");
  EXPECT_EQ(ProgramName(shell, waited, 100, 100), "bash");
}

TEST(NeighboursTest, TheKernelSWorkersOfLoopDevicesAreNobodysPrograms) {
  for (const char* name : {"loop3", "kworker/u8:3-loop3", "kworker/u8:3+loop12"}) {
    EXPECT_TRUE(IsLoopWorker({.name = name, .parent = 2})) << name;
    EXPECT_FALSE(IsLoopWorker({.name = name, .parent = 1})) << name;
  }
  for (const char* name : {"kworker/u8:3-nvmet-wq", "nfsd", "loop", "looper", "kworker/0:1"}) {
    EXPECT_FALSE(IsLoopWorker({.name = name, .parent = 2})) << name;
  }
}

TEST(ProcessIoTest, EachCounterIsFoundByItsName) {
  const auto io = ParseProcessIo(
      "rchar: 1\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: 4096\nwrite_bytes: 8192\n"
      "cancelled_write_bytes: 512");
  ASSERT_TRUE(io.has_value());
  EXPECT_EQ(io->read_bytes, 4096u);
  EXPECT_EQ(io->write_bytes, 8192u);
  EXPECT_EQ(io->cancelled_bytes, 512u);
  EXPECT_FALSE(ParseProcessIo("").has_value());
}

TEST(NeighboursTest, TcpCountersAreFoundByTheirNames) {
  const TcpCounters tcp = ParseTcp(
      "Ip: Forwarding\nIp: 1\nTcp: RtoMin OutSegs RetransSegs InErrs\nTcp: 200 5000 7 0\n");
  EXPECT_EQ(tcp.segments, 5000u);
  EXPECT_EQ(tcp.retransmits, 7u);
  EXPECT_EQ(ParseTcp("").segments, 0u);
}

TEST(ControlGroupsTest, AGroupAndThoseAboveItAreFoundWhereTheyAreMounted) {
  const std::string mounts =
      "30 24 0:26 / /sys/fs/cgroup/blkio rw - cgroup cgroup rw,blkio\n"
      "31 24 0:27 /box /sys/fs/cgroup/two rw - cgroup2 cgroup rw\n";
  const std::string groups = "4:blkio:/a/b\n0::/box/c\n";
  const auto first = ControlGroupsOf(mounts, groups, "blkio");
  ASSERT_EQ(first.size(), 3u);
  EXPECT_EQ(first[0].directory, "/sys/fs/cgroup/blkio/a/b");
  EXPECT_EQ(first[0].name, "/a/b");
  EXPECT_EQ(first[2].directory, "/sys/fs/cgroup/blkio");
  const auto second = ControlGroupsOf(mounts, groups, "");
  ASSERT_EQ(second.size(), 2u);
  EXPECT_EQ(second[0].directory, "/sys/fs/cgroup/two/c");
  // A name that only begins like the mount's root lies elsewhere.
  EXPECT_TRUE(ControlGroupsOf(mounts, "0::/boxes/c\n", "").empty());
  EXPECT_TRUE(ControlGroupsOf("", groups, "").empty());
}

TEST(ControlGroupsTest, AQuotaOfSomeSecondsIsNoneOfTheOthers) {
  // 50 periods of 100 ms: the kernel counts none without a quota, and none of an idle group.
  const std::map<std::string, QuotaPeriods> before = {{"/a", {100, 100, 0.1}}};
  std::map<std::string, QuotaPeriods> now = {{"/a", {150, 145, 0.1}}};
  EXPECT_DOUBLE_EQ(ThrottledRatio(before, now, 20), 0.225);
  // The quota held for the whole time. One period may have begun before it.
  EXPECT_DOUBLE_EQ(ThrottledRatio(before, now, 4.9), 0.9);
  // The group with most counts. One that appears has no counts from before.
  now["/b"] = {10, 8, 0.1};
  EXPECT_DOUBLE_EQ(ThrottledRatio(before, now, 1), 0.9);
  EXPECT_DOUBLE_EQ(ThrottledRatio({}, {{"/b", {10, 8, 0.1}}}, 2), 0.4);
  // The length of the periods is not known: those that were counted.
  EXPECT_DOUBLE_EQ(ThrottledRatio({}, {{"/b", {10, 8, 0}}}, 2), 0.8);
  EXPECT_EQ(ThrottledRatio(before, before, 0), 0);
}

TEST(ControlGroupsTest, ALimitHasTheTimesInWhichItWasFound) {
  ThrottleSpans spans;
  spans.Add(-4, {"/: io.max vda riops=9"});
  spans.Add(100, {"/: io.max vda riops=9", "/: io.max vda wbps=7"});
  spans.Add(200, {"/: io.max vda wbps=7"});
  spans.Add(300, {"/: io.max vda riops=9", "/: io.max vda wbps=8"});
  spans.Add(400, {});
  v1::PhaseResult result;
  spans.AddTo(&result);
  std::vector<std::string> found;
  for (const v1::ThrottleSpan& span : result.throttle_spans()) {
    found.push_back(absl::StrCat(span.throttle(), " ", span.begin_ns(), " ", span.end_ns()));
  }
  EXPECT_EQ(found, (std::vector<std::string>{
                       "/: io.max vda riops=9 -4 100", "/: io.max vda wbps=7 100 200",
                       "/: io.max vda riops=9 300 300", "/: io.max vda wbps=8 300 300"}));
  // Each of them once, also one that is gone by the end.
  EXPECT_EQ(result.throttles_size(), 3);
  EXPECT_EQ(result.throttles(0), "/: io.max vda riops=9");
}

TEST(ControlGroupsTest, TheCountersOfAQuotaAreFoundInBothVersions) {
  const QuotaPeriods one =
      ParseQuotaPeriods("nr_periods 40\nnr_throttled 7\nthrottled_time 350000000");
  EXPECT_EQ(one.periods, 40u);
  EXPECT_EQ(one.throttled, 7u);
  EXPECT_EQ(one.throttled_ns, 350000000u);
  // The lines of cgroup-v2.rst, among them some of other controllers and kernels.
  const QuotaPeriods two = ParseQuotaPeriods(
      "usage_usec 1811\nuser_usec 1811\nsystem_usec 0\nnice_usec 0\ncore_sched.force_idle_usec 0\n"
      "nr_periods 40\nnr_throttled 7\nthrottled_usec 350000\nnr_bursts 0\nburst_usec 0");
  EXPECT_EQ(two.periods, 40u);
  EXPECT_EQ(two.throttled, 7u);
  EXPECT_EQ(two.throttled_ns, 350000000u);
  // Without the controller there are no such lines.
  EXPECT_EQ(ParseQuotaPeriods("usage_usec 1811\nuser_usec 1811\nsystem_usec 0").periods, 0u);
  EXPECT_EQ(ParseQuotaPeriods("").periods, 0u);
}

TEST(ControlGroupsTest, AnIntervalHasTheQuotaThatHeldItMost) {
  using Groups = std::map<std::string, QuotaPeriods>;
  const Groups before = {{"/", {}}, {"/a", {100, 50, 0.1, 700}}, {"/a/b", {30, 0, 0.5, 0}}};
  Groups now = {{"/", {}}, {"/a", {110, 59, 0.1, 1500}}, {"/a/b", {32, 1, 0.5, 90}}};
  auto sample = Difference(before, now, 1.0);
  ASSERT_TRUE(sample.has_value());
  EXPECT_EQ(sample->periods(), 10u);
  EXPECT_EQ(sample->throttled_periods(), 9u);
  EXPECT_EQ(sample->period_ns(), 100000000u);
  EXPECT_EQ(sample->throttled_time_ns(), 800u);
  // Two long periods are more than nine short ones.
  now["/a/b"].throttled = 2;
  sample = Difference(before, now, 1.0);
  ASSERT_TRUE(sample.has_value());
  EXPECT_EQ(sample->period_ns(), 500000000u);
  // A quota that is not reached is a sample; no quota is none.
  now = {{"/a", {110, 50, 0.1, 700}}};
  sample = Difference(before, now, 1.0);
  ASSERT_TRUE(sample.has_value());
  EXPECT_EQ(sample->periods(), 10u);
  EXPECT_EQ(sample->throttled_periods(), 0u);
  EXPECT_FALSE(Difference(before, before, 1.0).has_value());
  EXPECT_FALSE(Difference({}, {}, 1.0).has_value());
  // The counts of a group that this process has come into are those of others.
  EXPECT_FALSE(Difference({}, {{"/c", {5000, 4000, 0.1, 0}}}, 1.0).has_value());
  // A group that was made again counts from 0.
  EXPECT_FALSE(Difference({{"/c", {50, 40, 0.1, 0}}}, {{"/c", {5, 4, 0.1, 0}}}, 1.0).has_value());
}

TEST(ControlGroupsTest, TheGroupsOfThisProcessAreReadAgainAndAgain) {
  QuotaReader reader;
  std::map<std::string, QuotaPeriods> quotas;
  for (const auto& [directory, group] : reader.Read()) {
    if (group.periods > 0) quotas[directory] = group;
  }
  EXPECT_EQ(quotas.size(), ReadQuotaPeriods().size());
  EXPECT_GE(reader.Read().size(), quotas.size());
}

}  // namespace
}  // namespace lockstep::worker
